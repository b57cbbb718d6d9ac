#!/bin/sh
# Tunings: ccrun --tune writes one, --table runs by it, --explain-choice says why; by tasks,
# processes, MPI and GPUs; edited ones, wrong ones, and a rank that has another.
# usage: tune_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
ccrun=$build/bin/ccrun
modules=$build/tests/modules
bare_environment
mkdir "$tmp/m" "$tmp/t"
tmp=$(cd "$tmp" && pwd -P)
for name in ring_allreduce recursive_doubling_allreduce ring_allgather dissemination_barrier \
	binomial_broadcast; do
	cp "$modules/$name.so" "$tmp/m"
done
ring=$tmp/m/ring_allreduce.so
doubling=$tmp/m/recursive_doubling_allreduce.so
table=$tmp/t/host.tuning
quick="-b 64 -e 1M -f 128 --repeats 3 --iters 3"
# is WHAT FILE: it has just the text of stdin
is() {
	cat >"$tmp/wanted"
	if cmp -s "$tmp/wanted" "$2"; then ok "$1"; else
		not_ok "$1" "$(diff "$tmp/wanted" "$2")"
	fi
}

# ---- measuring --------------------------------------------------------------------------
"$build/bin/ccc" schedules/ring_allreduce.ccs -n 5 --target=cpu -o "$tmp/m/five.so"
status "--tune" 0 "$ccrun" -n 2 --tune "$table" $quick "$ring" "$tmp/m/five.so" "$doubling"
says "... says what has no plan" "$tmp/err" "five.so has no plan for 2 ranks and is left out"
for size in 64 8192 1048576; do
	says "... tells of size $size" "$tmp/err" "^ccrun: size $size: .*\.so, [a-z0-9K]*: [0-9.]+ us; the best of [0-9]+"
done
says "... and explains it" "$tmp/out" '^  up to 8K: .* tile .* us; next best '
holds "... begins with format and version" test "$(head -n 1 "$table")" = "ccs-tuning 1"
says "... has the section" "$table" '^collective allreduce ranks 2 engine tasks$'
says "... says how it was measured" "$table" '^measured float32 sum, out of place; 2 ranks on the CPU.* medians of 3 means'
says "... names modules from its folder" "$table" \
	'^64  +\.\./m/(ring|recursive_doubling)_allreduce\.so +auto +[0-9]+\.[0-9][0-9]  \.\./m/'
says "... has the rest" "$table" '^rest  +\.\./m/[a-z_]*\.so +(auto|[0-9]+K)$'
holds "... and a row for each size" test "$(grep -c '^[0-9r]' "$table")" = 4
cd "$tmp/t" || exit 1
status "--table" 0 "$ccrun" -n 2 --table host.tuning $quick
cd - >/dev/null || exit 1
says "... runs by it" "$tmp/out" "^# host.tuning: allreduce, 2 ranks on the CPU"
says "... says what ran" "$tmp/out" '  (ring|recursive_doubling)_allreduce, (auto|[0-9]+K)$'
says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'

# A folder whose name begins like that of the modules.
mkdir "$tmp/m_too"
status "--tune in a folder whose name begins with that of another" 0 "$ccrun" -n 2 \
	--tune "$tmp/m_too/a.tuning" -b 64 -e 64 --repeats 1 --iters 1 "$ring"
says "... names modules from its own" "$tmp/m_too/a.tuning" '^64  +\.\./m/ring_allreduce\.so +auto'
cp "$ring" "$tmp/m_too/ring.so"
status "... and where the modules' begins with its own" 0 "$ccrun" -n 2 \
	--tune "$tmp/m/a.tuning" -b 64 -e 64 --repeats 1 --iters 1 "$tmp/m_too/ring.so"
says "... as well" "$tmp/m/a.tuning" '^64  +\.\./m_too/ring\.so +auto'
rm -r "$tmp/m_too" "$tmp/m/a.tuning"

# What is there stays.
cat >"$table" <<EOT
ccs-tuning 1
# mine

