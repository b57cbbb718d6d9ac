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

# ---- proved again ---------------------------------------------------------------------
status "ccrun --verify" 0 "$ccrun" --verify "$tmp/ar.so"
says "... tells of the first plan" "$tmp/out" \
	'N = 2: ends with 8 slots, no races, 4 final values as promised, lengths agree; 6 operations, 4 messages \(2 direct\)'
says "... and of the last" "$tmp/out" 'N = 4: .* 16 final values'
holds "... and complains of nothing" test ! -s "$tmp/err"
"$build/tests/plan/prove_test" spoil "$tmp/ar.so" "$tmp/spoilt.so"
status "ccrun --verify of a module that is not right" 2 "$ccrun" --verify "$tmp/spoilt.so"
says "... names plan, rank, operation, line and what is wrong" "$tmp/err" \
	'spoilt.so: ring_allreduce, N = 4: rank 0, worker 0, operation 4 \(ring_allreduce.ccs:18\): stores a value in a cell of a different length'
says "... the other plans are proved" "$tmp/out" 'N = 3: ends'
status "ccrun runs it all the same" 3 "$ccrun" -n 4 -b 4 -e 4 --iters 1 \
	"$tmp/spoilt.so"
status "ccrun --verify of several" 2 "$ccrun" --verify "$tmp/spoilt.so" "$tmp/noise.so" "$tmp/ar.so"
holds "... says what is wrong with each" test "$(wc -l <"$tmp/err")" = 2
says "... and goes on to the last" "$tmp/out" "$tmp/ar.so: ring_allreduce, allreduce"
status "ccrun --verify of nothing" 2 "$ccrun" --verify
status "ccrun --verify with another option" 2 "$ccrun" --verify -n 4 "$tmp/ar.so"
status "... or after it" 2 "$ccrun" -n 4 --verify "$tmp/ar.so"
"$ccc" tests/check/good/sized.ccs -n 2..4 --target=cpu -o "$tmp/sized.so" 2>"$tmp/err"
status "ccrun --verify of sized chunks" 0 "$ccrun" --verify "$tmp/sized.so"
says "... proves their lengths" "$tmp/out" 'lengths agree'
"$ccc" tests/check/good/by_column.ccs -n 2..4 --target=cpu -o "$tmp/column.so" 2>"$tmp/err"
status "ccrun --verify of chunks by column" 0 "$ccrun" --verify "$tmp/column.so"
says "... proves their lengths" "$tmp/out" 'lengths agree'
status "ccrun of them" 0 "$ccrun" -n 3 --rows 7 -b 1 -e 90K -f 30 --iters 1 -w 0 "$tmp/column.so"
says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
status "... by processes" 0 "$ccrun" -n 3 --procs --rows 7 -b 1 -e 90K -f 30 --iters 1 -w 0 \
	"$tmp/column.so"
says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
status "... without --rows" 2 "$ccrun" -n 3 "$tmp/column.so"
says "... says how to give it" "$tmp/err" 'give the number of rows with --rows N$'
status "--rows of another module" 2 "$ccrun" -n 4 --rows 7 "$tmp/ar.so"
says "... is refused" "$tmp/err" 'no buffer `by column`: leave out --rows N$'
status "ccrun of sized chunks" 0 "$ccrun" -n 3 -b 1 -e 90K -f 30 --iters 1 -w 0 "$tmp/sized.so"
says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
status "--sizes of another module" 2 "$ccrun" -n 4 --sizes 7 "$tmp/ar.so"
says "... is refused" "$tmp/err" 'no `sized` buffer: leave out --sizes$'
status "a proof for which there is no memory" 1 "$ccc" schedules/bruck_allgather.ccs \
	-n 256 --memory 7 --emit=json
says "... says so" "$tmp/err" \
	'the proof for 256 ranks needs more than [0-9]* MiB of memory, all that --memory leaves.*E0501'
cat schedules/ring_allreduce.ccs >"$tmp/odd
name.ccs"
status "a source whose name has a line end" 0 "$ccc" "$tmp/odd
name.ccs" -n 2 --target=cpu -o "$tmp/odd.so"
status "... makes a module that loads" 0 "$ccrun" --verify "$tmp/odd.so"

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
