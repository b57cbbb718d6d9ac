#!/bin/sh
# ccrun --transport mpi: what keeps it from running; every module of the library under mpirun,
# checked by ccrun; what net_calls_test.c, net_threads_test.c, net_held_test.c and p2p_test.c do; and ranks of two hosts, which are network
# namespaces with a cable between them, as far as this machine lets us make some.
# Each module runs in a job of one size of three, by turns; with --long in jobs of each.
# usage: net_test.sh BUILD [--long]
set -u
. tests/support/lib.sh
. tests/support/two_hosts.sh
build=$(cd "${1:-build}" && pwd)
ccrun=$build/bin/ccrun
modules=$build/tests/modules
ring=$modules/ring_allreduce.so
plugin=$build/lib/libccs_mpi.so
bare_environment
quick="-b 1K -e 1K --iters 2 -w 1"

# ---- what keeps it from running -----------------------------------------------------------
# refused WHAT STATUS PATTERN COMMAND...: once, and without a table
refused() {
	title=$1 want=$2 pattern=$3
	shift 3
	status "$title" "$want" "$@"
	says "... says so" "$tmp/err" "$pattern"
	holds "... and prints no table" test ! -s "$tmp/out"
}
refused "not under mpirun" 4 'transport mpi: each rank is a process: start it with mpirun -np 4$' \
	"$ccrun" -n 4 "$ring" --transport mpi
refused "shm, of one process" 4 'start it with mpirun -np 4, or --procs$' \
	"$ccrun" -n 4 "$ring" --transport shm
refused "with --procs" 2 'mpirun starts the ranks: leave out --procs$' \
	"$ccrun" -n 4 "$ring" --transport mpi --procs
refused "on GPUs" 2 'leave out --device cuda$' "$ccrun" -n 4 "$ring" --transport mpi --device cuda
refused "without a plug-in" 4 'this needs MPI: CCS_MPI_PLUGIN is none$' \
	env CCS_MPI_PLUGIN=none "$ccrun" -n 1 "$ring" --transport mpi
refused "ranks of several hosts" 2 '; --transport mpi: ranks of several hosts\)$' \
	env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 \
	OMPI_COMM_WORLD_LOCAL_SIZE=2 "$ccrun" "$ring"
status "--transport shm --procs" 0 "$ccrun" -n 2 "$ring" $quick --transport shm --procs
says "... shares memory" "$tmp/out" "2 processes on this host's CPU, over shared memory"

# ---- MPI ----------------------------------------------------------------------------------
if [ ! -e "$plugin" ] || ! command -v mpirun >/dev/null 2>&1; then
	echo "skip - ranks by MPI: there is no mpirun, or the plug-in was not built (no mpicc)"
	exit $failed
fi
# Open MPI adds integers of 8 bits with saturation where the processor has AVX: not here.
case $(mpirun --version 2>&1) in
*"Open MPI"* | *OpenRTE*) options="--allow-run-as-root --oversubscribe --mca op ^avx" ;;
*) options= ;;
esac
ranks() { # ranks N COMMAND...
	n=$1
	shift
	# shellcheck disable=SC2086
	timeout 200 mpirun $options -np "$n" "$@"
}
ranks 6 env CCS_MPI_PLUGIN="$plugin" "$build/tests/cpu/split_test" "$modules" mpi ||
	not_ok "split_test, by 6 processes" "it ended with another status than 0"
ranks 6 env CCS_MPI_PLUGIN="$plugin" "$build/tests/cpu/random_runs_test" 20 1 mpi ||
	not_ok "random programs, by 6 processes" "it ended with another status than 0"