collective allreduce ranks 2 engine tasks
64K "../m/no such.so" 8K
rest ../m/no.so auto
# of three, by hand
collective allreduce ranks 3 engine tasks
rest ../m/ring_allreduce.so   auto   # as ever
EOT
status "--tune where there is one" 0 "$ccrun" -n 2 --tune "$table" $quick -e 64 "$ring"
grep -v '^measured' "$table" | sed 's/  *[0-9]*\.[0-9][0-9]$/ TIME/' >"$tmp/text"
is "... renews the section, and keeps all else" "$tmp/text" <<EOT
ccs-tuning 1
# mine

collective allreduce ranks 2 engine tasks
# up to   module                  tile              us  next best  tile              us
64        ../m/ring_allreduce.so  auto TIME
rest      ../m/ring_allreduce.so  auto
# of three, by hand
collective allreduce ranks 3 engine tasks
rest ../m/ring_allreduce.so   auto   # as ever
EOT

# What others write while it measures stays, too: a line of mine, and another --tune's section.
late=$tmp/t/late.tuning
printf 'ccs-tuning 1\n' >"$late"
(status "--tune of a file that changes" 0 "$ccrun" -n 3 --tune "$late" -b 64 -e 1M -f 2 "$ring") \
	>"$tmp/said" &
for _ in 1 2 3 4 5 6 7 8 9 10; do grep -q 'size 64:' "$tmp/err" && break; sleep 0.05; done
echo '# mine, written meanwhile' >>"$late"
"$ccrun" -n 2 --tune "$late" -b 64 -e 64 "$ring" >/dev/null 2>"$tmp/err2"
wait
cat "$tmp/said"
says "... keeps what was written meanwhile" "$late" '^# mine, written meanwhile$'
holds "... and all sections" test "$(grep -c '^collective allreduce ranks [23] ' "$late")" = 2
for _ in 1 2 3 4 5 6; do
	rm -f "$late"
	for n in 2 3 4; do
		"$ccrun" -n $n --tune "$late" -b 64 -e 64 --repeats 1 --iters 1 "$ring" \
			>/dev/null 2>&1 &
	done
	wait
	grep -c '^collective' "$late"
done >"$tmp/sections"
holds "several at once all write" test "$(tr '\n' ' ' <"$tmp/sections")" = "3 3 3 3 3 3 "

status "--tune of a barrier" 0 "$ccrun" -n 2 --tune "$table" "$tmp/m/dissemination_barrier.so"
says "... has one row, and its time" "$table" '^rest  +\.\./m/dissemination_barrier\.so +auto +[0-9.]+$'
status "... runs" 0 "$ccrun" -n 2 --table "$table" barrier
says "... in order" "$tmp/out" '^# wrong order *: 0 OK$'
status "--tune with a root" 0 "$ccrun" -n 3 --tune "$table" -r 2 $quick -e 64 "$tmp/m/binomial_broadcast.so"
says "... says so" "$table" '^measured float32, out of place, root 2; '
status "... runs for any" 0 "$ccrun" -n 3 --table "$table" broadcast -r all $quick
ln -s t/host.tuning "$tmp/link"
status "--tune by a link" 0 "$ccrun" -n 4 --tune "$tmp/link" $quick -e 64 "$ring"
holds "... which stays one" test -L "$tmp/link"
status "... and is followed to the modules" 0 "$ccrun" -n 4 --table "$tmp/link" $quick -e 64
ln -s t/nothing "$tmp/to-nothing"
status "... to nothing" 2 "$ccrun" -n 4 --tune "$tmp/to-nothing" $quick -e 64 "$ring"
says "... is refused before anything is measured" "$tmp/err" 'tune: .*/to-nothing is a link to a file that is not there'
says "... to the file that is renewed" "$table" '^collective allreduce ranks 4 engine tasks$'

# ---- running by one ---------------------------------------------------------------------
cat >"$table" <<EOT
ccs-tuning 1
collective allreduce ranks 4 engine tasks
measured by hand on nothing
1K   ../m/recursive_doubling_allreduce.so auto 10   ../m/ring_allreduce.so 8K 12.5
64K  ../m/ring_allreduce.so 8K 20 ../m/recursive_doubling_allreduce.so auto 19
1M   ../m/ring_allreduce.so 64K
rest $ring 64K
collective allgather ranks 4 engine tasks
rest ../m/ring_allgather.so auto
collective allgather ranks 4 engine procs
rest ../m/ring_allgather.so 16K
EOT
status "--table, edited" 0 "$ccrun" -n 4 --table "$table" allreduce --json -b 1K -e 2M -f 64 -d float32,int8 \
	-o sum,premul --iters 3
