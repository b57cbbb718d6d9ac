#!/bin/sh
# Measures the tuning that comes with ccs, schedules/default.tuning, on this machine: for each
# collective, where ranks are tasks and where they are processes, 2, 4 and 8 of them; 4 ranks speak
# for 3 to 5, and 8 for 6 to 16. All of a size are timed in turn, and the medians of nine such means
# compared, so that other load does not choose; the times still contain that load.
# Takes minutes. `make` has compiled its modules.
# usage: default_tuning.sh BUILD
set -eu
build=${1:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
allreduce="recursive_doubling_allreduce direct_allreduce ring_allreduce"
allgather="direct_allgather bruck_allgather ring_allgather"
reduce_scatter="ring_reduce_scatter pairwise_reduce_scatter pat_reduce_scatter"
broadcast="binomial_broadcast chain_broadcast"
reduce="binomial_reduce chain_reduce"
all_to_all="direct_all_to_all bruck_all_to_all pairwise_all_to_all"
gather="binomial_gather direct_gather"
scatter="binomial_scatter direct_scatter"

# tune RANKS ENGINE-OPTION SCHEDULE...
tune() {
	ranks=$1 where=$2
	shift 2
	files=
	for schedule; do
		files="$files $tmp/$schedule.so"
		[ -e "$tmp/$schedule.so" ] ||
			"$build/bin/ccc" "schedules/$schedule.ccs" -n 2..16 --target=cpu -o "$tmp/$schedule.so"
	done
	# shellcheck disable=SC2086
	${AS_MEASURED-} "$build/bin/ccrun" -n "$ranks" $where -b 256 -e 16M -f 8 --repeats 9 \
		--tune "$tmp/default.tuning" $files
}
# One that sends N - 1 times the data contends with 2 ranks alone: with few cores it may win, and
# where each rank has one it would lose.
for where in '' --procs; do
	for schedules in "$allreduce" "$allgather" "$reduce_scatter" "$broadcast" "$reduce" \
		"$all_to_all" "$gather" "$scatter" dissemination_barrier; do
		case $schedules in
		*_allreduce*) two="$schedules one_shot_allreduce" ;;
		*) two=$schedules ;;
		esac
		# shellcheck disable=SC2086
		{
			tune 2 "$where" $two
			tune 4 "$where" $schedules
			tune 8 "$where" $schedules
		}
	done
done
sed -e 's/ ranks 4 / ranks 3..5 /' -e 's/ ranks 8 / ranks 6..16 /' "$tmp/default.tuning" \
	>schedules/default.tuning
