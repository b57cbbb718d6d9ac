#!/bin/sh
# Ranks that are processes of this machine, compared with MPI's own collectives: the same buffers, in
# turn, medians; `ratio` is MPI's time over ours. Then programs of MPI's with libccs-mpi.so
# preloaded, under this MPI and the ones that tests/deps.sh has fetched: a loop of ours where that is an
# Open MPI, and Intel's IMB-MPI1 where it is an MPICH.
# And ranks of two hosts, by MPI's messages, where this machine lets us make some; the packets are
# moved by the kernel on the ranks' cores, so other load on the machine spoils these figures.
# usage: mpi.sh BUILD [PART...]    tables, program, others, crowded, hosts, tasks; without: all
set -u
build=${1:-build}
[ $# = 0 ] || shift
parts=${*:-tables program others crowded hosts tasks}
if ! command -v mpirun >/dev/null 2>&1 || [ ! -e "$build/lib/libccs_mpi.so" ]; then
	echo "comparison with MPI: left out: no mpirun, or no plug-in for its MPI (make says why)"
	exit 0
fi
tmp=$(mktemp -d) || exit 1
. tests/support/two_hosts.sh
trap 'drop_hosts; rm -rf "$tmp"' EXIT
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
tables() {
	for schedule in $best recursive_doubling_allreduce one_shot_allreduce; do
		table 2 "$schedule"
	done
}

# The best of them at each size, for 2 ranks.
best="direct_allreduce direct_allgather pairwise_reduce_scatter binomial_broadcast pairwise_all_to_all"
compile_best() {
	of=$tmp/best
	mkdir "$of"
	for schedule in $best recursive_doubling_allreduce; do
		"$build/bin/ccc" "schedules/$schedule.ccs" -n 2 --target=cpu -o "$of/$schedule.so" || return
	done
	modules=allreduce:$of/recursive_doubling_allreduce.so@-2K,allreduce:$of/direct_allreduce.so
	modules=$modules,allgather:$of/direct_allgather.so,alltoall:$of/pairwise_all_to_all.so
	modules=$modules,broadcast:$of/binomial_broadcast.so
	modules=$modules,reduce_scatter_block:$of/pairwise_reduce_scatter.so
}

# loop LIBRARY PROGRAM COMMAND...: by mpirun and its options.
loop() {
	library=$PWD/$1 program=$2
	shift 2
	echo
	echo "# 2 processes of a program of MPI's, with libccs-mpi.so: $("$1" --version | head -1)"
	"$@" -np 2 env LD_PRELOAD="$library" CCS_MPI="$modules" "$program" 8 16777216 21 32 2>&1
}

# imb MPICH [VARIABLE=VALUE...]: IMB-MPI1's lines of each benchmark and size: name, bytes, mean us.
imb() {
	mpich=$1
	shift
	"$mpich/bin/mpirun" -np 2 env LD_LIBRARY_PATH="$mpich/lib" CCS_MPI_REPORT=0 "$@" "$imb" \
		-npmin 2 -msglog 2:24 -time 0.2 -iter_policy dynamic \
		allreduce bcast allgather alltoall reduce_scatter_block 2>&1 |
		awk '/^# Benchmarking/ { name = $3 }
			$1 ~ /^[0-9]+$/ && $1 > 0 && NF == 5 { print name, $1, $5 }'
}
# beside_imb MPICH LIBRARY: three runs of each, in turn; of those the medians.
beside_imb() {
	echo
	echo "# IMB-MPI1 under $("$1/bin/mpirun" --version | sed -n 's/^ *Version: */MPICH /p'), 2" \
		"processes: with libccs-mpi.so, and without"
	printf '%-22s %9s %10s %10s %7s\n' '# mean us' bytes ours "MPI's" ratio
	for _ in 1 2 3; do
		imb "$1" LD_PRELOAD="$2" CCS_MPI="$modules" | sed 's/^/ours /'
		imb "$1" | sed "s/^/theirs /"
	done >"$tmp/imb"
	sort -k2,2 -k3,3n -k1,1 -k4,4n "$tmp/imb" | awk '
		{ n = ++seen[$1, $2, $3] }
		n == 2 { at[$1] = $4 }
		n == 2 && $1 == "theirs" && at["ours"] > 0 {
			printf "%-22s %9d %10.2f %10.2f %7.2f\n", $2, $3, at["ours"], $4, $4 / at["ours"] }'
}
# Each MPI that was fetched.
imb=$PWD/build/wheels/impi/bin/IMB-MPI1
others() {
	for name in mpich mpich402 mpich5 openmpi5; do
		of=$build/tests/mpis/$name mpi=$PWD/build/wheels/$name
		if [ ! -e "$of/libccs-mpi.so" ]; then
			echo "# $name: left out: not in build/wheels (make deps), or libccs-mpi.so not made for it"
		elif [ "$name" = openmpi5 ]; then
			loop "$of/libccs-mpi.so" "$of/mpi_loop" "$mpi/bin/mpirun" --allow-run-as-root --oversubscribe
		elif [ -x "$imb" ]; then
			beside_imb "$mpi" "$PWD/$of/libccs-mpi.so"
		else
			echo "# $name: left out: no IMB-MPI1 in build/wheels (make deps)"
		fi
	done
}

# Two ranks on each of two hosts. What a user would have is the best of several schedules: for each
# collective the schedules that fit, and `*` at the one whose ratio is best, for each size and place. A ratio
# compares calls made in turn; the times of two schedules are taken one after the other, and compare less well.
# candidates COLLECTIVE SCHEDULE[:PARAMETER=VALUE]...
candidates() {
	collective=$1
	shift
	for schedule; do
		of=
		case $schedule in *:*) of="-D ${schedule#*:}" ;; esac
		# shellcheck disable=SC2086
		"$build/bin/ccc" "schedules/${schedule%%:*}.ccs" -n 4 $of --target=cpu -o "$tmp/of_hosts.so" ||
			continue
		hosts 4 env CCS_MPI_PLUGIN="$CCS_MPI_PLUGIN" "$PWD/$build/bin/ccrun" "$tmp/of_hosts.so" \
			--transport mpi --against mpi -b 1M -e 16M -f 4 --iters 5 -w 1 --repeats 7 2>&1 |
			awk -v of="$collective $schedule" '/^ccrun:/ { print }
				$1 ~ /^[0-9]+$/ { print "row", of, $1, $14, $23 }'
	done
}
mark_best() {
	awk '$1 != "row" { print; next }
		{ row[++n] = $0 }
		$5 > out[$2, $4] { out[$2, $4] = $5 }
		$6 > in_place[$2, $4] { in_place[$2, $4] = $6 }
		function least_of(best, what) {
			for (i in best)
				if (least == "" || best[i] < least) {
					split(i, of, SUBSEP)
					least = best[i]
					where = of[1] ", " of[2] " bytes, " what
				}
		}
		END {
			for (i = 1; i <= n; i++) {
				split(row[i], f, " ")
				printf "%-15s %-28s %10d %12.2f%s %9.2f%s\n", f[2], f[3], f[4], f[5],
					f[5] == out[f[2], f[4]] ? "*" : " ", f[6],
					f[6] == in_place[f[2], f[4]] ? "*" : " "
			}
			least_of(out, "out of place")
			least_of(in_place, "in place")
			if (n)
				print "# least of the best: " least ", " where
		}'
}
between_hosts() {
	echo
	options=${mpirun#mpirun}
	case $options in "") echo "# two hosts: left out: this script can start them by Open MPI alone"; return ;; esac
	if ! make_hosts; then
		echo "# two hosts: left out: $(head -1 "$tmp/why")"
		return
	fi
	echo "# 2 + 2 ranks of two hosts, by MPI's messages: MPI's time over ours; *: the best"
	printf '%-15s %-28s %10s %13s %10s\n' '# collective' schedule bytes 'out of place ' 'in place '
	{
		candidates allreduce direct_allreduce ring_allreduce halving_doubling_allreduce \
			hierarchical_allreduce:G=2 bine_allreduce
		candidates allgather direct_allgather ring_allgather bine_allgather
		candidates reduce_scatter ring_reduce_scatter bine_reduce_scatter pat_reduce_scatter
		candidates all_to_all direct_all_to_all pairwise_all_to_all
		candidates broadcast binomial_broadcast chain_broadcast bine_broadcast \
			hierarchical_broadcast:G=2
		candidates reduce binomial_reduce chain_reduce
	} | mark_best
}

