#!/bin/sh
# The back end of torch.distributed, with the first PyTorch that is here (support/python_with.sh).
# usage: torch_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
bare_environment
if [ "${SAN:-}" ]; then
	echo "skip - the back end of torch.distributed: its interpreter is built without sanitizers"
	exit 0
fi
if ! python=$(tests/support/python_with.sh torch); then
	echo "skip - the back end of torch.distributed: there is no PyTorch (Debian's python3-torch)"
	exit 0
fi
unset CCC
export CCS_LIBRARY="$build/lib/libccs.so.0" PYTHONDONTWRITEBYTECODE=1 TMPDIR="$tmp"
export PYTHONPATH="$PWD/python:$PWD/tests/python" OMP_NUM_THREADS=1

"$build/bin/ccc" schedules/ring_allreduce.ccs -n 2 --target=cpu -o "$tmp/ring.so"
timeout 500 "$python" tests/python/torch_ranks.py "$tmp" >"$tmp/out" 2>"$tmp/err"
got=$?
grep -E '^(ok|not ok|skip) - ' "$tmp/out"
if [ $got != 0 ]; then not_ok "torch_ranks.py" "status $got: $(grep -v '^ *File\|^\[W' "$tmp/err" | tail -20)"; fi
holds "... ran them all" test "$(grep -c '^ok - ' "$tmp/out")" -ge 15

# ---- as it is started by PyTorch's launcher --------------------------------------------------
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
for report in '' 0 "$tmp/report.%r"; do
	status "torchrun, CCS_SCHEDULES_REPORT='$report'" 0 env CCS_SCHEDULES_REPORT="$report" timeout 200 \
		"$python" -m torch.distributed.run --standalone --nproc_per_node 2 "$tmp/first.py"
	says "... adds" "$tmp/out" '^3$'
	ccs=$(grep -c '^ccs.torch: ' "$tmp/err")
	case $report in
	'') holds "... rank 0 says what ran it" test "$ccs" = 1 &&
		says "... by name" "$tmp/err" '^ccs.torch: allreduce: 1 call by recursive_doubling_allreduce.ccs$' ;;
	0) holds "... nothing is said" test "$ccs" = 0 ;;
	*) holds "... into a file for each rank" cmp "$tmp/report.0" "$tmp/report.1" ;;
	esac
done
exit $failed
