#!/bin/sh
# The driver's calls for several GPUs and processes, against a driver of our own
# (tests/fake_cuda), and against one that lacks them. The stand-in says what is illegal,
# and what is left at the end, on stderr, which must stay empty.
# usage: cuda_driver_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
fake=$build/tests/fake_cuda
export FAKE_CUDA_GPUS=3
unset CUDA_VISIBLE_DEVICES

run() { # run PROGRAM WHAT
	echo "# $2"
	LD_LIBRARY_PATH=$fake "$build/tests/$1" "$2" 2>"$tmp/err" ||
		not_ok "$1 $2" "it ended with status $?"
	holds "$2: every call is legal, and nothing is left" test ! -s "$tmp/err"
	sed 's/^/# /' "$tmp/err"
}

for what in calls failing; do run cuda_driver_test $what; done
for what in places processes graphs refused; do run cuda_parts_test $what; done
echo "# an old driver"
LD_LIBRARY_PATH=$fake/old "$build/tests/cuda_driver_test" old 2>"$tmp/err" ||
	not_ok "cuda_driver_test old" "it ended with status $?: $(cat "$tmp/err")"
exit $failed
