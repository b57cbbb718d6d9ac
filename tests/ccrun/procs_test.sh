#!/bin/sh
# ccrun with a process a rank on the CPU: started by --procs, or by launchers; and ranks that are
# killed, stopped, or told that they are others. usage: procs_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
ccrun=$build/bin/ccrun
modules=$build/tests/modules
ring=$modules/ring_allreduce.so
bare_environment
quick="-b 64 -e 64K -f 32 --iters 3"
endless="-b 1K -e 1K --iters 100000000"
procs() { timeout 120 "$ccrun" --procs "$@"; }

# ---- all is right -------------------------------------------------------------------------
status "--procs" 0 procs -n 4 "$ring" $quick
says "... says so" "$tmp/out" "4 processes on this host's CPU, over shared memory"
says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
holds "... and prints one table" test "$(grep -c '^ ' "$tmp/out")" = 3
holds "... and nothing else" test ! -s "$tmp/err"
type=float32 other=int8
for module in "$modules"/*.so; do
	n=4 # or 8, where that is all that there is
	"$ccrun" -n $n "$module" -e 8 -c 0 --iters 1 -w 0 >/dev/null 2>&1 || n=8
	status "... $(basename "$module" .so)" 0 procs -n $n "$module" -b 64 -e 8K -f 70 --iters 2 \
		-d $type -r all
	says "... ... is right" "$tmp/out" '^# wrong (elements|order) *: 0 OK$'
	swap=$type type=$other other=$swap
done
status "... every type and operator" 0 procs -n 3 "$ring" -b 100 -e 100 --iters 1 -d all -o all
says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
status "... where no process can read another's memory" 0 env CCS_CROSS_MEMORY_DISABLE=1 \
	timeout 60 "$ccrun" --procs -n 4 "$ring" $quick -e 4M
says "... is right, too" "$tmp/out" '^# wrong elements *: 0 OK$'
status "--procs -n 1" 0 procs -n 1 "$ring" $quick
says "... starts nothing" "$tmp/out" '1 rank on the CPU'
status "--procs --json" 0 procs -n 4 --json "$ring" $quick
json "... is one document" "where=~4 processes on this host's CPU" ranks=4 rows.#=3 errors.#=0 \
	rows.0.out_of_place.wrong=0 rows.2.in_place.wrong=0 'summary.mean_busbw_gb_per_s=*' status=0
says "... the table for people is on stderr" "$tmp/err" '^# wrong elements *: 0 OK$'
status "--procs --csv" 0 procs -n 4 --csv "$ring" $quick
holds "... has a line for each placement" test "$(grep -c '^result,' "$tmp/out")" = 6
status "results that are not checked" 0 procs -n 4 "$ring" $quick -c 0
status "--procs with a module that has no buffers" 0 procs -n 4 "$modules/dissemination_barrier.so"
says "... its order is checked" "$tmp/out" '^# wrong order *: 0 OK$'

# ---- launchers ------------------------------------------------------------------------------
# launched WHAT WANTED SETUP COMMAND...: two processes; their output is in $tmp/out0, out1 ...
launched() {
	new_port
	what=$1 want=$2 setup=$3
	shift 3
	for r in 0 1; do
		(
			$setup $r
			timeout 60 "$@" >"$tmp/out$r" 2>"$tmp/err$r" </dev/null
			echo $? >"$tmp/rc$r"
		) &
	done
	wait
	got="$(cat "$tmp/rc0") $(cat "$tmp/rc1")"
	if [ "$got" = "$want $want" ]; then ok "$what"; else
		not_ok "$what" "exit statuses $got, not $want: $(head -3 "$tmp/err0" "$tmp/err1")"
	fi
}
for launcher in torchrun mpirun hydra srun; do
	launched "$launcher: two processes" 0 by_$launcher "$ccrun" "$ring" $quick
	says "... share memory" "$tmp/out0" "2 processes on this host's CPU"
	says "... and are right" "$tmp/out0" '^# wrong elements *: 0 OK$'
	holds "... rank 1 prints nothing" test ! -s "$tmp/out1" -a ! -s "$tmp/err1"
	launched "... --procs, too" 2 by_$launcher "$ccrun" --procs -n 2 "$ring" $quick
	says "... is refused" "$tmp/err0" '--procs starts the ranks itself, but a launcher has started'
done
token() {
	by_mpirun "$1"
	unset CCS_RENDEZVOUS
	export CCS_JOB_TOKEN="procs_test $port"
}
launched "a job's name is enough" 0 token "$ccrun" "$ring" $quick
launched "-n may say how many" 0 by_torchrun "$ccrun" -n 2 "$ring" $quick
launched "another -n" 2 by_torchrun "$ccrun" -n 3 "$ring" $quick
says "... is refused" "$tmp/err0" '-n 3, but torchrun has started 2 processes'
launched "--transport local" 0 by_mpirun "$ccrun" -n 3 "$ring" $quick --transport local
says "... is a run of its own, each" "$tmp/out1" '3 ranks on the CPU'
high() { by_torchrun "$1"; export RANK=$((2 + $1)); }
launched "a rank that is too high" 2 high "$ccrun" "$ring" $quick
says "... is refused, and named" "$tmp/err0" 'RANK is 2, but WORLD_SIZE is 2'
letters() { by_torchrun "$1"; export WORLD_SIZE=two; }
launched "a number that is none" 2 letters "$ccrun" "$ring" $quick
says "... is refused, and named" "$tmp/err1" 'WORLD_SIZE is "two", not a number'
half() { by_torchrun "$1"; unset WORLD_SIZE; }
launched "half of the variables" 2 half "$ccrun" "$ring" $quick
says "... names the one that is missing" "$tmp/err0" 'WORLD_SIZE is not set, but RANK is'
sizes() { by_mpirun "$1"; export OMPI_COMM_WORLD_LOCAL_SIZE=3; }
launched "more here than there are" 2 sizes "$ccrun" "$ring" $quick
says "... is refused, and named" "$tmp/err0" 'OMPI_COMM_WORLD_LOCAL_SIZE is 3'
"$build/bin/ccc" schedules/ring_allreduce.ccs -n 1..2 --target=cpu -o "$tmp/one.so"
alone() { status "$1" 0 env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 \
	OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 "$ccrun" "$tmp/one.so" $2 $quick; }
alone "a launcher's only process" ""
says "... is the only rank" "$tmp/out" 'allreduce, 1 rank on the CPU'
alone "... unless -n says otherwise" "-n 2"
says "... by tasks" "$tmp/out" 'allreduce, 2 ranks on the CPU'
status "--procs behind half of the variables" 2 env RANK=0 "$ccrun" --procs -n 2 "$ring" $quick
status "--procs without -n" 2 "$ccrun" --procs "$ring" $quick
says "... says so" "$tmp/err" '-n is missing'
status "--procs with a number that has no plan" 2 procs -n 99 "$ring"
holds "... is said once" test "$(grep -c 'no plan for 99 ranks' "$tmp/err")" = 1

# ---- wrong results ----------------------------------------------------------------------------
"$build/bin/ccc" schedules/direct_allreduce.ccs -n 4 --target=cpu -o "$tmp/four.so"
"$build/tests/plan/prove_test" spoil "$tmp/four.so" "$tmp/spoilt.so"
# A length is wrong, which is seen where the cells have 1, 0, 0, 0.
odd="-b 1 -e 1 -d int8 --iters 1"
counts() { grep -o '"wrong": *[0-9]*' "$tmp/out" | tr '\n' ' '; }
status "a module that computes something else" 3 "$ccrun" -n 4 --json "$tmp/spoilt.so" $odd
wrong=$(counts)
status "... also in processes" 3 procs -n 4 --json "$tmp/spoilt.so" $odd
holds "... with as many wrong elements" test "$wrong" = "$(counts)" -a -n "$wrong"
json "... and the first is told" status=3 'rows.0.out_of_place.first_wrong=~rank '
cat >"$tmp/heard.ccs" <<'EOS'
contract heard() let next = (rank + 1) % N ensures after(q in next..next + 1)
schedule heard_of_next implements heard() on ring {
  scratch nothing[1]
  step { send nothing[0..0] to prev recv nothing[0..0] from next }
}
EOS
"$build/bin/ccc" "$tmp/heard.ccs" -n 4 --target=cpu -o "$tmp/heard.so"
"$build/tests/plan/prove_test" spoil "$tmp/heard.so" "$tmp/early.so"
status "ranks that wait for the next" 0 procs -n 4 "$tmp/heard.so"
status "one that should wait for all" 3 procs -n 4 --json "$tmp/early.so"
json "... is told" status=3 rows.0.out_of_place.first_wrong=~"rank 0 ended before rank"

# ---- processes that end, or stop ----------------------------------------------------------------
parent() { sed -n 's/^PPid:[^0-9]*//p' "/proc/$1/status" 2>/dev/null; }
# ranks PID: the processes of a run's ranks, in their order
ranks() {
	for p in /proc/[0-9]*; do
		[ "$(parent "${p#/proc/}")" = "$1" ] && echo "${p#/proc/}"
	done | sort -n
}
running() { grep -q '^State:[^A-Z]*[^ZX]*$' "/proc/$1/status" 2>/dev/null; }
# within SECONDS COMMAND...: it succeeds before that
within() {
	end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt "$end" ] || return 1
		sleep 0.05
	done
}
# all four have met, and are in calls
four() {
	set -- $(ranks "$run")
	[ $# = 4 ] && [ "$(grep -c memfd:ccs "/proc/$4/maps")" -gt 2 ]
}
# begin ARGUMENTS...: a run without an end; $run is its process
begin() {
	"$ccrun" --procs -n 4 "$ring" $endless "$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
	run=$!
	within 30 four || not_ok "four ranks run" "$(ranks "$run") $(cat "$tmp/err")"
	all=$(ranks "$run")
}
rank() { echo "$all" | sed -n "$(($1 + 1))p"; }
over() { ! running "$run"; }
none_left() { for p in $all; do ! running "$p" || return 1; done; }
# ends WHAT WANTED: the run, with that status, and all its processes
ends() {
	if within 30 over; then
		wait "$run"
		got=$?
		if [ "$got" = "$2" ]; then ok "$1"; else
			not_ok "$1" "exit status $got, not $2: $(head -5 "$tmp/err")"
		fi
	else
		not_ok "$1" "it does not end: $(head -5 "$tmp/err")"
		kill -9 "$run"
	fi
	if within 10 none_left; then ok "... and leaves no process"; else
		not_ok "... and leaves no process" "$all"
		kill -9 $all 2>/dev/null
	fi
}

begin
# so that nothing is left of it, however they end
named=$(for p in $all; do awk '$2 ~ /s$/ && !/\(deleted\)$/' "/proc/$p/maps"; done)
holds "memory that ranks share has no name" test -z "$named"
kill -9 "$(rank 2)"
ends "a rank is killed" 3
says "... the others say who" "$tmp/err" "rank [013]: .*rank 2 \(process $(rank 2)\) has ended"
says "... and the run says how" "$tmp/err" \
	"rank 2 \(process $(rank 2)\) was killed by signal 9 \(Killed\)"
begin --json
kill -9 "$(rank 1)"
ends "a rank is killed, --json" 3
json "... is one document still" status=3 errors.0.text=~"rank 1 (process $(rank 1)) has ended"
begin --json
kill -9 "$(rank 0)"
ends "... the first, which would report" 3
says "... is told" "$tmp/err" "rank 0 \(process $(rank 0)\) was killed by signal 9"
json "... in a document, too" status=3 errors.0.text=~'rank 0'
begin --timeout 1
kill -STOP "$(rank 3)"
ends "a rank is stopped, --timeout 1" 3
says "... the others say who" "$tmp/err" "rank [012]: .*rank 3"
kill -CONT $all 2>/dev/null
for signal in TERM KILL; do
	begin
	kill -$signal "$run"
	if within 20 over; then ok "the run gets SIG$signal, and ends"; else
		not_ok "the run gets SIG$signal, and ends" "it does not"
		kill -9 "$run"
	fi
	wait "$run" 2>/dev/null
	if within 10 none_left; then ok "... and so do its ranks"; else
		not_ok "... and so do its ranks" "$all"
		kill -9 $all 2>/dev/null
	fi
done
exit $failed
