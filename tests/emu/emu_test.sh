#!/bin/sh
# Generated kernels in the emulation (tests/emu): all schedules, 2-8 ranks, odd counts,
# both protocols, counters that run over, replays, and calls after stopped ones; and
# the control: without any one of the lines marked ORDER the same runs fail.
# usage: emu_test.sh BUILD MODULE.so ...
set -u
build=$1
shift
T=$build/tests/emu
mkdir -p "$T"
cxx=${CXX:-g++}
if ! command -v "$cxx" >/dev/null; then
	echo "skip - kernels in the emulation: no C++ compiler"
	exit 0
fi
failed=0
result() { # result STATUS WHAT
	if [ "$1" -eq 0 ]; then echo "ok - $2"; else echo "not ok - $2"; failed=1; fi
}

# The device header once, then every schedule's own part in a namespace.
first=1
: >"$T/kernels.inc"
list=
for so in "$@"; do
	name=$(basename "$so" .so)
	"$build/bin/ccc" --emit=cuda "schedules/$name.ccs" $(tests/admitted.sh "$build/bin/ccc" \
		"schedules/$name.ccs") >"$T/source.cu" || exit 1
	at=$(grep -n '^#line 1 "kernels.cu"' "$T/source.cu" | head -1 | cut -d: -f1)
	[ $first = 1 ] && head -n "$at" "$T/source.cu" >"$T/kernels.inc"
	first=0
	{ echo "namespace $name {"; tail -n +"$at" "$T/source.cu"; echo "}"; } >>"$T/kernels.inc"
	list="$list{ \"$name\", [](const ccs_dev_call *c) { $name::ccs_kernel(*c); } },
"
done
cat >>"$T/kernels.inc" <<END
extern "C" const int emu_proto = CCS_PROTO, emu_type = CCS_TYPE, emu_op = CCS_OP;
extern "C" const struct emu_kernel emu_kernels[] = {
$list{ nullptr, nullptr } };
END

flags="-std=c++17 -O1 -I. -Wall -Wextra -Wno-unused-function -Wno-unknown-pragmas"
$cxx $flags -O2 -c tests/emu/emu.cc -o "$T/emu.o" &&
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -g -I. -Wall -Wextra -c tests/emu/emu_host.c \
	-o "$T/emu_host.o" || exit 1

# build NAME SOURCE TYPE OP PROTO [OPTION]
build() {
	$cxx $flags ${6-} -x c++ -include tests/emu/emu.h -DCCS_TYPE="$3" -DCCS_OP="$4" \
		-DCCS_PROTO="$5" -c "$2" -o "$T/$1.o" &&
	$cxx -o "$T/$1" "$T/$1.o" "$T/emu.o" "$T/emu_host.o" "$build/lib/libccs.a" -lpthread -ldl -lm
}

run() { # run NAME FIRST N WHAT MODULES
	name=$1 from=$2 n=$3 what=$4
	shift 4
	timeout 300 "$T/$name" "$from" "$n" "$@"
	result $? "$what, $n seeds"
}

build simple "$T/kernels.inc" 7 0 0 && run simple 1 1500 "float32 sum and avg, Simple" "$@"
build ll "$T/kernels.inc" 7 0 1 && run ll 1 1500 "float32 sum and avg, LL" "$@"
build int8 "$T/kernels.inc" 0 2 0 && run int8 1 100 "int8 max, Simple" "$@"
build int64 "$T/kernels.inc" 4 1 1 && run int64 1 100 "int64 prod, LL" "$@"
build premul "$T/kernels.inc" 9 5 1 && run premul 1 100 "bfloat16 premul-sum, LL" "$@"

for proto in 0 1; do
	build watchdog "$T/kernels.inc" 7 0 $proto -DCCS_WATCHDOG &&
	timeout 300 "$T/watchdog" watchdog 0 "$@"
	result $? "a worker that never starts is reported by those who wait for it, protocol $proto"
done

# The control.
grep -n 'ORDER:' "$T/kernels.inc" >"$T/marked"
while IFS=: read -r line text; do
	what=${text##*ORDER: }
	what=${what%% \*/*}
	sed -e "${line}s/ccs_ld_acquire/ccs_ld_relaxed/" -e "${line}s/ccs_fence();//" \
		"$T/kernels.inc" >"$T/mutant.inc"
	build mutant "$T/mutant.inc" 7 0 0 || exit 1
	timeout 300 "$T/mutant" 1 2000 "$@" >"$T/mutant.out" 2>&1
	[ $? -eq 1 ]
	result $? "without order it fails: $what"
done <"$T/marked"
[ "$(wc -l <"$T/marked")" -ge 4 ]
result $? "there are marked lines"
exit $failed
