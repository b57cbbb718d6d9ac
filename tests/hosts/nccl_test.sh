#!/bin/sh
# NCCL and groups of processes, against a driver and an NCCL of our own (tests/fake_cuda,
# tests/fake_nccl); and whether the NCCL of this machine, if there is one, has what is
# called. usage: nccl_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
fake=$build/tests/fake_cuda
bare_environment
export FAKE_CUDA_FORK=1

faked() { LD_LIBRARY_PATH=$fake:$build/tests/fake_nccl "$@"; }

# run WHAT COMMAND...: its lines are tests; what the stand-ins complain of fails one more
run() {
	what=$1
	shift
	faked timeout 300 "$@" 2>"$tmp/err" || not_ok "$what" "it ended with status $?"
	if grep -E 'LEAK|ILLEGAL' "$tmp/err" >"$tmp/bad"; then
		not_ok "$what: nothing is left, and nothing illegal done" "$(cat "$tmp/bad")"
	else
		ok "$what: nothing is left, and nothing illegal done"
	fi
}

shm_begin fake_nccl.
run "groups" "$build/tests/hosts/nccl_host_test" "$fake/libnvrtc.so"
run "meeting" "$build/tests/hosts/nccl_meet_test"
run "calls" "$build/tests/hosts/nccl_calls_test"
shm_end
"$build/tests/hosts/nccl_host_test" real
exit $failed
