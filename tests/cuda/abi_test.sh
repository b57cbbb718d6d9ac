#!/bin/sh
# Our declarations of CUDA's driver, of NVRTC and of NCCL beside the headers that are
# installed here, and the names beside the libraries: abi_test.cc. Nothing is fetched: a
# header that is not here is not compared. usage: abi_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)

# first FILE...: the first that there is
first() {
	for file in "$@"; do
		[ -e "$file" ] && echo "$file" && return
	done
}

# Where headers and libraries of CUDA are, with wheels for Python.
places="${CUDA_HOME:-/none} ${CUDA_PATH:-/none} /usr/local/cuda /usr/local/cuda-1* /opt/cuda /usr"
wheels="${VIRTUAL_ENV:-/none}/lib/python3*/site-packages/nvidia/* /usr/local/lib/python3*/*-packages/nvidia/*"
find_file() { # find_file NAME...: the first of the paths below the places
	for name in "$@"; do
		for place in $places $wheels; do
			first "$place"/$name
		done
	done | head -n 1
}
cuda=$(find_file include/cuda.h)
cuda=${cuda%/cuda.h}

# compare WHAT FILE HEADER LIBRARY: the declarations in runtime/FILE
compare() {
	header=$(find_file "include/$3")
	if [ -z "$header" ]; then
		echo "skip - the declarations of runtime/$2 beside $3: it is not installed here"
		return
	fi
	if ! ${CXX:-g++} -std=c++20 -fpermissive -w -D_GNU_SOURCE -D"ABI_$1" \
			-DABI_FILE="\"runtime/$2\"" -I. -I"${header%/*}" ${cuda:+-I"$cuda"} \
			-o "$tmp/abi" tests/cuda/abi_test.cc "$build/lib/libccs.a" -ldl -lpthread -lm \
			2>"$tmp/err"; then
		not_ok "runtime/$2 and $3 are compiled together" "$(cat "$tmp/err")"
		return
	fi
	echo "# runtime/$2, $header, ${4:-no library}"
	"$tmp/abi" ${4:+"$4"} || failed=1
}

compare DRIVER cuda/driver/driver.c cuda.h "$(find_file lib64/stubs/libcuda.so)"
compare NCCL cuda/nccl/nccl.c nccl.h "$(find_file 'lib64/libnccl.so.2' 'lib/libnccl.so.2')"
compare CCRUN_DRIVER ccrun/gpu/cuda_calls.c cuda.h "$(find_file lib64/stubs/libcuda.so)"
compare CCRUN_NCCL ccrun/gpu/nccl_calls.c nccl.h "$(find_file 'lib64/libnccl.so.2' 'lib/libnccl.so.2')"
compare NVRTC base/load/nvrtc.c nvrtc.h "$(find_file 'lib64/libnvrtc.so.1[23]' 'lib/libnvrtc.so.1[23]')"
exit $failed
