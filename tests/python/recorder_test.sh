#!/bin/sh
# PyTorch's flight recorder for ccs.torch: ranks that do not arrive, STALLS times among 4 and
# STALLS times among 8.
# usage: recorder_test.sh BUILD STALLS
set -u
. tests/support/lib.sh
stalls=$2
set -- "${1:-build}" "PyTorch's flight recorder for ccs.torch"
. tests/support/torch.sh
export PYTHONPATH="$PYTHONPATH:$PWD/tests/python" CCS_SCHEDULES_REPORT=0
timeout 3000 "$python" tests/python/torch_recorder.py "$tmp/stalls" "$stalls" $$ >"$tmp/out" 2>"$tmp/err"
got=$?
grep -E '^(ok|not ok|skip|#)' "$tmp/out"
if [ $got != 0 ]; then not_ok "torch_recorder.py" "status $got: $(tail -5 "$tmp/err")"; fi
exit $failed
