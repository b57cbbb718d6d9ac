#!/bin/sh
# ccrun --against mpi: what keeps it from running; what ccrun says of an MPI that errs, which
# is a plug-in of our own (tests/fake_mpi); and, where there is an MPI, the plug-in for it, and
# each of its collectives beside the module of its contract, which ccrun checks.
# usage: mpi_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
ccc=$build/bin/ccc
ccrun=$build/bin/ccrun
modules=$build/tests/modules
ring=$modules/ring_allreduce.so
fake=$build/tests/fake_mpi/libfake_mpi.so
plugin=$build/lib/libccs_mpi.so
bare_environment
quick="-b 1K -e 1K --iters 2 -w 1"

# A contract of one's own.
cat >"$tmp/own.ccs" <<'EOS'
contract keep(in a[C], out b[C])
  ensures b[i] == a[i]@rank
schedule own implements keep(in a[1], out b[1]) { copy a[0] into b[0] }
EOS
status "a contract of one's own compiles" 0 "$ccc" "$tmp/own.ccs" -n 1..3 --target=cpu -o "$tmp/own.so"

# ---- what keeps it from running, before there is any MPI ---------------------------------
# refused WHAT PATTERN COMMAND...: with status 4, once, and without a table
refused() {
	title=$1 pattern=$2
	shift 2
	status "$title" 4 "$@"
	says "... says so" "$tmp/err" "^ccrun: (rank [0-9]: )?--against mpi: .*$pattern"
	holds "... once" test "$(grep -c . "$tmp/err")" = 1
	holds "... and prints no table" test ! -s "$tmp/out"
}
refused "--against mpi of ranks in one process" 'start it with mpirun -np 4$' \
	"$ccrun" -n 4 "$ring" --against mpi
refused "... because of --transport local" 'mpirun -np 4, without --transport local$' \
	env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 "$ccrun" -n 4 "$ring" --against mpi \
	--transport local
refused "... because of --procs" 'mpirun -np 4, without --procs$' \
	"$ccrun" -n 4 "$ring" --against mpi --procs
refused "--against mpi on GPUs" 'leave out --device cuda$' "$ccrun" -n 4 --device cuda "$ring" \
	--against mpi
refused "--against mpi without a plug-in" 'this needs MPI: CCS_MPI_PLUGIN is none$' \
	env CCS_MPI_PLUGIN=none "$ccrun" -n 1 "$ring" --against mpi
refused "... with a library that is none" 'libccs.so is not a plug-in for MPI of this version' \
	env CCS_MPI_PLUGIN="$build/lib/libccs.so" "$ccrun" -n 1 "$ring" --against mpi

# ---- an MPI of our own -----------------------------------------------------------------
faking() { # faking MODE ARGUMENTS-OF-CCRUN...
	mode=$1
	shift
	CCS_MPI_PLUGIN=$fake FAKE_MPI=$mode "$ccrun" -n 1 "$ring" $quick --against mpi "$@"
}
status "an MPI of our own" 0 faking -
says "... has a name" "$tmp/out" '^# baseline: Fake MPI 1.0, in the same processes$'
says "... and columns" "$tmp/out" '  MPI, out of place .*  MPI, in place  *$'
says "... is right" "$tmp/out" "^# \.\.\. of MPI's *: 0 OK$"
says "... and is closed" "$tmp/err" 'closed after 24 calls'
status "... with other repeats" 0 faking - --repeats 3
says "... takes its turn in each" "$tmp/err" 'closed after 16 calls'
refused "an operator that it lacks" 'MPI has no such operator for such elements$' faking - -o max
status "... beside one that it has" 0 faking - -o max,sum
says "... the head says so" "$tmp/out" '; n/a: it cannot combine these$'
holds "... the row is n/a" test "$(grep -c 'max .* n/a .* n/a ' "$tmp/out")" = 1
holds "... and the other one is not" test "$(grep 'sum ' "$tmp/out" | grep -c 'n/a')" = 0
refused "a contract that it lacks" 'MPI has no keep; it has allreduce, broadcast$' \
	env CCS_MPI_PLUGIN="$fake" "$ccrun" -n 1 "$tmp/own.so" --against mpi
refused "a plug-in of another version" 'of this version: build it again$' faking version
refused "an MPI that does not start" "MPI's MPI_Init_thread failed: error 16$" faking open
status "another number of processes" 4 faking two
says "... is told" "$tmp/err" 'Fake MPI 1.0 numbers this process rank 0 of 2, and -n rank 0 of 1'
says "... MPI is closed" "$tmp/err" 'closed after 0 calls'
for call in 1 2 4 5; do
	status "call $call fails" 4 faking call:$call
	says "... is told" "$tmp/err" "--against mpi: MPI's allreduce failed: error 17"
done
status "more elements than its counts hold" 4 faking counts
says "... is told" "$tmp/err" 'this MPI has calls of at most 100 elements, not of 256'
status "a wrong result" 3 faking wrong
says "... is told" "$tmp/err" '^ccrun: MPI: float32 sum, size 1024, out of place: rank 0, element 0'
says "... and counted" "$tmp/out" "^# \.\.\. of MPI's *: 2$"
says "... ours is right" "$tmp/out" '^# wrong elements *: 0 OK$'
status "... is not looked at with -c 0" 0 faking wrong -c 0
status "--json" 0 faking - --json
json "... has its columns" 'baseline.name="mpi"' 'baseline.label=~Fake MPI 1.0' \
	'rows.0.in_place.baseline.time_us=*' rows.0.in_place.baseline.wrong=0 \
	'rows.0.out_of_place.ratio=*' summary.baseline.wrong=0 errors.#=0 status=0
