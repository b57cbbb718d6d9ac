#!/bin/sh
# libccs-mpi.so, preloaded into a program of MPI's (preload_prog.c): the same results as MPI's,
# what the report says of each call, mistakes in CCS_MPI, and failures.
# usage: preload_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
library=$build/lib/libccs-mpi.so
program=$build/tests/ccrun/preload_prog
m=$build/tests/modules
. tests/ccrun/preload_lib.sh
bare_environment

if [ ! -e "$library" ]; then
	echo "skip - programs of MPI's: libccs-mpi.so was not built (there is no mpicc)"
	exit $failed
fi
if ! command -v mpirun >/dev/null 2>&1; then
	echo "skip - programs of MPI's: there is no mpirun"
	exit $failed
fi
# Those that are left when one is killed stay for a while, to say what they were told; those that
# have all said what they had to need not: mpirun would wait a second for each such job.
case $(mpirun --version 2>&1) in
*"Open MPI"* | *OpenRTE*)
	options="--allow-run-as-root --oversubscribe"
	patient="$options --mca odls_base_sigkill_timeout 3"
	hasty="$options --mca odls_base_sigkill_timeout 0"
	;;
*) options='' patient=-disable-auto-cleanup hasty='' ;;
esac

# prog N CCS_MPI WHAT [VARIABLE=VALUE...]
prog() {
	n=$1 modules=$2 scenario=$3
	shift 3
	# shellcheck disable=SC2086
	timeout 120 mpirun $options -np "$n" env LD_PRELOAD="$library" CCS_MPI="$modules" "$@" \
		"$program" "$scenario"
}
report() { # report WHAT LINE: the report has that line, once
	says "$1" "$tmp/err" "^libccs-mpi: $2\$"
	holds "... once" test "$(grep -cE "^libccs-mpi: $2\$" "$tmp/err")" = 1
}
lines() { grep -c '^libccs-mpi: ' "$tmp/err"; }

# ---- the same results ----------------------------------------------------------------------
for n in 2 3; do
	status "every collective of $n processes is as MPI's" 0 prog $n "$all" every
	for c in $collectives; do
		says "... $c was taken" "$tmp/err" "^libccs-mpi: $c: [1-9][0-9]* calls by .*\.so\)$"
	done
done
status "types with holes, beside others on other ranks" 0 prog 3 "$all" derived
holds "... were all taken" test "$(grep -c 'by MPI' "$tmp/err")" = 0
report "... are counted once a call" 'gather: 24 calls by binomial_gather \(binomial_gather\.so\)'
status "types of each kind have their own maxima" 0 prog 2 "$all" kinds
report "... and are taken" 'allreduce: 38 calls by ring_allreduce \(ring_allreduce\.so\)'
status "buffers that are not aligned" 0 prog 2 "$all" unaligned
report "... are taken" 'allreduce: 1 call by ring_allreduce \(ring_allreduce\.so\)'
status "calls like ones before" 0 prog 3 "$all" again
holds "... were all taken" test "$(grep -c 'by MPI' "$tmp/err")" = 0
report "... and counted" 'broadcast: 648 calls by binomial_broadcast \(binomial_broadcast\.so\)'
status "messages go on beside a collective" 0 prog 2 "$all" progress
status "several threads, each with a communicator" 0 prog 2 "$all" threads
report "... are counted together" 'allreduce: 150 calls by ring_allreduce \(ring_allreduce\.so\)'

# In Fortran, by both of MPI's modules: a program that no C function of MPI's is called in.
for form in preload_fortran preload_fortran_f08; do
	if [ ! -e "$build/tests/ccrun/$form" ]; then
		echo "skip - programs in Fortran: there is no mpifort, or no compiler of Fortran for it"
		break
	fi
	# shellcheck disable=SC2086
	status "$form: every collective" 0 timeout 120 mpirun $options -np 3 env \
		LD_PRELOAD="$library" CCS_MPI="$all" "$build/tests/ccrun/$form"
	for c in allreduce:2 reduce_scatter_block:1 allgather:2 broadcast:2 reduce:1 alltoall:2 \
		gather:1 scatter:1 barrier:1; do
		says "... ${c%:*} was taken" "$tmp/err" "^libccs-mpi: ${c%:*}: ${c#*:} calls? by .*\.so\)$"
	done
	fortran_forms_counted