json "... chooses by size" 'rows.0.schedule="recursive_doubling_allreduce"' 'rows.0.options="auto"' \
	'rows.1.schedule="ring_allreduce"' 'rows.1.options="8K"' rows.0.size_bytes=1024 \
	rows.1.size_bytes=65536 rows.#=8 status=0 "table=~host.tuning" schedule=null \
	module=null 'contract="allreduce"' rows.7.out_of_place.wrong=0
json "... for all types and operators" 'rows.2.schedule="recursive_doubling_allreduce"' \
	'rows.3.schedule="ring_allreduce"' 'rows.6.options="auto"' rows.7.in_place.wrong=0
status "--table --csv" 0 "$ccrun" -n 4 --table "$table" allreduce --csv -b 1K -e 64K -f 64 --iters 3
csv "... has the columns" 1 schedule=recursive_doubling_allreduce options=auto
csv "... in each line" 3 schedule=ring_allreduce options=8K
# wrong_table WHAT PATTERN ARGUMENTS...
wrong_table() {
	pattern=$2
	status "$1" 2 "$ccrun" --table "$table" -n 4 $3
	says "... says so" "$tmp/err" "$pattern"
	holds "... and prints nothing" test ! -s "$tmp/out"
}
wrong_table "a table of several collectives" \
	'has several collectives for 4 ranks by tasks: name one after the options: allreduce, allgather$' ""
wrong_table "a collective that it has not" \
	'has nothing for scatter of 4 ranks by tasks; it has allreduce of 4 ranks by tasks, allgather' scatter
wrong_table "ranks that it has not" 'has nothing for 3 ranks by tasks: ccrun --explain-choice' "-n 3"
wrong_table "an engine that it has not" 'nothing for allreduce of 4 ranks by procs; it has allreduce of 4 ranks by tasks \(' \
	"--procs allreduce"
wrong_table "two collectives" "at most a collective's name, such as allreduce, not 'scatter'" "gather scatter"

# ---- why --------------------------------------------------------------------------------
status "--explain-choice" 0 "$ccrun" --explain-choice "$table"
sed 's/processor, .*: ccrun/processor, X: ccrun/' "$tmp/out" >"$tmp/text"
is "... says what runs for each size, and why" "$tmp/text" <<EOT
allreduce of 4 ranks by tasks
  measured: by hand on nothing
  this machine has a different processor, X: ccrun --tune measures it
  up to 1K: recursive_doubling_allreduce (recursive_doubling_allreduce.so), tile auto: 10.00 us; next best ring_allreduce (ring_allreduce.so), tile 8K: 12.50 us, 25.0 % slower
  up to 64K: ring_allreduce (ring_allreduce.so), tile 8K: 20.00 us; next best recursive_doubling_allreduce (recursive_doubling_allreduce.so), tile auto: 19.00 us, 5.0 % faster
  up to 1M: ring_allreduce (ring_allreduce.so), tile 64K: not measured
  rest: ring_allreduce (ring_allreduce.so), tile 64K, as for all sizes beyond the previous rows: not measured
allgather of 4 ranks by tasks
  measured: not stated how
  rest: ring_allgather (ring_allgather.so), tile auto: not measured
allgather of 4 ranks by procs
  measured: not stated how
  rest: ring_allgather (ring_allgather.so), tile 16K: not measured
A call uses the first row whose size is not below its own, so a size between two measured
sizes uses the row of the larger one.
EOT
status "... of some sizes" 0 "$ccrun" --explain-choice "$table" -n 4 allreduce -b 1000 -e 4000000 -f 4000
grep '^  [14]' "$tmp/out" >"$tmp/text"
is "... and only these" "$tmp/text" <<EOT
  1000: recursive_doubling_allreduce (recursive_doubling_allreduce.so), tile auto, by the row up to 1K: 10.00 us; next best ring_allreduce (ring_allreduce.so), tile 8K: 12.50 us, 25.0 % slower
  4000000: ring_allreduce (ring_allreduce.so), tile 64K, as for all sizes beyond the previous rows: not measured
EOT
status "... of ranks that it has not" 2 "$ccrun" --explain-choice "$table" -n 9
says "... is said" "$tmp/err" 'has nothing for that number of ranks$'
status "... of a collective that it has not" 2 "$ccrun" --explain-choice "$table" gather
says "... is said" "$tmp/err" 'has nothing for gather$'

