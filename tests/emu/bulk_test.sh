#!/bin/sh
# Bulk copies (runtime/cuda/device/bulk.h) in the emulation, where they are late and see memory by a
# proxy of their own: schedules whose forms only move data, and one that adds, too. And the
# controls: without any one of the lines marked BULK, with a wait for reading in the place of
# that for writing, or where counters are told before copies are waited for, the runs fail.
# With --long, ten times as many seeds of what must pass.
# usage: bulk_test.sh BUILD [--long] FOLDER_OF_MODULES
set -u
build=$1
shift
times=1
[ "$1" != --long ] || { times=10; shift; }
. tests/emu/lib.sh

names="direct_allgather direct_all_to_all chain_broadcast ring_allreduce binomial_broadcast"
modules=
for name in $names; do
	modules="$modules $1/$name.so"
done
sources "$T/kernels.inc" schedules "" $modules
emulation "$T" || exit 1
bulk=-DCCS_BULK=1

build bulk "$T/kernels.inc" 7 0 0 "$bulk $brief" &&
	run bulk 1 250 "bulk copies: float32 sum and avg" \
	$modules
build bulk_lines "$T/kernels.inc" 0 0 0 "$bulk $lines $brief" &&
	run bulk_lines 1 250 "bulk copies: int8 sum, straight lines, chains in one pass" $modules
build bulk_scaled "$T/kernels.inc" 9 5 0 "$bulk $lines $brief" &&
	run bulk_scaled 1 100 "bulk copies: bfloat16 premul-sum" $modules

# mutant WHAT SCRIPT
mutant() {
	sed "$2" "$T/kernels.inc" >"$T/mutant.inc"
	! cmp -s "$T/kernels.inc" "$T/mutant.inc" || exit 1
	build mutant "$T/mutant.inc" 7 0 0 "$bulk $lines $brief -w" || exit 1
	fails "$1" "$T/mutant" 1 2000 $modules
}
grep -n 'BULK:' "$T/kernels.inc" >"$T/marked"
while IFS=: read -r line text; do
	what=${text##*BULK: }
	mutant "bulk copies: without the wait it fails: ${what%% \*/*}" \
		"${line}s/ccs_[a-z_]*([^;]*);/;/"
done <"$T/marked"
[ "$(wc -l <"$T/marked")" -eq 4 ]
result $? "there are marked lines"
mutant "bulk copies: a wait for reading is not one for writing" \
	's/ccs_bulk_wait_written();/emu_bulk_wait(0, true);/'
mutant "bulk copies: counters that are told before it fail" \
	's/^\tccs_bulk_end();$//;s/^\tccs_leave_fifos(stop);$/\tccs_bulk_end();\n&/'
exit $failed
