#!/bin/sh
# Whole messages and reports, compared byte for byte with tests/check/golden/.
# usage: golden_test.sh BUILD [--bless]      --bless (make bless) renews them
set -u
. tests/support/lib.sh
ccc=${1:-build}/bin/ccc

compare() { golden tests/check/golden "$1"; }
bless=
[ "${2:-}" = --bless ] && bless=1

for f in schedules/broken/*.ccs; do
	# The file's first line may ask for options: "// options: ..."
	opt=$(sed -n 's/^\/\/! options: //p' "$f")
	# shellcheck disable=SC2086
	"$ccc" check "$f" $opt >"$tmp/said" 2>&1
	compare "$(basename "$f" .ccs).txt"
	# shellcheck disable=SC2086
	"$ccc" check "$f" $opt --diagnostics-format=json >"$tmp/said" 2>&1
	compare "$(basename "$f" .ccs).json"
done
for f in ring_allreduce double_binary_tree_allreduce bruck_all_to_all dissemination_barrier; do
	"$ccc" check schedules/$f.ccs >"$tmp/said" 2>&1
	compare "report-$f.txt"
done
"$ccc" schedules/ring_allreduce.ccs -n 3 --emit=plan >"$tmp/said" 2>&1
compare "plan-ring_allreduce-3.txt"
"$ccc" schedules/dissemination_barrier.ccs -n 2,3 --emit=plan >"$tmp/said" 2>&1
compare "plan-dissemination_barrier.txt"
for f in schedules/ring_allreduce.ccs tests/check/good/overlapping.ccs; do
	"$ccc" $f -n 2 --emit=json 2>&1 | sed 's/"compiler":"[^"]*"/"compiler":"-"/; s/},{/},\n{/g'
done >"$tmp/said"
compare json.txt
"$ccc" schedules/ring_allreduce.ccs -n 3 --emit=program >"$tmp/said" 2>&1
compare "program-ring_allreduce-3.txt"
"$ccc" schedules/ring_allreduce.ccs -n 4 --emit=header >"$tmp/said" 2>&1
compare "header-ring_allreduce.txt"
# Which of NCCL's parameters a function has, and for which numbers of ranks.
for f in "schedules/ring_allgather.ccs -n 2,4,8" "schedules/ring_reduce_scatter.ccs -n 2,3" \
	 "schedules/binomial_broadcast.ccs -n 2,3,5..7" "schedules/binomial_gather.ccs -n 3" \
	 "schedules/dissemination_barrier.ccs -n 1..4" "schedules/bruck_all_to_all.ccs -n 2..4" \
	 "tests/check/good/chunks_twice_n.ccs -n 2,4" "tests/check/good/blocks.ccs -n 2..4"; do
	# shellcheck disable=SC2086
	"$ccc" $f --emit=header 2>&1 | grep -E '^ \* ([a-z0-9_]+:|Compiled|  |sendbuff|`)|^ccs_|^	'
done >"$tmp/said"
compare headers.txt
"$ccc" explain schedules/ring_allreduce.ccs -n 3 >"$tmp/said" 2>&1
compare "explain-ring_allreduce-3.txt"
"$ccc" explain schedules/dissemination_barrier.ccs -n 3 >"$tmp/said" 2>&1
compare "explain-dissemination_barrier-3.txt"
# A wrong schedule: what happens up to the fault, and the fault.
for f in all_send_first send_and_reduce forgotten_rank no_wrap; do
	"$ccc" explain schedules/broken/$f.ccs >"$tmp/said" 2>/dev/null
	compare "explain-$f.txt"
done
f=schedules/broken/counted_twice.ccs
"$ccc" explain $f -n 3 >"$tmp/said" 2>/dev/null
compare "explain-counted_twice-3.txt"
"$ccc" explain $f -n 3 --chunk 'data[0]' --rank 0,2 --step 1..3 >"$tmp/said" 2>/dev/null
compare "explain-counted_twice-3-part.txt"
"$ccc" explain $f -n 3 --chunk 'data[0]' --rank 2 --step 4 >"$tmp/said" 2>/dev/null
compare "explain-counted_twice-3-nothing.txt"
for only in "--step 2,4" "--rank 1" "--chunk data[0]" "--rank 0,2 --step 3..5" "--chunk data[1] --step 6"; do
	# shellcheck disable=SC2086
	echo "$only" && "$ccc" explain schedules/ring_allreduce.ccs -n 4 $only 2>&1
done >"$tmp/said"
compare "explain-only.txt"
for f in schedules/broken/*.ccs tests/check/diag/e0303_length.ccs tests/check/diag/e0401_scratch_again.ccs \
	 tests/check/diag/e0402_par.ccs \
	 tests/check/diag/e0402_on_some_ranks.ccs tests/check/diag/several_race_and_deadlock.ccs; do
	opt=$(sed -n 's/^\/\/! options: //p' "$f")
	# shellcheck disable=SC2086
	"$ccc" explain "$f" $opt 2>/dev/null
done >"$tmp/said"
compare "explain-wrong.txt"
# In procs of another file: the calls that lead there, in each format.
for k in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
	"$ccc" check tests/check/calls.ccs --schedule s -n 4 -D K=$k 2>&1
done >"$tmp/said"
compare calls.txt
for f in json sarif; do
	"$ccc" check tests/check/calls.ccs --schedule s -n 4 -D K=17 --diagnostics-format=$f 2>&1
done >"$tmp/said"
compare calls.json
"$ccc" table schedules/*.ccs schedules/broken/no_wrap.ccs -n 3,4,8 >"$tmp/said" 2>/dev/null
compare table.txt
"$ccc" --explain E0304 >"$tmp/said" 2>&1
compare "explain-E0304.txt"
# How many operations, workers and waits lowering comes to.
for f in schedules/*.ccs; do
	echo "$f"
	# shellcheck disable=SC2046
	"$ccc" "$f" $(tests/admitted.sh "$ccc" "$f") --emit=plan 2>&1 | grep '^N = '
done >"$tmp/said"
compare plans.txt
for f in binary_tree_allreduce halving_doubling_allreduce; do
	"$ccc" schedules/$f.ccs -n 2,4,8 --emit=cuda 2>&1 | sed -n '/^#line 1 "kernels.cu"/,$p' >"$tmp/said"
	compare "cuda-$f.txt"
done
# What reads cells that it writes at other places is left to the table.
"$ccc" tests/check/good/overlapping.ccs -n 2 --emit=cuda 2>&1 | sed -n '/^#line 1 "kernels.cu"/,$p' >"$tmp/said"
compare "cuda-overlapping.txt"
# The words of all that diag_test looks for the places of; and the reports of good files.
for dir in diag good; do
	for f in tests/check/$dir/[!_]*.ccs; do
		opt=$(sed -n 's/^\/\/! options: //p' "$f")
		# shellcheck disable=SC2086
		"$ccc" check "$f" $opt 2>&1
	done | sed "s|'$(pwd -P)/schedules/|'LIBRARY/|" >"$tmp/said"
	compare $dir.txt
done
exit $failed