# ---- mistakes ---------------------------------------------------------------------------
# broken PATTERN LINES: both commands say what is wrong with such a table, and where
broken() {
	printf '%b' "$2" >"$tmp/t/broken"
	for what in "--table $tmp/t/broken -n 4" "--explain-choice $tmp/t/broken"; do
		status "${what%% *}: $1" 2 "$ccrun" $what
		says "... with the line" "$tmp/err" "t/broken:$1"
	done
}
head="ccs-tuning 1\ncollective allreduce ranks 4 engine tasks\n"
broken '3: .*no\.so cannot be read' "${head}rest no.so auto\n"
broken "3: '9Z': a row begins with a size" "${head}9Z no.so auto\n"
broken '3: ring_allgather implements allgather, not allreduce' "${head}rest ../m/ring_allgather.so auto\n"
broken '3: ring_allreduce has no plan for 4 ranks' "${head}rest ../m/five.so auto\n"
broken '1: this is not a tuning' 'schedule x\n'
# mistake TEXT ARGUMENTS...
mistake() {
	text=$1
	shift
	status "ccrun $*" 2 "$ccrun" "$@"
	says "... says: $text" "$tmp/err" "$text"
}
new=$tmp/t/new
mistake 'no module given' -n 2 --tune "$new"
mistake 'give only one of' -n 2 --tune "$new" --table "$table" "$ring"
mistake 'writes its result to FILE' -n 2 --tune "$new" --json "$ring"
mistake 'leave out --against' -n 2 --tune "$new" --against mpi "$ring"
mistake 'one element type, one operator' -n 2 --tune "$new" -d all "$ring"
mistake 'one element type, one operator' -n 2 --tune "$new" -o sum,max "$ring"
mistake '-n is missing' --tune "$new" "$ring"
mistake '-n is missing' --table "$table"
mistake 'no plan for 99 ranks' -n 99 --tune "$new" "$ring"
mistake 'ring_allgather.so implements allgather, and .*ring_allreduce.so allreduce: --tune' \
	-n 2 --tune "$new" "$ring" "$tmp/m/ring_allgather.so"
mistake 'has one element per block' -n 2 --tune "$new" -b 1 -e 2 "$ring"
mistake 'runs nothing: leave out --table' --explain-choice "$table" --json
mistake 'cannot be written: No such file' -n 2 --tune "$tmp/no/new" "$ring"
mistake 'ring_allreduce.so is not a tuning: it has a byte 0' -n 2 --tune "$ring" "$doubling"
holds "... and stays a module" cmp -s "$ring" "$modules/ring_allreduce.so"
printf '%b' "${head}" >"$tmp/t/broken"
mistake 't/broken:2: the section has no rows' -n 2 --tune "$tmp/t/broken" "$ring"
"$build/bin/ccc" schedules/direct_allreduce.ccs -n 4 --target=cpu -o "$tmp/four.so"
"$build/tests/plan/prove_test" spoil "$tmp/four.so" "$tmp/spoilt.so"
status "a module that computes something else" 3 "$ccrun" -n 4 --tune "$new" -b 1 -e 1 -d int8 \
	"$ring" "$tmp/spoilt.so"
says "... is named" "$tmp/err" 'spoilt.so, auto, size 1: [0-9]+ wrong: rank '
holds "... and nothing was written" test ! -e "$new"

# ---- processes --------------------------------------------------------------------------
status "--tune of processes" 0 "$ccrun" --procs -n 2 --tune "$table" $quick -e 8K "$ring" "$doubling"
holds "... is explained once" test "$(grep -c '^allreduce of 2 ranks by procs' "$tmp/out")" = 1
says "... has its section" "$table" '^collective allreduce ranks 2 engine procs$'
says "... beside the others" "$table" '^collective allreduce ranks 4 engine tasks$'
status "... runs" 0 "$ccrun" --procs -n 2 --table "$table" allreduce $quick
says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
# one HOW: a table for two processes, of that tile
one() {
	for engine in procs mpi; do
		printf 'ccs-tuning 1\ncollective allreduce ranks 2 engine %s\nrest ../m/ring_allreduce.so %s\n' \
			$engine "$1" >"$tmp/t/$1.$engine"
	done
}
one 8K
one 16K
new_port
for r in 0 1; do
	(
		by_torchrun $r
		[ $r = 0 ] && own=8K || own=16K
		timeout 60 "$ccrun" --table "$tmp/t/$own.procs" $quick >"$tmp/out$r" 2>"$tmp/err$r"
		echo $? >"$tmp/rc$r"
	) &
