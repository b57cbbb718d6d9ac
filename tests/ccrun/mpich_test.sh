#!/bin/sh
# The same under MPICH, whatever MPI this machine has: ranks by its messages, its collectives
# beside ours, and programs of MPI's with libccs-mpi.so preloaded, of which Intel's IMB-MPI1 is
# one that knows nothing of ccs. deps.sh fetches both, as wheels.
# usage: mpich_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
of_mpich=$build/tests/mpich
mpich=$PWD/build/wheels/mpich
imb=$PWD/build/wheels/impi/bin/IMB-MPI1
ccrun=$build/bin/ccrun
m=$build/tests/modules
bare_environment

if [ ! -x "$mpich/bin/mpirun" ] || [ ! -e "$of_mpich/preload_prog" ]; then
	echo "skip - MPICH: its wheel is not in build/wheels, and could not be fetched (tests/deps.sh check)"
	exit 0
fi
# Hydra names no job.
export PATH="$mpich/bin:$PATH" CCS_MPI_PLUGIN="$of_mpich/libccs_mpi.so" CCS_JOB_TOKEN=mpich_test.$$
ranks() { # ranks N COMMAND...
	n=$1
	shift
	timeout 120 mpirun -np "$n" "$@"
}

# ---- ranks by its messages, and its own collectives ------------------------------------------
# Two ranks: MPICH's wait on their cores, and more than there are cores wait for one another.
ranks 2 "$build/tests/ccrun/net_calls_test" "$m" ||
	not_ok "calls, by 2 processes" "it ended with another status than 0"
ranks 3 env HELD_MPI="$CCS_MPI_PLUGIN" CCS_MPI_PLUGIN="$build/tests/fake_mpi/libheld_mpi.so" \
	"$build/tests/ccrun/net_held_test" "$m" ||
	not_ok "buffers of calls that failed" "it ended with another status than 0"
ranks 2 "$build/tests/ccrun/mpi_calls_test" ||
	not_ok "the plug-in" "it ended with another status than 0"
for name in ring_allreduce halving_doubling_allreduce direct_all_to_all binomial_broadcast; do
	status "$name beside MPICH's" 0 ranks 2 "$ccrun" "$m/$name.so" --transport mpi --against mpi \
		-b 100 -e 900K -f 95 --iters 1 -w 1 --repeats 2
	says "... by MPI" "$tmp/out" '2 processes by MPI \(MPICH Version: .*\)'
	says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
	says "... and MPICH's" "$tmp/out" "^# \.\.\. of MPI's *: 0 OK$"
done

# ---- programs of MPI's -------------------------------------------------------------------------
all=allreduce:$m/ring_allreduce.so,reduce_scatter_block:$m/ring_reduce_scatter.so
all=$all,allgather:$m/ring_allgather.so,broadcast:$m/binomial_broadcast.so
all=$all,reduce:$m/binomial_reduce.so,alltoall:$m/direct_all_to_all.so
all=$all,gather:$m/binomial_gather.so,scatter:$m/binomial_scatter.so
all=$all,barrier:$m/dissemination_barrier.so
collectives="allreduce reduce_scatter_block allgather broadcast reduce alltoall gather scatter barrier"
preloaded() { # preloaded N CCS_MPI COMMAND...
	n=$1 modules=$2
	shift 2
	ranks "$n" env LD_PRELOAD="$of_mpich/libccs-mpi.so" CCS_MPI="$modules" "$@"
}
taken() { # the report says that each collective was run by a module, and no call by MPI
	for c in $collectives; do
		says "... $c was taken" "$tmp/err" "^libccs-mpi: $c: [1-9][0-9]* calls by .*\.so\)$"
	done
	holds "... and nothing left to MPI" test "$(grep -c 'by MPI:' "$tmp/err")" = 0
}
status "every collective of 2 processes is as MPICH's" 0 preloaded 2 "$all" "$of_mpich/preload_prog" every
taken
if [ ! -x "$imb" ]; then
	echo "skip - IMB-MPI1: the wheel impi-rt is not in build/wheels, and could not be fetched"
	exit $failed
fi
# This build of it does not check what it receives.
benchmarks="allreduce reduce_scatter_block allgather bcast reduce alltoall gather scatter barrier"
imb() { # imb CCS_MPI
	# shellcheck disable=SC2086
	preloaded 2 "$1" env LD_LIBRARY_PATH="$mpich/lib" "$imb" -npmin 2 -msglog 10:16 -iter 20 $benchmarks
}
status "IMB-MPI1 with all collectives by ccs" 0 imb "$all"
taken
holds "... and measured each size of eight" test "$(grep -cE '^ +65536 +[0-9]+ +[0-9.]+ ' "$tmp/out")" = 8
status "IMB-MPI1 with one" 0 imb "allreduce:$m/ring_allreduce.so"
says "... took it" "$tmp/err" '^libccs-mpi: allreduce: [1-9][0-9]* calls by ring_allreduce'
says "... and told what it left" "$tmp/err" '^libccs-mpi: alltoall: [1-9][0-9]* calls by MPI: CCS_MPI names no module for it$'
exit $failed
