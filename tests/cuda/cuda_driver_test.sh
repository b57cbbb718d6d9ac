#!/bin/sh
# The driver's calls for several GPUs and processes, against a driver of our own
# (tests/fake_cuda), and against one that lacks them. The stand-in says what is illegal,
# and what is left at the end, on stderr, which must stay empty.
# usage: cuda_driver_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
fake=$build/tests/fake_cuda
bare_environment
export FAKE_CUDA_GPUS=3

run() { # run PROGRAM [WHAT]
	echo "# $*"
	LD_LIBRARY_PATH=$fake "$build/tests/cuda/$@" 2>"$tmp/err" ||
		not_ok "$*" "it ended with status $?"
	holds "$*: every call is legal, and nothing is left" test ! -s "$tmp/err"
	sed 's/^/# /' "$tmp/err"
}

for what in calls failing; do run cuda_driver_test $what; done
for what in places processes graphs; do run cuda_parts_test $what; done
run cuda_p2p_test
run cuda_refused_test
echo "# an old driver"
LD_LIBRARY_PATH=$fake/old "$build/tests/cuda/cuda_driver_test" old 2>"$tmp/err" ||
	not_ok "cuda_driver_test old" "it ended with status $?: $(cat "$tmp/err")"
exit $failed
