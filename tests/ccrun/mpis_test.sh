#!/bin/sh
# The same under other MPIs than this machine's, which deps.sh fetches as wheels: MPICH 4, MPICH 5
# by its own ABI and by MPI 5's standard one, Open MPI 5; and Debian's MPICH (4.0.2 in Debian 12). Ranks by its messages, its collectives
# beside ours, and programs of MPI's with libccs-mpi.so preloaded, of which Intel's IMB-MPI1 is
# one that knows nothing of ccs. And libccs-mpi.so under each MPI that it was not built for.
# Without --long those behind the first do less.
# usage: mpis_test.sh BUILD [--long]
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
long=${2-}
wheels=$PWD/build/wheels
imb=$wheels/impi/bin/IMB-MPI1
ccrun=$build/bin/ccrun
m=$build/tests/modules
. tests/ccrun/preload_lib.sh
bare_environment
mpis="mpich mpich402 mpich5 mpich5_abi openmpi5"

# The MPI that the rest is about: $name, $of its products, $options of its mpirun, $ours its words
# for itself, and $here whether it is here.
use() {
	name=$1 of=$build/tests/mpis/$1 mpi=$wheels/${1%_abi} options=''
	case $name in
	mpich | mpich402) ours='MPICH Version: 4\.' family="MPICH's ABI" ;;
	mpich5) ours='MPICH Version: 5\.' family="MPICH's ABI" ;;
	mpich5_abi) ours='MPICH Version: 5\.' family="MPI 5's standard ABI" ;;
	openmpi5)
		ours='Open MPI v5\.' family="Open MPI"
		options="--allow-run-as-root --oversubscribe"
		;;
	esac
	here=
	[ ! -x "$mpi/bin/mpirun" ] || [ ! -e "$of/preload_prog" ] || here=yes
	export CCS_MPI_PLUGIN="$of/libccs_mpi.so"
}
ranks() { # ranks N COMMAND...
	n=$1
	shift
	# shellcheck disable=SC2086
	timeout 120 "$mpi/bin/mpirun" $options -np "$n" "$@"
}

# ---- ranks by its messages, and its own collectives ------------------------------------------
beside() { # beside MOST SCHEDULE...: up to so many bytes
	most=$1
	shift
	for schedule; do
		status "$name: $schedule beside MPI's own" 0 ranks 2 "$ccrun" "$m/$schedule.so" \
			--transport mpi --against mpi -b 100 -e "$most" -f 95 --iters 1 -w 1 --repeats 2
		says "... by MPI" "$tmp/out" "2 processes by MPI \\($ours.*\\)"
		says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
		says "... and MPI's" "$tmp/out" "^# \.\.\. of MPI's *: 0 OK$"
	done
}
# Two ranks: MPICH's wait on their cores, and more than there are cores wait for one another.
messages() {
	ranks 2 "$build/tests/ccrun/net_calls_test" "$m" ||
		not_ok "$name: calls, by 2 processes" "it ended with another status than 0"
	ranks 2 "$build/tests/ccrun/net_threads_test" "$m" ||
		not_ok "$name: several threads, by 2 processes" "it ended with another status than 0"
	ranks 3 env HELD_MPI="$CCS_MPI_PLUGIN" CCS_MPI_PLUGIN="$build/tests/fake_mpi/libheld_mpi.so" \
		"$build/tests/ccrun/net_held_test" "$m" ||
		not_ok "$name: buffers of calls that failed" "it ended with another status than 0"
	# mpirun's status: MPICH's now and then has that of the rank that it killed.
	status "$name: a rank that stands still for good" '[39]' ranks 2 env HELD_STOPS=1 \
		HELD_MPI="$CCS_MPI_PLUGIN" CCS_MPI_PLUGIN="$build/tests/fake_mpi/libheld_mpi.so" \
		"$ccrun" "$m/ring_allreduce.so" --transport mpi --timeout 1 -b 1K -e 1K --iters 1000
	says "... after which MPI does not end" "$tmp/err" 'ccs: rank 0: after a failure not all processes'
}

