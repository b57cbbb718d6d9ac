#!/bin/sh
# The back end of torch.distributed, with the first PyTorch that is here (support/python_with.sh).
# usage: torch_test.sh BUILD
set -u
. tests/support/lib.sh
set -- "${1:-build}" "the back end of torch.distributed"
. tests/support/torch.sh
export PYTHONPATH="$PYTHONPATH:$PWD/tests/python"

"$build/bin/ccc" schedules/ring_allreduce.ccs -n 2 --target=cpu -o "$tmp/ring.so"
"$build/bin/ccc" schedules/recursive_doubling_allreduce.ccs -n 2 --target=cpu -o "$tmp/rd.so"
cat >"$tmp/host.tuning" <<'end'
ccs-tuning 1
collective allreduce ranks 2 engine procs
1K rd.so auto
rest ring.so 4K
end
timeout 500 "$python" tests/python/torch_ranks.py "$tmp" >"$tmp/out" 2>"$tmp/err"
got=$?
grep -E '^(ok|not ok|skip) - ' "$tmp/out"
if [ $got != 0 ]; then not_ok "torch_ranks.py" "status $got: $(grep -v '^ *File\|^\[W' "$tmp/err" | tail -20)"; fi
holds "... ran them all" test "$(grep -c '^ok - ' "$tmp/out")" -ge 15

# ---- tensors of GPUs -------------------------------------------------------------------------
timeout 300 env LD_LIBRARY_PATH="$build/tests/fake_cuda" FAKE_CUDA_GPUS=2 FAKE_CUDA_ASYNC=1 \
	CCS_CACHE_DIR= CCS_NVRTC="$build/tests/fake_cuda/libnvrtc.so" \
	CCS_NCCL="$build/tests/fake_nccl/libnccl.so.2" \
	"$python" tests/python/torch_gpus.py "$tmp" >"$tmp/out" 2>"$tmp/err"
got=$?
grep -E '^(ok|not ok) - ' "$tmp/out"
if [ $got != 0 ]; then not_ok "torch_gpus.py" "status $got: $(tail -20 "$tmp/err")"; fi
holds "... every call of the driver's is legal" sh -c "! grep ILLEGAL '$tmp/err'"

# ---- as launchers start it --------------------------------------------------------------------
cat >"$tmp/first.py" <<'end'
import torch
import torch.distributed as dist
import ccs.torch

dist.init_process_group("ccs")
t = torch.tensor([dist.get_rank() + 1])
dist.all_reduce(t)
if dist.get_rank() == 0:
    print(t.item())
end
cat >"$tmp/twice.py" <<'end'
import torch
import torch.distributed as dist
import ccs.torch

dist.init_process_group("ccs")
for count in 1, 1, 128:
    dist.all_reduce(torch.zeros(count, dtype=torch.int64))
end
# started [NAME=VALUE]... PROGRAM...: by two ranks, with what a launcher puts into the environment. They are
# forked by one interpreter, as loading PyTorch takes longer than all else that they do.
cat >"$tmp/started.py" <<'end'
import os
import runpy
import sys
import torch
import ccs.torch

other = os.fork()
if not other:
    os.environ["RANK"] = "1"
    os.dup2(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
try:
    sys.argv[:2] = []
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    failed = other and os.waitpid(other, 0)[1]
if failed:
    sys.exit(1)
end
started() {
	new_port
	RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout 200 env "$@"
}
forked="$python $tmp/started.py $tmp/other"
for report in '' 0 "$tmp/report.%r"; do
	status "two processes, CCS_SCHEDULES_REPORT='$report'" 0 \
		started CCS_SCHEDULES_REPORT="$report" $forked "$tmp/first.py"
	says "... adds" "$tmp/out" '^3$'
	said=$(cat "$tmp/err" "$tmp/other" | grep -c '^ccs.torch: ')
	case $report in
	'') holds "... rank 0 says what ran it" test "$said" = 1
		says "... by name" "$tmp/err" \
			'^ccs.torch: allreduce: 1 call by recursive_doubling_allreduce.ccs$' ;;
	0) holds "... nothing is said" test "$said" = 0 ;;
	*) holds "... into a file for each rank" cmp "$tmp/report.0" "$tmp/report.1" ;;
	esac
done
status "two processes, CCS_DEBUG=INFO" 0 started CCS_DEBUG=INFO CCS_SCHEDULES_REPORT=0 \
	CCS_SCHEDULES=allreduce:ring_allreduce.ccs@1K- $forked "$tmp/twice.py"
says "... the default that ran a short call" "$tmp/err" '^ccs.torch: INFO: allreduce on 2 ranks, 8 bytes: recursive_doubling_allreduce.ccs \(default allreduce:recursive_doubling_allreduce.ccs@-16K\)$'
says "... the part of CCS_SCHEDULES that ran a long one" "$tmp/err" \
	'^ccs.torch: INFO: allreduce on 2 ranks, 1024 bytes: ring_allreduce.ccs \(CCS_SCHEDULES allreduce:ring_allreduce.ccs@1K-\)$'
holds "... a line for each size, by rank 0" test "$(cat "$tmp/err" "$tmp/other" | grep -c INFO)" = 2

# ---- several hosts ----------------------------------------------------------------------------
cat >"$tmp/far.py" <<'end'
import os
import sys
import torch.distributed as dist
import ccs.torch

rank = os.environ["RANK"]
ccs.torch.meet.host = lambda: "host " + rank
if len(sys.argv) > 1:
    os.environ.update(PMI_RANK=rank, PMI_SIZE="2", **({"CCS_MPI_PLUGIN": "none"} if rank == "1" else {}))