done

# A program that measures, of bench/: it compares each result with MPI's, too.
# shellcheck disable=SC2086
status "a loop over collectives" 0 timeout 120 mpirun $options -np 2 env LD_PRELOAD="$library" \
	CCS_MPI="$all" "$build/bench/mpi_loop" 8 262144 5
holds "... has a row for each of five and each of six sizes" \
	test "$(grep -cE '^[a-z_]+ +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +yes$' "$tmp/out")" = 30
report "... was run by ccs" 'alltoall: 54 calls by direct_all_to_all \(direct_all_to_all\.so\)'
# shellcheck disable=SC2086
status "... without sizes" 2 timeout 120 mpirun $options -np 1 "$build/bench/mpi_loop" 8
says "... says how it is used" "$tmp/err" '^usage: mpirun -np N .*/mpi_loop FIRST LAST ITERATIONS \[WARMUPS\]$'

# ---- what is MPI's, and why ------------------------------------------------------------------
status "what ccs has not is MPI's" 0 prog 3 "allreduce:$m/ring_allreduce.so" left
report "... an operator" 'allreduce: 1 call by MPI: ccs has no operator for operator MPI_LAND'
report "... a type" 'allreduce: 2 calls by MPI: ccs has no type for type MPI_LONG_DOUBLE'
report "... an operator of its own" 'allreduce: 1 call by MPI: the operator is not one of MPI_SUM, PROD, MAX, MIN, BAND, BOR and BXOR'
report "... a type of its own" "allreduce: 1 call by MPI: the reduction has a user-defined type"
report "... what never ran is in the report" 'allreduce: 0 calls by ring_allreduce \(ring_allreduce\.so\)'
holds "... nothing else is" test "$(lines)" = 5
# Forms of the collectives that ccs has not.
# shellcheck disable=SC2086
status "calls of other forms" 0 timeout 120 mpirun $options -np 3 env LD_PRELOAD="$library" \
	CCS_MPI="$all" "$build/tests/ccrun/preload_forms"
forms_counted
report "... that do not block are MPI's" 'allreduce: [12] calls? by MPI: MPI_Iallreduce is nonblocking'
report "... and those with a count for each rank" \
	'allgather: [12] calls? by MPI: MPI_Allgatherv has one count per rank'
grep -q _init "$tmp/out" &&
	report "... and persistent ones" \
		'reduce: [12] calls? by MPI: MPI_Reduce_init is persistent'
# shellcheck disable=SC2086
status "... of a collective without a module" 0 timeout 120 mpirun $options -np 3 env \
	LD_PRELOAD="$library" CCS_MPI="barrier:$m/dissemination_barrier.so" "$build/tests/ccrun/preload_forms"
report "... are in its one line" 'gather: (3|5|10) calls by MPI: CCS_MPI names no module for it'
status "an intercommunicator" 0 prog 3 "allreduce:$m/ring_allreduce.so" inter
report "... is MPI's, counted once" 'allreduce: 1 call by MPI: an intercommunicator'
status "a job that it has spawned, where nothing is preloaded" 0 prog 2 \
	"allreduce:$m/ring_allreduce.so" spawns