# Ranks as tasks of one process, on the cores that MPI's processes have; by the best of the schedules.
tasks() {
	set -- "$build"/bench/cpu/*_allreduce.so
	names=$(for module; do basename "$module" .so; done | tr '\n' ' ')
	echo
	echo "# 8 ranks, allreduce, us: MPI's processes, and tasks by the best of $names"
	printf '%10s %10s %10s %7s\n' bytes MPI tasks ratio
	"$build/bench/cpu_bench" -n 8 "$@" | awk -v names="$names" 'NR > 2 {
			split(names, name)
			best = 3
			for (i = 5; i < NF; i += 2)
				if ($i < $best)
					best = i
			print $1, $best, name[(best - 1) / 2] }' | while read -r bytes ours by; do
		$mpirun -np 8 "$build/bench/mpi_loop" "$bytes" "$bytes" 21 2>&1 </dev/null |
			awk -v bytes="$bytes" -v ours="$ours" -v by="$by" '$1 == "allreduce" {
				printf "%10d %10.2f %10.2f %7.1f  %s\n", bytes, $4, ours, $4 / ours, by }'
	done
}

compile_best || exit
# shellcheck disable=SC2086 # mpirun's options
for part in $parts; do
	case $part in
	tables) tables ;;
	program) loop "$build/lib/libccs-mpi.so" "$build/bench/mpi_loop" $mpirun ;;
	others) others ;;
	crowded) table 8 recursive_doubling_allreduce && table 8 direct_allreduce ;;
	hosts) between_hosts ;;
	tasks) tasks ;;
	*) echo "mpi.sh: there is no part '$part'" >&2 && exit 2 ;;
	esac
done