most=1 every=11
[ "${2-}" != --long ] || most=3 every=1
sizes="4 2 3"
for module in "$modules"/*.so; do
	name=$(basename "$module" .so)
	ran=0
	# of 4 ranks it has cells that several workers touch (cpu/mpi/net_cells.c)
	[ "$name" != bruck_all_to_all ] || sizes="4 2 3"
	for n in $sizes; do
		[ $ran -lt $most ] || break
		"$ccrun" -n $n "$module" -e 8 -c 0 --iters 1 -w 0 >/dev/null 2>&1 || continue
		ran=$((ran + 1))
		status "$name of $n processes" 0 ranks $n "$ccrun" "$module" --transport mpi -b 100 \
			-e 900K -f 95 --iters 1 -w 1 -r all
		holds "... is right" grep -qE '^# wrong (elements|order) *: 0 OK$' "$tmp/out"
		says "... by MPI" "$tmp/out" "$n processes by MPI \\(.*\\), one rank each, on this host"
	done
	sizes="${sizes#* } ${sizes%% *}"
done
status "all types and operators" 0 ranks 3 "$ccrun" "$ring" --transport mpi -b 100 -e 40K -f 400 \
	--iters 1 -w 1 -d all -o all
says "... are right" "$tmp/out" '^# wrong elements *: 0 OK$'
status "one process" 0 ranks 1 "$ccrun" -n 1 "$ring" --transport mpi $quick
status "beside MPI's own" 0 ranks 2 "$ccrun" "$ring" --transport mpi --against mpi $quick
says "... is right" "$tmp/out" "^# \.\.\. of MPI's *: 0 OK$"
status "--json" 0 ranks 2 "$ccrun" "$ring" --transport mpi $quick --json
if "$build/tests/ccrun/report_test" json "$tmp/out" ranks=2 rows.0.out_of_place.wrong=0 \
	errors.#=0 status=0 >"$tmp/why"; then ok "... of rank 0 alone"; else
	not_ok "... of rank 0 alone" "$(cat "$tmp/why")"; fi
refused "another launcher than MPI's" 2 'torchrun made this rank 0 of 2, but .* is rank 0 of 1: start it with the mpirun' \
	env RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 CCS_JOB_TOKEN=mine "$ccrun" "$ring" \
	--transport mpi
for n in 2 4; do
	[ $n != 4 ] || ranks $n env CCS_MPI_PLUGIN="$plugin" "$build/tests/cpu/operators_test" \
		"$modules" --mpi || failed=1
	ranks $n env CCS_MPI_PLUGIN="$plugin" "$build/tests/ccrun/net_calls_test" "$modules" ||
		not_ok "calls, by $n processes" "it ended with another status than 0"
done
ranks 3 env HELD_MPI="$plugin" CCS_MPI_PLUGIN="$build/tests/fake_mpi/libheld_mpi.so" \
	"$build/tests/ccrun/net_held_test" "$modules" ${2-} ||
	not_ok "buffers of calls that failed" "it ended with another status than 0"
# A rank that stands still, and does not come to the end of MPI.
for more in "" "--against mpi"; do
	# shellcheck disable=SC2086
	status "a rank that stands still for good${more:+, $more}" 3 ranks 3 env HELD_STOPS=1 \
		HELD_MPI="$plugin" CCS_MPI_PLUGIN="$build/tests/fake_mpi/libheld_mpi.so" \
		"$ccrun" "$ring" --transport mpi --timeout 1 $quick --iters 1000 $more
	says "... is a failure" "$tmp/err" 'ccrun: rank [02]: no progress for 1000 ms: rank [02] waits '
	says "... after which MPI does not end" "$tmp/err" \
		'ccs: rank [02]: after a failure not all processes have reached the end of MPI within 1000 ms'
done
ranks 3 env CCS_MPI_PLUGIN="$plugin" "$build/tests/cpu/no_memory_test" "$modules" mpi ||
	not_ok "a rank without memory for its call" "it ended with another status than 0"
for n in 2 3 4; do
	ranks $n env CCS_MPI_PLUGIN="$plugin" "$build/tests/cpu/p2p_test" "$modules" mpi ||
		not_ok "messages, by $n processes" "it ended with another status than 0"
done
ranks 3 env CCS_MPI_PLUGIN="$plugin" "$build/tests/ccrun/net_threads_test" "$modules" ||
	not_ok "several threads, by 3 processes" "it ended with another status than 0"
for n in 2 3; do
	status "chunks by column and sized, by $n processes" 0 ranks $n env CCS_MPI_PLUGIN="$plugin" \
		"$build/tests/cpu/layouts_test" --mpi tests/cpu/layouts
done
ranks 3 env CCS_MPI_PLUGIN="$plugin" "$build/tests/cpu/mixed_calls_test" "$modules" tests/cpu/layouts \
	mpi $every || not_ok "calls of two sorts, by 3 processes" "it ended with another status than 0"
cat >"$tmp/overwrites.ccs" <<'EOS'
contract overwritten(inout x[C], inout y[C])
  ensures rank == 0: x[i] == x[i]@2
  ensures rank == 0: y[i] == sum(q in 0..3: x[i]@q)
schedule overwrites
  implements overwritten(inout x[1], inout y[1])
{
  if rank == 0 {
    step {
      send x[0] to 1
      recv y[0] from 1
    }
    reduce y[0] from 2
    recv x[0] from 2
  }
  if rank == 1 {
    reduce x[0] from 0
    send x[0] to 0
  }
  if rank == 2 {
    send x[0] to 0
    send x[0] to 0
  }
}
EOS
cat >"$tmp/touches.ccs" <<'EOS'
contract touched(inout x[3][C], inout y[3][C])
  ensures rank == 0: x[0][i] == x[0][i]@2
  ensures rank == 0: x[1][i] == x[1][i]@2
  ensures rank == 0: x[2][i] == x[2][i]@2
  ensures rank == 0: y[2][i] == y[2][i]@2
  ensures rank == 1: x[1][i] == sum(q in 0..2: x[1][i]@(2 * q))
  ensures rank == 1: x[2][i] == sum(q in 0..2: x[2][i]@(2 * q))
  ensures rank < 2: y[1][i] == sum(q in 0..2: y[1][i]@(2 * q))
  ensures rank == 1: y[2][i] == sum(q in 0..2: y[2][i]@(2 * q))
schedule touches
  implements touched(inout x[3][1], inout y[3][1])
{
  if rank == 0 {
    reduce x[1..3] from 2
    send x[1..3] to 1
    recv x[0..3] from 2
    reduce y[1..3] from 2
    send y[1..3] to 1
    recv y[2] from 2
  }
  if rank == 1 {
    recv x[1..3] from 0
    recv y[1..3] from 0
  }
  if rank == 2 {
    send x[1..3] to 0
    send x[0..3] to 0
    send y[1..3] to 0
    send y[2] to 0
  }
}
EOS
for name in overwrites touches; do
	"$build/bin/ccc" "$tmp/$name.ccs" -n 3 --target=cpu -o "$tmp/$name.so" &&
		ranks 3 env CCS_MPI_PLUGIN="$plugin" "$build/tests/ccrun/net_calls_test" $name \
			"$tmp/$name.so" ||
		not_ok "messages into cells: $name" "it ended with another status than 0"
done

# ---- two hosts -------------------------------------------------------------------------------
no_hosts() {
	echo "skip - ranks of two hosts: $1"
	exit $failed
}
case $options in "") no_hosts "this test tells Open MPI alone how" ;; esac
[ "$(id -u)" = 0 ] || no_hosts "only root can make network namespaces"
away() {
	drop_hosts
	rm -rf "$tmp"
}
trap away EXIT
make_hosts || no_hosts "no network namespaces: $(head -1 "$tmp/why")"
status "an mpirun over two hosts" 0 hosts 2 true
[ "$got" = 0 ] || exit $failed
for name in ring_allreduce direct_all_to_all halving_doubling_allreduce binomial_broadcast \
	dissemination_barrier; do
	status "$name of two hosts" 0 hosts 4 "$ccrun" "$modules/$name.so" --transport mpi \
		-b 100 -e 900K -f 95 --iters 1 -w 1
	holds "... is right" grep -qE '^# wrong (elements|order) *: 0 OK$' "$tmp/out"
	says "... on two hosts" "$tmp/out" 'one rank each, on 2 hosts'
done
status "two hosts without it" 2 hosts 2 "$ccrun" "$ring" $quick
says "... are told to" "$tmp/err" '; --transport mpi: ranks of several hosts\)$'
# Open MPI's mpirun takes --tune FILE for its own.
status "--tune of two hosts" 0 hosts 4 "$ccrun" --transport mpi -b 1M -e 1M --iters 2 --repeats 3 \
	--tune="$tmp/hosts.tuning" "$modules/one_shot_allreduce.so" "$modules/direct_allreduce.so" \
	"$modules/halving_doubling_allreduce.so"
says "... measures the engine" "$tmp/hosts.tuning" '^collective allreduce ranks 4 engine mpi$'
says "... says where" "$tmp/hosts.tuning" '^measured .*, one rank each, on 2 hosts; '
chosen=$(sed -n 's|^rest .*/\([a-z_]*_allreduce\)\.so .*|\1|p' "$tmp/hosts.tuning")
# Another may be faster by less than the noise, which the file names.
holds "... chooses the fastest, but for noise" awk -v chosen="/${chosen:-none}[.]so" '
	/^measured / { noise = $0; sub(/.*differences below /, "", noise); noise += 0 }
	$1 == "1M" { ok = $2 ~ chosen && $4 <= $7 * (1 + noise / 100) + 0.01 } END { exit !(ok && noise) }' \
	"$tmp/hosts.tuning"
status "--table of two hosts" 0 hosts 4 "$ccrun" --transport mpi -b 1M -e 1M --iters 2 \
	--table="$tmp/hosts.tuning" allreduce
says "... runs what was chosen" "$tmp/out" "  $chosen, (auto|[0-9]+K)\$"
says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
status "beside MPI's own of two hosts" 0 hosts 4 "$ccrun" "$modules/direct_allreduce.so" --transport mpi --against mpi \
	-b 1M -e 4M --iters 5 -w 1 --repeats 3
awk '$1 ~ /^[0-9]+$/ { print "# " $1 " bytes: MPI takes " $14 " times as long, in place " $23 }' \
	"$tmp/out"
exit $failed