done
wait
holds "a process with another table is found" test "$(cat "$tmp/rc0" "$tmp/rc1" | tr '\n' ' ')" = "2 2 "
for r in 0 1; do
	says "... and told to rank $r" "$tmp/err$r" \
		"calls differ: .*, tile (8192; .*, tile 16384|16384; .*, tile 8192)"
done

# ---- MPI --------------------------------------------------------------------------------
if [ -e "$build/lib/libccs_mpi.so" ] && command -v mpirun >/dev/null 2>&1; then
	case $(mpirun --version 2>&1) in
	*"Open MPI"* | *OpenRTE*) options="--allow-run-as-root --oversubscribe" ;;
	*) options= ;;
	esac
	# shellcheck disable=SC2086
	ranks() { timeout 120 mpirun $options "$@"; }
	status "--tune of processes by MPI" 0 ranks -np 2 "$ccrun" --transport mpi --tune="$table" \
		$quick -e 8K "$ring"
	says "... has its section" "$table" '^collective allreduce ranks 2 engine mpi$'
	status "... runs" 0 ranks -np 2 "$ccrun" --transport mpi --table "$table" allreduce $quick
	says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
	ranks -np 1 "$ccrun" --transport mpi --table "$tmp/t/8K.mpi" $quick : \
		-np 1 "$ccrun" --transport mpi --table "$tmp/t/16K.mpi" $quick >"$tmp/out" 2>"$tmp/err" </dev/null
	holds "a process with another table is found" test $? = 2
	says "... and told" "$tmp/err" 'calls differ: .*, tile (8192|16384)'
else
	echo "skip - tunings of processes by MPI: there is no mpirun, or no plug-in (no mpicc)"
fi

# ---- the one that comes with ccs -------------------------------------------------------------
collectives="allreduce allgather reduce_scatter broadcast reduce all_to_all gather scatter barrier"
status "--explain-choice default" 0 "$ccrun" --explain-choice default
for c in $collectives; do
	for engine in tasks procs; do
		holds "... has $c by $engine, for 2, 3..5 and 6..16 ranks" test \
			"$(grep -cE "^$c of (2|3\.\.5|6\.\.16) ranks by $engine\$" "$tmp/out")" = 3
	done
done
holds "... says of each how it was measured" test "$(grep -c '^  measured: ' "$tmp/out")" = 54
status "... of one number of ranks" 0 "$ccrun" --explain-choice default -n 4 -b 3K -e 3K allreduce
says "... by the lines that are for it" "$tmp/out" '^allreduce of 3\.\.5 ranks by procs$'
says "... and why" "$tmp/out" \
	'^  3K: [a-z_]+allreduce \(.*\.so\), tile [a-zA-Z0-9]+, by the row up to 16K: [0-9.]+ us; next best '
# Each collective once, by turns on as few and as many ranks as lines are for.
at="2 3 5 6 16"
for c in $collectives; do
	status "--table default, $c of ${at%% *} ranks" 0 "$ccrun" -n "${at%% *}" --table default "$c" \
		-b 64 -e 1M -f 128 --iters 1 -w 0
	says "... is right" "$tmp/out" '^# wrong (elements|order) *: 0 OK$'
	at="${at#* } ${at%% *}"
done
status "... of 2 processes" 0 "$ccrun" -n 2 --procs --table default all_to_all $quick
says "... says what ran" "$tmp/out" '  [a-z]+_all_to_all, [a-zA-Z0-9]+$'
status "... of more ranks than it is for" 2 "$ccrun" -n 17 --table default allreduce
says "... says for which it is" "$tmp/err" \
	'nothing for allreduce of 17 ranks by tasks; it has allreduce of 2 ranks by tasks, allreduce of 3\.\.5 '
status "a collective in the place of a module" 2 "$ccrun" -n 4 all_to_all
says "... is told what comes with ccs" "$tmp/err" \
	'^ccrun: all_to_all cannot be read: .* \(ccrun -n 4 --table default all_to_all runs the tuning that comes with ccs\)$'