report "... is MPI's" 'allreduce: 3 calls by MPI: ranks of several jobs, spawned or connected'
status "ranks on several hosts" 0 prog 2 "allreduce:$m/ring_allreduce.so" hosts PROG_HOSTS=1
report "... are MPI's" 'allreduce: 2 calls by MPI: ranks on several hosts'
status "no modules" 0 prog 2 "" inter
report "... is told" 'CCS_MPI names no module: MPI runs all collectives'
report "... and counted" 'allreduce: 1 call by MPI: CCS_MPI names no module for it'
status "ranges of sizes" 0 prog 2 \
	"allreduce:$m/ring_allreduce.so@64-1K,allreduce:$m/recursive_doubling_allreduce.so@1-64" sizes
report "... the first that fits" 'allreduce: 1 call by ring_allreduce \(ring_allreduce\.so\)'
report "... the second" 'allreduce: 1 call by recursive_doubling_allreduce \(.*\)'
report "... and none" 'allreduce: 2 calls by MPI: its size is in no range of CCS_MPI'
"$build/bin/ccc" schedules/ring_allreduce.ccs -n 3 --target=cpu -o "$tmp/three.so"
status "no plan for so many ranks" 0 prog 2 "allreduce:$tmp/three.so" sizes
report "... is MPI's" 'allreduce: 4 calls by MPI: ring_allreduce has no plan for 2 ranks'
status "another module has one" 0 prog 2 "allreduce:$tmp/three.so,allreduce:$m/ring_allreduce.so" sizes
report "... and runs it" 'allreduce: 4 calls by ring_allreduce \(ring_allreduce\.so\)'
status "memory that cannot be shared" 0 prog 2 "allreduce:$m/ring_allreduce.so" users
report "... is told" "allreduce: 4 calls by MPI: ranks are processes of different users"

status "a rank that can open no files" 0 prog 3 "allreduce:$m/ring_allreduce.so" files
report "... is told, and nobody waits for it" \
	'allreduce: 1 call by MPI: rank 1 has no 28 descriptors left for a communicator: Too many open files'

# ---- by a tuning -------------------------------------------------------------------------------
cat >"$tmp/host.tuning" <<EOT
ccs-tuning 1
collective allreduce ranks 2 engine tasks
rest $m/one_shot_allreduce.so auto
collective allreduce ranks 2 engine procs
63   $m/ring_allreduce.so 8K
64   $m/recursive_doubling_allreduce.so auto
rest $m/ring_allreduce.so auto
collective allgather ranks 2 engine procs
16   $m/bruck_allgather.so auto
rest $m/ring_allgather.so 16K
EOT
status "by a tuning" 0 prog 2 "@$tmp/host.tuning" sizes
report "... the first row" 'allreduce: 2 calls by ring_allreduce, tile 8K \(ring_allreduce\.so\)'
report "... the second" 'allreduce: 1 call by recursive_doubling_allreduce, tile auto \(.*\)'
report "... and the rest" 'allreduce: 1 call by ring_allreduce, tile auto \(.*\)'
holds "... rows that never ran are left out" test "$(lines)" = 3
status "a tuning, all collectives" 0 prog 2 "@$tmp/host.tuning" every
says "... goes by the larger buffer" "$tmp/err" \
	'^libccs-mpi: allgather: [1-9][0-9]* calls by ring_allgather, tile 16K'
says "... in rows by size" "$tmp/err" '^libccs-mpi: allgather: [1-9][0-9]* calls? by bruck_allgather, '
says "... the others are MPI's" "$tmp/err" '^libccs-mpi: scatter: .* by MPI: CCS_MPI names no module for it'
status "ranks that the tuning has not" 0 prog 3 "@$tmp/host.tuning" sizes
report "... are MPI's" 'allreduce: 4 calls by MPI: the tuning of CCS_MPI has nothing for 3 ranks'
status "a module before the tuning" 0 prog 2 \
	"allreduce:$m/one_shot_allreduce.so@-50,@$tmp/host.tuning" sizes
report "... has its sizes" 'allreduce: 2 calls by one_shot_allreduce \(one_shot_allreduce\.so\)'
report "... and the tuning the others" 'allreduce: 1 call by recursive_doubling_allreduce, .*'