# ---- programs of MPI's -------------------------------------------------------------------------
preloaded() { # preloaded LIBRARY N CCS_MPI COMMAND...
	library=$1 n=$2 modules=$3
	shift 3
	ranks "$n" env LD_PRELOAD="$library" CCS_MPI="$modules" "$@"
}
ran() { # the report says that each collective was run by a module
	for c in $collectives; do
		says "... $c was taken" "$tmp/err" "^libccs-mpi: $c: [1-9][0-9]* calls? by .*\.so\)$"
	done
}
taken() { # ... and no call by MPI
	ran
	holds "... and nothing left to MPI" test "$(grep -c 'by MPI:' "$tmp/err")" = 0
}
program() {
	status "$name: every collective of 2 processes is as MPI's" 0 \
		preloaded "$of/libccs-mpi.so" 2 "$all" "$of/preload_prog" every
	taken
	status "$name: calls of other forms" 0 \
		preloaded "$of/libccs-mpi.so" 2 "$all" "$of/preload_forms"
	forms_counted
}
fortran() {
	for form in preload_fortran preload_fortran_f08; do
		[ -e "$of/$form" ] || continue
		status "$name: $form" 0 preloaded "$of/libccs-mpi.so" 2 "$all" "$of/$form"
		ran
		fortran_forms_counted "allreduce: 1 call by MPI: MPI_Allreduce_init is persistent"
	done
}
# libccs-mpi.so of all others, in this one's program. Handles of MPICH 4 are those of MPICH 5.
# (MPICH 4's wheel has an older libfabric, with which those of the others are not loaded.)
built_for_others() {
	for other in $mpis; do
		library=$build/tests/mpis/$other/libccs-mpi.so
		[ "$other" != "$name" ] && [ -e "$library" ] || continue
		case $name$other in *mpich402*) continue ;; esac # it is MPICH 4 once more
		case $name$other in
		mpichmpich5_abi | mpichopenmpi5) ;; # libfabric
		mpich5mpich | mpichmpich5)
			status "$name: libccs-mpi.so built with $other is as good" 0 \
				preloaded "$library" 2 "$all" "$of/preload_prog" sizes
			says "... and runs calls" "$tmp/err" '^libccs-mpi: allreduce: 4 calls by ring_allreduce'
			;;
		*)
			status "$name: libccs-mpi.so built with $other ends the program" 2 \
				preloaded "$library" 1 "$all" "$of/preload_prog" sizes
			says "... and says why" "$tmp/err" "^libccs-mpi: this program runs with \
$ours.* \\($family\\), and libccs-mpi.so was built for .*: build it with the mpicc that made the program"
			;;
		esac
	done
}

# This build of it does not check what it receives.
benchmarks="allreduce reduce_scatter_block allgather bcast reduce alltoall gather scatter barrier"
imb() { # imb CCS_MPI
	# shellcheck disable=SC2086
	preloaded "$of/libccs-mpi.so" 2 "$1" env LD_LIBRARY_PATH="$mpi/lib" "$imb" -npmin 2 \
		-msglog 10:16 -iter 20 $benchmarks
}
imb_taken() {
	if [ ! -x "$imb" ]; then
		echo "skip - IMB-MPI1: the wheel impi-rt is not in build/wheels, and could not be fetched"
		return
	fi
	status "$name: IMB-MPI1 with all collectives by ccs" 0 imb "$all"
	taken
	holds "... and measured each size of eight" \
		test "$(grep -cE '^ +65536 +[0-9]+ +[0-9.]+ ' "$tmp/out")" = 8
	status "$name: IMB-MPI1 with one" 0 imb "allreduce:$m/ring_allreduce.so"
	says "... took it" "$tmp/err" '^libccs-mpi: allreduce: [1-9][0-9]* calls by ring_allreduce'
	says "... and told what it left" "$tmp/err" \
		'^libccs-mpi: alltoall: [1-9][0-9]* calls by MPI: CCS_MPI names no module for it$'
}

# ---- MPI's launcher alone --------------------------------------------------------------------------
quick="-b 1K -e 1K --iters 2 -w 1"
# Hydra's variables name no job: its proxy does, also where shells are between it and the ranks.
launched() {
	# shellcheck disable=SC2086
	status "$name: its mpirun starts ranks that share memory" 0 ranks 2 sh -c \
		'sh -c "\"\$@\"; exit \$?" - "$@"; exit $?' - "$ccrun" "$m/ring_allreduce.so" $quick
	says "... and finds them" "$tmp/out" "2 processes on this host's CPU, over shared memory"
	says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
	# shellcheck disable=SC2086
	status "$name: another number of ranks than mpirun's" 2 ranks 2 "$ccrun" -n 4 "$m/ring_allreduce.so" $quick
	says "... is told" "$tmp/err" '^ccrun: -n 4, but mpirun has started 2 processes'
}

# ---- each ----------------------------------------------------------------------------------------
for mpi in $mpis; do
	use "$mpi"
	if [ ! "$here" ]; then
		echo "skip - $name: it is not in build/wheels, and could not be fetched (tests/deps.sh check)"
		continue
	fi
	ranks 2 "$build/tests/ccrun/mpi_calls_test" ||
		not_ok "$name: the plug-in" "it ended with another status than 0"
	program
	fortran
	built_for_others
	launched
	if [ "$name" = mpich ] || [ "$long" ]; then
		messages
		beside 900K ring_allreduce direct_all_to_all halving_doubling_allreduce binomial_broadcast
	else
		beside 10K ring_allreduce
	fi
	# IMB-MPI1 is a program of MPICH's ABI.
	case $name$long in mpich | mpich--long | mpich402--long | mpich5--long) imb_taken ;; esac
done
exit $failed