status "... but not one that does not" 2 "$ccrun" -n 4 halo
holds "... which is no file" grep -qE '^ccrun: halo cannot be read: [^(]*$' "$tmp/err"
status "--tune default" 2 "$ccrun" -n 2 --tune default "$ring"
says "... is another file's name" "$tmp/err" 'a file of that name is \./default$'
cp "$(readlink -f "$ccrun")" "$tmp/m/alone"
if [ -e /usr/local/lib/ccs/default.tuning ]; then
	echo "skip - a ccrun without its library: another one is installed"
else
	status "a ccrun without its library" 2 "$tmp/m/alone" -n 2 --table default allreduce
	says "... says where it looked" "$tmp/err" \
		'the tuning that comes with ccs is neither .*/m/ccs/default\.tuning nor .*\(make builds it'
fi

# Measuring one number of ranks leaves the others as they are.
printf 'ccs-tuning 1\ncollective allreduce ranks 2..4 engine tasks\nrest ../m/ring_allreduce.so 4K\n' >"$tmp/t/several"
status "--tune beside lines for several" 0 "$ccrun" -n 3 --tune "$tmp/t/several" -b 64 -e 64 --iters 1 \
	--repeats 1 "$doubling"
status "... and run them" 0 "$ccrun" -n 4 --table "$tmp/t/several" -b 64 -e 64 --iters 1
says "... for the others" "$tmp/out" ' ring_allreduce, 4K$'
status "... and what is new" 0 "$ccrun" -n 3 --table "$tmp/t/several" -b 64 -e 64 --iters 1
says "... for the one" "$tmp/out" ' recursive_doubling_allreduce, auto$'

# ---- GPUs ---------------------------------------------------------------------------------
fake=$build/tests/fake_cuda
export CCS_CACHE_DIR= CCS_NVRTC="$fake/libnvrtc.so"
gpu() { FAKE_CUDA_GPUS=2 LD_LIBRARY_PATH=$fake timeout 120 "$@"; }
cp "$build/tests/cuda_modules/ring_allreduce.so" "$tmp/m/gpu.so"
cat >"$tmp/t/gpu" <<EOT
ccs-tuning 1
collective allreduce ranks 4 engine cuda
64   ../m/gpu.so ll/2
4K   ../m/gpu.so simple/1
rest ../m/gpu.so simple/3
EOT
FAKE_CUDA_LOG=$tmp/log status "--table on GPUs" 0 gpu "$ccrun" -n 4 --device cuda --table "$tmp/t/gpu" -b 64 \
	-e 1M -f 128 --iters 1 --repeats 1 --json
json "... takes its protocol" 'rows.0.options="ll/2"' 'rows.1.options="simple/3"' \
	'rows.2.options="simple/3"' rows.2.out_of_place.wrong=0
says "... and so does the launch: LL" "$tmp/log" '^launch .* replicas 2 .* protocol 1'
says "... Simple" "$tmp/log" '^launch .* replicas 3 .* protocol 0'
status "--tune on GPUs" 0 gpu "$ccrun" -n 4 --device cuda --tune "$tmp/t/gpu" -b 64 -e 64 --iters 1 \
	--repeats 1 "$tmp/m/gpu.so"
says "... measures protocols and channels" "$tmp/err" 'size 64: .*, (auto|ll|ll/4|simple|simple/[28]): .* the best of 6, '
says "... has its section" "$tmp/t/gpu" '^measured float32 sum, out of place; 4 ranks on 2 GPUs'

cp "$tmp/t/gpu" "$tmp/t/before"
FAKE_CUDA_FAIL=cuLaunchCooperativeKernel:30:999 status "a launch that fails among them" 4 gpu "$ccrun" -n 2 \
	--device cuda --tune "$tmp/t/gpu" -b 64 -e 128 -f 2 --iters 2 --repeats 2 "$tmp/m/gpu.so"
says "... is told with what was tried" "$tmp/err" \
	'^ccrun: .*/gpu\.so, (ll|simple)/[248]: .* cuLaunchCooperativeKernel failed'
holds "... and what was there stays" cmp "$tmp/t/before" "$tmp/t/gpu"

exit $failed
