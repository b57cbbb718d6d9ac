#!/bin/sh
# Ranks that are processes of this machine, beside MPI's own collectives: the same buffers, in
# turn, medians; `ratio` is MPI's time over ours. Then a program of MPI's, with libccs-mpi.so
# preloaded. usage: mpi.sh BUILD
set -u
build=${1:-build}
if ! command -v mpirun >/dev/null 2>&1 || [ ! -e "$build/lib/libccs_mpi.so" ]; then
	echo "beside MPI: left out: no mpirun, or no plug-in for its MPI (make says why)"
	exit 0
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export CCS_MPI_PLUGIN="$PWD/$build/lib/libccs_mpi.so" CCS_JOB_TOKEN="bench.$$"
mpirun=mpirun
[ "$(id -u)" = 0 ] && mpirun --version | grep -q 'Open MPI' &&
	mpirun='mpirun --allow-run-as-root --oversubscribe'

# table RANKS SCHEDULE
table() {
	"$build/bin/ccc" "schedules/$2.ccs" -n "$1" --target=cpu -o "$tmp/$2.so" || return
	echo
	$mpirun -np "$1" "$build/bin/ccrun" --against mpi "$tmp/$2.so" -b 8 -e 64M -f 8 \
		-w 5 --repeats 11 2>&1
}
mpirun --version | head -1
for schedule in one_shot_allreduce direct_allreduce ring_allgather ring_reduce_scatter \
	binomial_broadcast pairwise_all_to_all; do
	table 2 "$schedule"
done
# preloaded COLLECTIVE:SCHEDULE...: those that table has compiled for 2 ranks
preloaded() {
	for pair; do
		modules=${modules:+$modules,}${pair%%:*}:$tmp/${pair#*:}.so
	done
	echo
	echo "# 2 processes of a program of MPI's, with libccs-mpi.so"
	$mpirun -np 2 env LD_PRELOAD="$PWD/$build/lib/libccs-mpi.so" CCS_MPI="$modules" \
		"$build/bench/mpi_loop" 8 16777216 21 2>&1
}
preloaded allreduce:direct_allreduce allgather:ring_allgather alltoall:pairwise_all_to_all \
	broadcast:binomial_broadcast reduce_scatter_block:ring_reduce_scatter
table 8 recursive_doubling_allreduce
table 8 direct_allreduce