dist.init_process_group("ccs")
end
status "ranks on two hosts, without mpirun" 1 started $forked "$tmp/far.py"
says "... name the cure" "$tmp/err" \
	'ranks 0 and 1 are on different hosts, .*: start all ranks with mpirun, as rank 0 was not'
if [ -e "$build/lib/libccs_mpi.so" ]; then
	status "ranks on two hosts, one without a plug-in" 1 started $forked "$tmp/far.py" without
	says "... both say so" "$tmp/err" 'connects by MPI: rank 1: this needs MPI: CCS_MPI_PLUGIN is none'
	says "... alike" "$tmp/other" 'connects by MPI: rank 1: this needs MPI: CCS_MPI_PLUGIN is none'
fi
"$build/bin/ccc" schedules/ring_allreduce.ccs -n 4 --target=cpu -o "$tmp/ring4.so"
"$build/bin/ccc" schedules/recursive_doubling_allreduce.ccs -n 4 --target=cpu -o "$tmp/rd4.so"
cat >"$tmp/mpi.tuning" <<'end'
ccs-tuning 1
collective allreduce ranks 4 engine procs
rest rd4.so auto
collective allreduce ranks 4 engine mpi
rest ring4.so 4K
end
far() { # far WHAT COMMAND...: torch_mpi.py
	title=$1
	shift
	rm -f "$tmp"/store-*
	"$@" >"$tmp/out" 2>"$tmp/err"
	got=$?
	sed -nE "s/^(ok|not ok) - /\\1 - $title: /p" "$tmp/out"
	if [ $got != 0 ]; then not_ok "$title" "status $got: $(grep -v '^ *File' "$tmp/err" | tail -20)"; fi
}
. tests/support/two_hosts.sh
trap 'drop_hosts; rm -rf "$tmp"' EXIT
export CCS_MPI_PLUGIN="$build/lib/libccs_mpi.so" CCS_SCHEDULES_REPORT=0
case $(mpirun --version 2>&1) in
*"Open MPI"* | *OpenRTE*) options='--allow-run-as-root --oversubscribe' ;;
*) options= ;;
esac
if [ ! -e "$CCS_MPI_PLUGIN" ] || ! command -v mpirun >/dev/null 2>&1; then
	echo "skip - ranks on several hosts: there is no mpirun, or the plug-in was not built (no mpicc)"
else
	cat >"$tmp/leaves.py" <<'end'
import sys
import torch
import torch.distributed as dist
import ccs.torch
from ccs.torch import meet

place = meet.Place.here()
meet.host = lambda: f"host {place.rank}"
dist.init_process_group(
    "ccs", init_method=f"file://{sys.argv[1]}/store-leaves", rank=place.rank, world_size=place.size
)
if place.rank == 1:
    sys.exit(3)
dist.all_reduce(torch.ones(3))
end
	# shellcheck disable=SC2086
	timeout 200 mpirun $options -np 2 "$python" "$tmp/leaves.py" "$tmp" >"$tmp/out" 2>"$tmp/err"
	got=$?
	holds "by MPI: a rank that ends" test $got != 0 -a $got != 124
	says "... is named by the one that waits for it" "$tmp/err" \
		'CcsError: .*rank 1 has freed the communicator, and rank 0 waits for it$'
fi
# The same by ranks of two network namespaces, or, where these cannot be made, by ranks that only say so.
pretend() {
	echo "skip - ranks of two network namespaces: $1"
	[ ! -e "$CCS_MPI_PLUGIN" ] || ! command -v mpirun >/dev/null 2>&1 ||
		far "by MPI" timeout 300 mpirun $options -np 4 "$python" tests/python/torch_mpi.py "$tmp" pretend
}
if [ -z "$options" ]; then
	pretend "this test can start them by Open MPI alone"
elif [ ! -e "$CCS_MPI_PLUGIN" ]; then
	pretend "there is no plug-in for MPI"
elif [ "$(id -u)" != 0 ]; then
	pretend "only root can make them"
elif ! make_hosts; then
	pretend "$(head -1 "$tmp/why")"
else
	far "of two hosts" hosts 4 "$python" tests/python/torch_mpi.py "$tmp"
fi
unset CCS_SCHEDULES_REPORT

# ---- PyTorch's own tests, a selection ---------------------------------------------------------
PYTHONPATH="$PYTHONPATH:$PWD/build/wheels/own_tests" timeout 300 "$python" \
	tests/python/torch_own_tests.py --ranks 2 test_all_reduce_sum_async test_barrier_full \
	test_broadcast_full test_all_gather_coalesced_simple test_scatter_full \
	test_send_recv_any_source_autograd_profiler test_send_recv_with_tag_autograd_profiler \
	test_barrier_timeout_full_group test_monitored_barrier_gloo_rank_0_timeout \
	test_monitored_barrier_gloo_subgroup test_sparse_all_reduce_sum >"$tmp/own" 2>&1
grep -E '^(ok|not ok|skip) - ' "$tmp/own" || not_ok "PyTorch's own tests" "$(tail -5 "$tmp/own")"

torchrun() {
	new_port
	timeout 200 "$python" -m torch.distributed.run --nnodes 1 --master_addr 127.0.0.1 \
		--master_port $port --nproc_per_node 2 "$@"
}
if ! torchrun --no_python true >/dev/null 2>&1; then
	echo "skip - torchrun: this PyTorch's own fails on its Python, whatever it starts"
else
	status "torchrun" 0 torchrun "$tmp/first.py"
	says "... adds" "$tmp/out" '^3$'
fi
exit $failed
