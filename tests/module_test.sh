#!/bin/sh
# The shared object from outside: its symbols, that it can be linked and loaded,
# and that no bytes given to ccc or ccrun make them crash.  usage: module_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
ccc=$build/bin/ccc
ccrun=$build/bin/ccrun

"$ccc" schedules/ring_allreduce.ccs -n 2..4 -o "$tmp/ar.so" 2>"$tmp/err" ||
	not_ok "compile" "$(cat "$tmp/err")"
nm -D --defined-only "$tmp/ar.so" | awk '{ print $2, $3 }' | sort >"$tmp/symbols"
printf 'R ccs_module_v1\nT ring_allreduce\n' >"$tmp/wanted"
holds "exports ccs_module_v1 and the typed function, nothing else" cmp -s "$tmp/symbols" "$tmp/wanted"
holds "needs no executable stack and no build path" sh -c \
	"! strings -a '$tmp/ar.so' | grep -q \"\$PWD\""

head -c 200000 /dev/urandom >"$tmp/noise.so"
status "ccrun of noise" 2 "$ccrun" -n 2 "$tmp/noise.so"
: >"$tmp/empty.so"
status "ccrun of an empty file" 2 "$ccrun" -n 2 "$tmp/empty.so"
cp /bin/true "$tmp/true.so"
status "ccrun of some other ELF file" 2 "$ccrun" -n 2 "$tmp/true.so"
says "... says what it lacks" "$tmp/err" 'ccs_module_v1'
size=$(wc -c <"$tmp/ar.so")
for part in 1 4 16 63 64 65 100; do
	head -c $((size * part / 128)) "$tmp/ar.so" >"$tmp/part.so"
	status "ccrun of $part/128 of a module" 2 "$ccrun" -n 2 "$tmp/part.so"
done

i=0
while [ $i -lt 20 ]; do
	head -c 300 /dev/urandom >"$tmp/noise.ccs"
	"$ccc" check "$tmp/noise.ccs" >"$tmp/out" 2>&1
	got=$?
	[ $got = 1 ] || not_ok "ccc of noise" "exit status $got"
	i=$((i + 1))
done
ok "ccc of noise is a wrong schedule, 20 times"
exit $failed
