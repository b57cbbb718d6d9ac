#!/bin/sh
# Kernels of every schedule, and of two with buffers `by column` and `sized`, compile, with nothing
# to warn of, for each GPU: nvrtc_test.c over modules as ccc makes them, with the source in them.
# usage: nvrtc_test.sh BUILD [--long | --full]
set -u
. tests/support/lib.sh
build=${1:-build}
real_nvrtc
"$build/tests/cuda/nvrtc_test" ${2-} "$build"/tests/cuda_modules/*.so \
	"$build"/tests/layout_modules/exchange_columns.so "$build"/tests/layout_modules/sum_sized.so ||
	failed=1
exit $failed