status "by the tuning that comes with ccs" 0 prog 3 @default every
for c in $collectives; do
	says "... $c was taken" "$tmp/err" "^libccs-mpi: $c: [1-9][0-9]* calls? by .*, tile [a-zA-Z0-9]+ \(.*\.so\)\$"
done
holds "... and nothing was left to MPI but one rank alone" test \
	"$(grep 'by MPI' "$tmp/err" | grep -vc 'the tuning of CCS_MPI has nothing for 1 rank$')" = 0

# ---- the report ---------------------------------------------------------------------------
status "CCS_MPI_REPORT=0" 0 prog 2 "allreduce:$m/ring_allreduce.so" sizes CCS_MPI_REPORT=0
holds "... no report" test "$(lines)" = 0
status "CCS_MPI_REPORT=FILE" 0 prog 2 "allreduce:$m/ring_allreduce.so" sizes \
	CCS_MPI_REPORT="$tmp/report"
holds "... is there" grep -q '^libccs-mpi: allreduce: 4 calls by ring_allreduce' "$tmp/report"
holds "... and not here" test "$(lines)" = 0
status "a report that cannot be written" 0 prog 2 "allreduce:$m/ring_allreduce.so" sizes \
	CCS_MPI_REPORT="$tmp/none/report"
says "... is told" "$tmp/err" 'CCS_MPI_REPORT: .*/none/report cannot be written'
says "... and printed" "$tmp/err" 'allreduce: 4 calls by ring_allreduce'

# ---- ranks that come late ---------------------------------------------------------------------
# Each other rank has said so: for whom it waits, or that the one that it waits for waits, too.
told() { # told TEXT
	t=0
	while [ "$(grep -cE "^libccs-mpi: rank [0-2] of 3: allreduce by ring_allreduce \(.*\): $1" \
		"$tmp/err")" -lt 2 ] && [ $t -lt 600 ]; do
		sleep 0.1
		t=$((t + 1))
	done
	holds "... is told by the two others" test $t -lt 600
}
for late in 1 0; do
	prog 3 "allreduce:$m/ring_allreduce.so" late CCS_MPI_TIMEOUT=1 PROG_LATE=$late \
		PROG_GO="$tmp/go$late" >"$tmp/out" 2>"$tmp/err" </dev/null &
	told "for 1000 ms rank $late has not made this call, the first of its communicator; the call continues$"
	: >"$tmp/go$late.1"
	told "no progress for 1000 ms: .*rank $late has not called; .*the call continues$"
	: >"$tmp/go$late.2"
	holds "... and all calls go on, when rank $late comes late" wait $!
	holds "... and were told once" test "$(grep -c ' of 3: allreduce' "$tmp/err")" = 4
done

# ---- mistakes in CCS_MPI ---------------------------------------------------------------------
# A contract of that name that is another one, and one without a choice of the root.
for c in allreduce broadcast; do
	cat >"$tmp/$c.ccs" <<EOS
contract $c(inout data[C]) ensures data[i] == data[i]@0
schedule fixed implements $c(inout data[1]) {
  if rank == 0 { for q in 1..N { send data[0] to q } } else { recv data[0] from 0 }
}
EOS
	status "a contract $c of one's own" 0 "$build/bin/ccc" "$tmp/$c.ccs" -n 1..2 --target=cpu \
		-o "$tmp/$c.so"
done
# mistake WHAT CCS_MPI TEXT: the job ends with a status, in MPI_Init, and says so once
usual=$options
mistake() {
	options=$hasty
	status "$1 ends the job" 2 prog 2 "$2" sizes
	options=$usual
	says "... says so" "$tmp/err" "^libccs-mpi: $3"
	holds "... once" test "$(lines)" = 1
}
for seconds in -1 1s 4294968; do
	CCS_MPI_TIMEOUT=$seconds
	export CCS_MPI_TIMEOUT
	mistake "CCS_MPI_TIMEOUT=$seconds" "allreduce:$m/ring_allreduce.so" \
		"CCS_MPI_TIMEOUT=$seconds is not a number of seconds"
