#!/bin/sh
# Generated kernels in the emulation (tests/emu): all schedules, 2-8 ranks, odd counts,
# both protocols, one device and several, direct copies, calls that take turns, counters
# that run over, replays, and calls after stopped ones. And the controls: without any
# one of the lines marked ORDER, with passes over chains that begin too early, or move what is still read, with fences for the device where there are several,
# without turns, with direct copies into cells that are not free, or with direct reads of cells
# that do not hold the message for long enough, the runs fail. The same for
# buffers `by column` and `sized` (tests/cpu/layouts), whose kernels find cells by a table.
# With --long, four times as many seeds of what must pass.
# usage: emu_test.sh BUILD [--long] MODULE.so ...
set -u
build=$1
shift
times=1
[ "$1" != --long ] || { times=4; shift; }
. tests/emu/lib.sh

# Sums that are moved while they are made, which no schedule of the library has.
"$build/bin/ccc" tests/emu/moved_sums.ccs -n 2..5 -o "$T/moved_sums.so" || exit 1
set -- "$@" "$T/moved_sums.so"

sources "$T/kernels.inc" schedules "" "$@"
# What is changed is in the header, or in every schedule: a few of them show it, and compile sooner.
few="$(every 6 1 "$@") $T/moved_sums.so"
sources "$T/few.inc" schedules "" $few
layouts=$build/tests/layout_modules	# a list of words: no spaces may be in it
layouts=$(echo "$layouts"/*.so)
sources "$T/layouts.inc" tests/cpu/layouts "-n 2..5" $layouts

emulation "$T" || exit 1
build simple "$T/kernels.inc" 7 0 0 && run simple 1 800 "float32 sum and avg, Simple" "$@"
build straight "$T/kernels.inc" 7 0 0 $lines &&
	timeout 300 "$T/straight" chains 5000 $((500 * times)) "$@"
result $? "float32 sum and avg, Simple, straight lines, and chains in one pass, $((500 * times)) seeds"
build ll "$T/kernels.inc" 7 0 1 && run ll 1 800 "float32 sum and avg, LL" "$@"
build int8 "$T/kernels.inc" 0 2 0 $lines && run int8 1 200 "int8 max, Simple" "$@"
build int16 "$T/kernels.inc" 12 8 0 $lines && run int16 1 200 "int16 bxor, Simple" "$@"
build int64 "$T/kernels.inc" 4 1 1 $lines &&
	run int64 1 200 "int64 prod, LL, straight lines" "$@"
build premul "$T/kernels.inc" 9 5 0 && run premul 1 200 "bfloat16 premul-sum, Simple" "$@"

build columns "$T/layouts.inc" 7 0 0 && run columns 1 600 "by column, sized: float32 sum and avg, Simple" $layouts
build columns_ll "$T/layouts.inc" 4 0 1 && run columns_ll 1 300 "by column, sized: int64 sum, LL" $layouts
build columns_int8 "$T/layouts.inc" 0 2 0 && run columns_int8 1 300 "by column, sized: int8 max, Simple" $layouts
build columns_scaled "$T/layouts.inc" 9 5 0 $lines &&
	run columns_scaled 1 200 "by column, sized: bfloat16 premul-sum, Simple, straight lines" $layouts

for proto in 0 1; do
	build watchdog "$T/kernels.inc" 7 0 $proto "-DCCS_WATCHDOG $brief" &&
	timeout 300 "$T/watchdog" watchdog 1 200 "$@"
	result $? "workers that never start, turns that do not end, and waits that go on are reported, protocol $proto"
	build traced "$T/kernels.inc" 7 0 $proto "-DCCS_TRACE $brief" &&
		run traced 1 200 "traced kernels: float32 sum and avg, protocol $proto" "$@"
done

# What ranks on several hosts do between NCCL's messages (runtime/plan/plan.h, Rounds), by the same
# kernels; and, as a control, by one that does not know where a call's launches begin.
between() { # between NAME: the kernels that `build` has made under that name
	$cxx -o "$T/rounds_$1" "$T/$1.o" $emu "$T/emu_rounds.o" "$build/lib/libccs.a" \
		-lpthread -ldl -lm
}
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -g -I. -Wall -Wextra -c tests/emu/emu_rounds.c \
	-o "$T/emu_rounds.o" || exit 1
between simple && run rounds_simple 1 1000 "between hosts: float32 sum and avg" "$@"
between int8 && run rounds_int8 1 300 "between hosts: int8 max" "$@"
build scaled "$T/kernels.inc" 4 5 0 $brief && between scaled &&
	run rounds_scaled 1 300 "between hosts: int64 premul-sum" "$@"
sed 's/b\.tile0 + t/t/' "$T/few.inc" >"$T/mutant.inc"
build untiled "$T/mutant.inc" 7 0 0 $brief && between untiled
fails "between hosts: launches that do not know their tile fail" "$T/rounds_untiled" 1 1000 $few

timeout 300 "$T/simple" unstaged 1 300 "$@"
result $? "direct messages, and those that are read in cells, touch no slot, 300 seeds"

# The controls.
fails "with fences for the device several devices fail" "$T/simple" near 1 500 "$@"
fails "calls side by side fail without turns, Simple" "$T/simple" sides 1 500 "$@"
fails "calls side by side fail without turns, LL" "$T/ll" sides 1 500 "$@"
for name in simple ll; do
	timeout 300 "$T/$name" twice 1 200 "$@"
	result $? "two graphs of one capture side by side are found out, $name, 200 seeds"
done
sed 's/if (ccs_twice(c, begun, done))/if (false)/' "$T/few.inc" >"$T/mutant.inc"
build mutant "$T/mutant.inc" 7 0 0 $brief || exit 1
fails "... and fail where nobody looks" "$T/mutant" twice 1 200 $few
sed 's/((uint64_t)c\.launch << 32) + //' "$T/few.inc" >"$T/mutant.inc"
build nameless "$T/mutant.inc" 7 0 0 $brief || exit 1
fails "turns fail where launches have the device's number alone" "$T/nameless" 1 500 $few
fails "direct copies into cells that are not free fail" "$T/simple" busy 1 500 "$@"
fails "direct reads of cells that are overwritten fail" "$T/simple" late 1 500 "$@"
for table in 's/(rank) \* (b).rank_places + //' 's/ | CCS_IS_MATRIX(s, i)//' \
	's/from += in.apart;//' 's/(b).w.rank \* (b).rank_places + //'; do
	sed "$table" "$T/layouts.inc" >"$T/mutant.inc"
	cmp -s "$T/layouts.inc" "$T/mutant.inc" && exit 1
	build mutant "$T/mutant.inc" 7 0 0 $brief || exit 1
	fails "by column, sized: a table that is read wrongly fails: $table" "$T/mutant" 1 600 $layouts
done
sed '/low |= (uintptr_t)ccs_factor_of/d; s/if (initial && ccs_has_factors(b.io))$/;/' "$T/few.inc" >"$T/mutant.inc"
build mutant "$T/mutant.inc" 9 5 0 $brief || exit 1
fails "premul-sum fails where factors are taken for aligned" "$T/mutant" 1 200 $few
for look in 's/head = ccs_ld_acquire(r\./head = ccs_ld_acquire((ccs_b.rows[k % CCS_ROWS].op.form \& CCS_DEV_IN ? ccs_b.rows[k % CCS_ROWS] : r)./' \
	'/tail = ccs_ld_acquire/d'; do
	sed "$look" "$T/few.inc" >"$T/mutant.inc"
	build mutant "$T/mutant.inc" 7 0 0 "$lines $brief" || exit 1
	fails "a pass fails that looks wrongly: $look" "$T/mutant" 1 3000 $few
done
sed 's/ || !(form & CCS_DEV_A_LAST)//' "$T/few.inc" >"$T/mutant.inc"
build mutant "$T/mutant.inc" 7 0 0 "$lines $brief" || exit 1
fails "a pass fails that moves what is read once more" "$T/mutant" chains 1 3000 $few
grep -n 'ORDER:' "$T/few.inc" >"$T/marked"
while IFS=: read -r line text; do
	what=${text##*ORDER: }
	what=${what%% \*/*}
	sed -e "${line}s/ccs_ld_acquire/ccs_ld_relaxed/" -e "${line}s/ccs_fence[a-z_]*();//" \
		"$T/few.inc" >"$T/mutant.inc"
	build mutant "$T/mutant.inc" 7 0 0 $brief || exit 1
	fails "without order it fails: $what" "$T/mutant" 1 6000 $few
done <"$T/marked"
[ "$(wc -l <"$T/marked")" -ge 8 ]
result $? "there are marked lines"
exit $failed
