# For tests of kernels in the emulation: sourced with $build and $times set; $T is a folder of its
# own. Ends the test where there is no C++ compiler.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
cxx=${CXX:-g++}
if ! command -v "$cxx" >/dev/null; then
	echo "skip - kernels in the emulation: no C++ compiler"
	exit 0
fi
. tests/support/lib.sh
T=$tmp
result() { # result STATUS WHAT
	if [ "$1" -eq 0 ]; then echo "ok - $2"; else echo "not ok - $2"; failed=1; fi
}

# sources TO FOLDER NUMBERS MODULES: the device header once, then every schedule's own part in a
# namespace. A schedule that is not in the folder is in this test's.
sources() {
	to=$1 in=$2 numbers=$3 list=
	shift 3
	for so in "$@"; do
		name=$(basename "$so" .so) folder=$in
		[ -e "$folder/$name.ccs" ] || folder=tests/emu
		"$build/bin/ccc" --emit=cuda "$folder/$name.ccs" \
			${numbers:-$(tests/admitted.sh "$build/bin/ccc" "$folder/$name.ccs")} \
			>"$T/source.cu" || exit 1
		at=$(grep -n '^#line 1 "kernels.cu"' "$T/source.cu" | head -1 | cut -d: -f1)
		[ -n "$list" ] || head -n "$at" "$T/source.cu" >"$to"
		{ echo "namespace $name {"; tail -n +"$at" "$T/source.cu"; echo "}"; } >>"$to"
		list="$list{ \"$name\", [](const ccs_dev_call *c) { $name::ccs_kernel(*c); } },
"
	done
	cat >>"$to" <<END
extern "C" const int emu_proto = CCS_PROTO, emu_type = CCS_TYPE, emu_op = CCS_OP;
extern "C" const struct emu_kernel emu_kernels[] = {
$list{ nullptr, nullptr } };
END
}
flags="-std=c++17 -O1 -I. -DCCS_CHAINS=1 -Wall -Wextra -Wno-unused-function -Wno-unknown-pragmas"
# emulation FOLDER: compiles it, and its host, into there
emulation() {
	$cxx $flags -O2 -c tests/emu/emu.cc -o "$1/emu.o" || return 1
	for f in emu_host emu_state emu_check; do
		${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -g -I. -Wall -Wextra -c "tests/emu/$f.c" \
			-o "$1/$f.o" || return 1
	done
	emu="$1/emu.o" host="$1/emu_host.o $1/emu_state.o $1/emu_check.o"
}

# build NAME SOURCE TYPE OP PROTO [OPTION]
build() {
	$cxx $flags ${6-} -x c++ -include tests/emu/emu.h -DCCS_TYPE="$3" -DCCS_OP="$4" \
		-DCCS_PROTO="$5" -c "$2" -o "$T/$1.o" &&
	$cxx -o "$T/$1" "$T/$1.o" $emu $host "$build/lib/libccs.a" -lpthread -ldl -lm
}

# run NAME FIRST N WHAT MODULES: each control below fails within some 40 seeds.
run() {
	name=$1 from=$2 n=$(($3 * times)) what=$4
	shift 4
	timeout 300 "$T/$name" "$from" "$n" "$@"
	result $? "$what, $n seeds"
}

# Must find something wrong, and not only be unable to run.
fails() { # fails WHAT COMMAND
	what=$1
	shift
	timeout 300 "$@" >"$T/control.out" 2>&1
	[ $? -eq 1 ] && grep -q '^# seed' "$T/control.out"
	result $? "$what"
}

brief=-O0	# for what runs only briefly: optimising it would take longer
lines=-DCCS_ROWS=32	# as on a device: straight-line code; else 4, and groups of rows