done
unset CCS_MPI_TIMEOUT
mistake "a tuning that is none" "@$m/ring_allreduce.so" 'CCS_MPI: .*ring_allreduce.so is not a tuning'
printf 'ccs-tuning 1\ncollective allreduce ranks 2 engine tasks\nrest %s auto\n' \
	"$m/ring_allreduce.so" >"$tmp/tasks.tuning"
mistake "a tuning of other engines" "@$tmp/tasks.tuning" \
	"CCS_MPI: .*tasks.tuning has no section for a collective of MPI by procs"
printf 'ccs-tuning 1\ncollective allreduce ranks 2 engine procs\nrest %s auto\n' \
	"$tmp/allreduce.so" >"$tmp/own.tuning"
mistake "a tuning with a contract of one's own" "@$tmp/own.tuning" \
	"CCS_MPI: .*allreduce.so cannot run allreduce: the contract of fixed"
mistake "an unknown collective" "allred:$m/ring_allreduce.so" 'CCS_MPI: .allred. is not a supported collective'
mistake "no file" "allreduce" 'CCS_MPI: .allreduce. is not COLLECTIVE:FILE'
mistake "a file that is not there" "allreduce:$tmp/none.so" 'CCS_MPI: .*none\.so'
mistake "a file that is no module" "allreduce:$build/lib/libccs.so" 'CCS_MPI: .*libccs\.so'
for range in x 4K 8K-4K 4K-8 4K-8T 99999999999999999999-; do
	case $range in 4K-8) text='' ;; *) text=" '$range', of 'allreduce:.*', is not a range" ;; esac
	mistake "the range $range" "allreduce:$m/ring_allreduce.so@$range" "CCS_MPI:$text"
done
mistake "another contract" "allgather:$m/ring_allreduce.so" \
	"CCS_MPI: .* cannot run allgather: the contract of ring_allreduce, allreduce, differs from MPI's"
mistake "another collective, with a root" "broadcast:$m/ring_allreduce.so" \
	"CCS_MPI: .* cannot run broadcast: the contract of ring_allreduce, allreduce, differs from MPI's"
mistake "another contract of that name" "allreduce:$tmp/allreduce.so" \
	"CCS_MPI: .* cannot run allreduce: the contract of fixed, allreduce, differs from MPI's"
mistake "a root that is fixed" "broadcast:$tmp/broadcast.so" 'CCS_MPI: .* cannot run broadcast: fixed has a fixed root'

# ---- failures -------------------------------------------------------------------------------
prog 3 "$all" differ >"$tmp/out" 2>"$tmp/err" </dev/null
holds "calls that differ end the job" test $? != 0
says "... and are told" "$tmp/err" "^libccs-mpi: rank . of 3: .*the ranks' calls differ: rank"
options=$patient
status "a root that gives itself more than it takes" 0 prog 3 "$all" longer
says "... is told" "$tmp/err" "^libccs-mpi: rank 0 of 3: scatter by binomial_scatter .*: this rank's \
own block has 400000 bytes where it is sent, and 4 where it is received"
says "... and the others" "$tmp/err" "^libccs-mpi: rank [12] of 3: scatter by .*: rank 0 .* has freed"
prog 3 "$all" killed >"$tmp/out" 2>"$tmp/err" </dev/null
holds "a rank that is killed ends the job" test $? != 0
for r in 0 2; do
	says "... rank $r is told which" "$tmp/err" \
		"^libccs-mpi: rank $r of 3: allreduce by ring_allreduce .*: rank 1 \(process [0-9]*\) has ended"
	says "... its error handler gets it, again and again" "$tmp/out" \
		"^rank $r: error other, again one"
done
exit $failed
