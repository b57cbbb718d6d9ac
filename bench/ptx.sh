#!/bin/sh
# Small calls on GPUs, without one: what a thread does in the PTX that NVRTC makes, executed by the
# stand-in for the driver (tests/fake_cuda/ptx.h). Counts, not times: 8 ranks on one GPU, float32
# sum, a replayed call, of the thread with most instructions, and of the one with fewest; `before`:
# on the longest way to a block's first operation.
# usage: ptx.sh BUILD [SIZE]
set -u
build=$(cd "${1:-build}" && pwd)
size=${2:-8K}
fake=$build/tests/fake_cuda
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export CCS_CACHE_DIR=

echo
echo "a thread in a call of $size a rank, 8 ranks on one GPU, of PTX"
if ! "$build/bin/ccc" schedules/ring_allreduce.ccs -n 2 --emit=ptx >/dev/null 2>&1; then
	echo "(there is no NVRTC)"
	exit 0
fi
printf '%-32s %9s %7s %8s %7s %6s %6s %6s %6s %7s %9s\n' schedule protocol blocks threads most \
	least before loads stores fences barriers
for name in direct ring one_shot recursive_doubling halving_doubling; do
	CCS_NVRTC=$fake/libnvrtc_ptx.so "$build/bin/ccc" schedules/${name}_allreduce.ccs -n 8 \
		--target=cuda -o "$tmp/m.so" || exit 1
	for protocol in ll simple; do
		: >"$tmp/counts"
		CCS_PROTOCOLS=$protocol FAKE_CUDA_COUNTS=$tmp/counts FAKE_CUDA_SMS=16 \
			LD_LIBRARY_PATH=$fake "$build/bin/ccrun" -n 8 --device cuda -b "$size" \
			-e "$size" -w 4 --iters 1 --repeats 1 "$tmp/m.so" >"$tmp/out" 2>&1 || {
			cat "$tmp/out"
			exit 1
		}
		tail -1 "$tmp/counts" | awk -v name=${name}_allreduce -v protocol=$protocol '{
			for (i = 1; i < NF; i += 2) v[$i] = $(i + 1)
			printf "%-32s %9s %7d %8d %7d %6d %6d %6d %6d %7d %9d\n", name, protocol,
				v["blocks"], v["threads"], v["instructions"], v["least"], v["before"],
				v["loads"], v["stores"], v["fences"], v["barriers"] }'
	done
done
