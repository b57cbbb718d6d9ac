#!/bin/sh
# Ranks on several hosts, on any machine: a process a rank, each told that it is on a host
# of its own, against a driver and an NCCL of our own (tests/fake_cuda, tests/fake_nccl).
# Every second schedule also runs in tiles of a few elements; with --long each.
# usage: hosts_test.sh BUILD [--long]
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
fake=$build/tests/fake_cuda
bare_environment
export CCS_CACHE_DIR="$tmp/cache" CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake"
export CCS_NCCL="$build/tests/fake_nccl/libnccl.so.2"
export FAKE_CUDA_SMS=8	# fewer blocks fit: fewer replicas, less memory to fill

hosts() { # hosts WHAT MODULES SETTINGS...
	what=$1 which=$2
	shift 2
	echo "# $what${*:+, $*}"
	env "$@" "$build/tests/hosts/hosts_run_test" $what $which 2>&1 ||
		not_ok "hosts_run_test $what $*" "it ended with status $?"
}

modules=${1:-build}/tests/cuda_modules	# lists of words: no spaces may be in it
all=$(echo "$modules"/*.so)
ring=$modules/ring_allreduce.so
some="$ring $modules/direct_all_to_all.so $modules/bruck_allgather.so"
some="$some $modules/one_shot_allreduce.so"
tiled=$(every 2 0 $all)
[ "${2-}" != --long ] || tiled=$all

hosts "results 4" "$all"
hosts "results 3" "$some"
hosts "results 8" "$some"
# Many tiles; few threads; a GPU on which one block fits at a time.
hosts "results 4" "$tiled" CCS_TILE_BYTES=64
hosts "results 4" "$some" CCS_TILE_BYTES=208 CCS_THREADS=64
hosts "results 4" "$some" FAKE_CUDA_SMS=1 FAKE_CUDA_REGISTERS=128
# A part of a GPU (MPS), of which the driver accepts less than it counts.
hosts "results 4" "$ring" FAKE_CUDA_SHARE=16
hosts "trouble" "$ring" FAKE_NCCL_SECONDS=2
for tile in 1048576 64; do
	echo "# cuda_layouts_test hosts, tiles of $tile bytes"
	CCS_TILE_BYTES=$tile "$build/tests/cuda/cuda_layouts_test" hosts "${1:-build}/tests/layout_modules" 2>&1 ||
		not_ok "cuda_layouts_test hosts" "it ended with status $?"
done
echo "# cuda_exchange_test hosts"
"$build/tests/cuda/cuda_exchange_test" hosts 2>&1 ||
	not_ok "cuda_exchange_test hosts" "it ended with status $?"
echo "# cuda_split_test hosts"
FAKE_CUDA_GPUS=8 "$build/tests/cuda/cuda_split_test" hosts "$ring" 2>&1 ||
	not_ok "cuda_split_test hosts" "it ended with status $?"
exit $failed