cp "$tmp/out" "$tmp/json"
status "--csv" 0 faking - --csv
passes "... says the same" same "$tmp/json" "$tmp/out"
csv "... with the columns" 1 'baseline_time_us=*' 'baseline_algbw_gb_per_s=*' \
	'baseline_busbw_gb_per_s=*' baseline_wrong=0 'ratio=*'
status "--json of a wrong result" 3 faking wrong --json
json "... counts it" status=3 summary.wrong=0 summary.baseline.wrong=2 \
	'rows.0.in_place.baseline.first_wrong=~rank 0, element 0'

# ---- a real one ------------------------------------------------------------------------
if [ ! -e "$plugin" ]; then
	echo "skip - a real MPI: its plug-in was not built (there is no mpicc)"
	exit $failed
fi
if ! command -v mpirun >/dev/null 2>&1; then
	echo "skip - a real MPI: there is no mpirun"
	exit $failed
fi
# Open MPI adds integers of 8 bits with saturation where the processor has AVX: not here.
case $(mpirun --version 2>&1) in
*"Open MPI"* | *OpenRTE*) options="--allow-run-as-root --oversubscribe --mca op ^avx" ;;
*)
	options=
	export CCS_JOB_TOKEN=mpi_test.$$ # Hydra names no job
	;;
esac
ranks() { # ranks N COMMAND...
	n=$1
	shift
	# shellcheck disable=SC2086
	timeout 120 mpirun $options -np "$n" "$@"
}
for n in 1 3; do
	ranks $n env CCS_MPI_PLUGIN="$plugin" "$build/tests/ccrun/mpi_calls_test" ||
		not_ok "the plug-in, by $n processes" "it ended with another status than 0"
done
mpi() { # mpi N ARGUMENTS-OF-CCRUN...: beside MPI
	n=$1
	shift
	ranks "$n" "$ccrun" "$@" --against mpi
}

# collective WHAT N MODULE TYPES OPERATORS: out of place and in place, from each root
collective() {
	status "$1 of $2 processes" 0 mpi "$2" "$modules/$3.so" -b 100 -e 40K -f 400 --iters 1 \
		--repeats 2 -w 1 -r all -d "$4" -o "$5"
	says "... MPI's is right" "$tmp/out" "^# \.\.\. of MPI's *: 0 OK$"
	says "... and ours" "$tmp/out" '^# wrong elements *: 0 OK$'
	holds "... in every row that it has" test "$(awk '$1 ~ /^[0-9]+$/ && \
		$3 !~ /^float8|float16$/ && ($3 !~ /^float/ || $4 !~ /^b(and|or|xor)$/) &&
		$4 != "avg" && $4 != "premul" && / n\/a /' "$tmp/out" |
		grep -c .)" = 0
}
for s in allgather:ring_allgather reduce_scatter:ring_reduce_scatter reduce:binomial_reduce \
	 broadcast:binomial_broadcast gather:binomial_gather scatter:binomial_scatter \
	 all_to_all:direct_all_to_all; do
	collective "${s%%:*}" 3 "${s#*:}" int8,int32,float16,float64 sum,max
done
collective allreduce 3 ring_allreduce int32,float32 sum
collective "allreduce with all types and operators" 2 ring_allreduce all all
status "barrier" 0 mpi 3 "$modules/dissemination_barrier.so" --iters 2 -w 1
says "... nobody leaves too early" "$tmp/out" '^# wrong order *: 0 OK$'
says "... MPI's neither" "$tmp/out" "^# \.\.\. of MPI's *: 0 OK$"

status "--json" 0 mpi 2 "$ring" $quick --repeats 3 --json
json "... of rank 0 alone" ranks=2 'baseline.name="mpi"' 'baseline.label=~in the same processes' \
	'rows.0.out_of_place.baseline.time_us=*' rows.0.out_of_place.baseline.wrong=0 \
	'rows.0.in_place.ratio=*' settings.repeats=3 errors.#=0 status=0
status "--csv" 0 mpi 2 "$ring" $quick --csv
csv "... with its columns" 1 'baseline_time_us=*' baseline_wrong=0 'ratio=*'
status "a contract that MPI has not" 4 mpi 2 "$tmp/own.so" $quick
says "... is told" "$tmp/err" 'MPI has no keep; it has allreduce, '
status "types that MPI has not" 4 mpi 2 "$ring" $quick -d float16,bfloat16
says "... are told" "$tmp/err" 'MPI has no such operator for such elements'
status "an option that is none" 2 mpi 2 "$ring" --no-such-option
refused "another launcher than MPI's" 'numbers this process rank 0 of 1, and torchrun rank 0 of 2' \
	env RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 CCS_JOB_TOKEN=mine "$ccrun" "$ring" --against mpi
exit $failed
