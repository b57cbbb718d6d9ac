#!/bin/sh
# Processes of Python that end with work under way (ends.py): PAIRS pairs of ranks, and a quarter as
# many of PyTorch's groups.   usage: ends_test.sh BUILD PAIRS
set -u
. tests/support/lib.sh
pairs=$2
set -- "${1:-build}" "ends of PyTorch's groups"
here() { # here WHAT PAIRS COMMAND...
	what=$1 n=$2
	shift 2
	status "$what that end with work under way" 0 timeout 3600 "$@" "$n" $$
	says "... all as they would without" "$tmp/out" "^$((2 * n)) ends, 0 wrong\$"
}
build=$(cd "$1" && pwd)
bare_environment
if [ "${SAN:-}" ] || ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
	echo "skip - ends of processes: it needs a python3 of 3.9 or later, and a build without sanitizers"
	exit 0
fi
unset CCC
export CCS_LIBRARY="$build/lib/libccs.so.0" PYTHONDONTWRITEBYTECODE=1 TEST_CACHE="$tmp" TMPDIR="$tmp"
export PYTHONPATH="$PWD/python:$PWD/tests/python"
here "processes" "$pairs" python3 tests/python/ends.py

. tests/support/torch.sh
export PYTHONPATH="$PYTHONPATH:$PWD/tests/python" CCS_SCHEDULES_REPORT=0
here "PyTorch's groups" $((pairs / 4)) "$python" tests/python/ends.py torch
# As a separate program, in which other modules are imported first.
cat >"$tmp/messages.py" <<'end'
import torch
import torch.distributed as dist
import ccs.torch

dist.init_process_group("ccs")
if dist.get_rank() == 0:
    dist.isend(torch.ones(100000), 1)
else:
    dist.irecv(torch.empty(100000), 0)
end
new_port
for r in 1 0; do
	(by_torchrun $r; timeout 200 "$python" "$tmp/messages.py"; echo $? >"$tmp/rc$r") 2>"$tmp/err$r" &
done
wait
holds "messages without a wait" test "$(cat "$tmp/rc0" "$tmp/rc1" | tr '\n' ' ')" = "0 0 "
exit $failed
