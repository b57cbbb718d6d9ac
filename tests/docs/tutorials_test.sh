#!/bin/sh
# Runs every tutorial (examples/tutorials/) as tasks and as processes: each checks its own values,
# and both print the same. Then what a tutorial must notice: wrong schedules, wrong numbers of
# processes.   usage: tutorials_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
bare_environment

# procs RANKS DIRECTORY PROGRAM: runs it by as many processes, as torchrun would. What each says
# goes to $tmp/out and $tmp/err; the status is that of the worst.
procs() {
	new_port
	pids='' worst=0
	for r in $(seq 0 $(($1 - 1))); do
		(cd "$2" && RANK=$r WORLD_SIZE=$1 LOCAL_RANK=$r LOCAL_WORLD_SIZE=$1 \
			MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$build/examples/tutorials/$3" \
			>"$tmp/out.$r" 2>"$tmp/err.$r" </dev/null) &
		pids="$pids $!"
	done
	for p in $pids; do
		wait "$p" || worst=$?
	done
	cat "$tmp"/out.* >"$tmp/all.out"
	cat "$tmp"/err.* >"$tmp/all.err"
	rm "$tmp"/out.* "$tmp"/err.*
	cat "$tmp/all.out"
	cat "$tmp/all.err" >&2
	return $worst
}
tasks() { (cd "$1" && "$build/examples/tutorials/$2"); }

for source in examples/tutorials/*.c; do
	name=$(basename "$source" .c)
	[ "$name" = tutorial ] && continue
	ranks=$(sed -nE 's/^enum \{ RANKS = ([0-9]+).*/\1/p' "$source")
	holds "$name is short" test "$(wc -l <"$source")" -lt 60
	status "$name, $ranks ranks as tasks" 0 tasks "$build/examples/tutorials" "$name"
	sort "$tmp/out" >"$tmp/tasks"
	holds "... every rank has something to say" \
		test "$(sed -nE 's/.*, rank ([0-9]+): .*/\1/p' "$tmp/tasks" | sort -u | wc -l)" = "$ranks"
	status "$name, as processes" 0 procs "$ranks" "$build/examples/tutorials" "$name"
	sort "$tmp/out" >"$tmp/procs"
	holds "... with the same values" cmp "$tmp/tasks" "$tmp/procs"
done

# ---- tutorials that must fail ---------------------------------------------------------------

# lazy FILE SIGNATURE: a module in the place of a right one, whose ranks do nothing.
mkdir "$tmp/lazy"
lazy() {
	printf 'contract lazy(%s)\nschedule lazy implements lazy(%s) { }\n' "$2" "$3" >"$tmp/lazy.ccs"
	"$build/bin/ccc" "$tmp/lazy.ccs" -w -n 2..4 --target=cpu -o "$tmp/lazy/$1.so" ||
		not_ok "a lazy $1" "cannot be compiled"
}
lazy recursive_doubling_allreduce 'inout data[C]' 'inout data[1]'
lazy pairwise_all_to_all 'in a[N][C], out b[N][C]' 'in a[N], out b[N]'
lazy dissemination_barrier '' ''
cp "$build/examples/tutorials/ring_allgather.so" "$tmp/lazy"

for name in all_reduce weighted_sum softmax l2_norm operators all_to_all; do
	status "$name by a schedule that does nothing" 1 tasks "$tmp/lazy" "$name"
	says "... says which value is wrong" "$tmp/out" '^.*, rank 0: .*\(wrong: not '
done
status "a barrier that is none" 1 procs 4 "$tmp/lazy" barrier
says "... somebody left early" "$tmp/out" '^ranks .* left, rank [0-3]: [1-3] \(wrong: not 4\)'
status "a module that is missing" 1 tasks "$tmp/lazy" broadcast
says "... is named" "$tmp/err" '^CCS_EFILE: .*binomial_broadcast\.so'
status "too few processes" 1 procs 2 "$build/examples/tutorials" all_reduce
says "... how many there must be" "$tmp/err" \
	'^CCS_EINVAL: this tutorial has 4 ranks, and torchrun has started 2: start 4$'

# ---- both send first --------------------------------------------------------------------------

wrong=schedules/broken/both_send_first.ccs
status "both send first, without buffering" 1 "$build/bin/ccc" check --slots 0 -n 2 $wrong
says "... is a deadlock" "$tmp/err" 'deadlock with 0 slots .*ranks 0, 1 wait for each other.*E0304'
says "... rank 0 waits for rank 1" "$tmp/err" 'rank 0, step 1: waits to send a\[0\] to rank 1'
says "... and rank 1 for rank 0" "$tmp/err" 'rank 1, step 1: waits to send a\[0\] to rank 0'
status "one receives first" 0 "$build/bin/ccc" check --slots 0 -n 2 examples/tutorials/ordered_swap.ccs
exit $failed
