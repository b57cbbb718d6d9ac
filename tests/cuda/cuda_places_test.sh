#!/bin/sh
# Several GPUs in one process, and a process a rank, on any machine: against a driver and
# an NCCL of our own (tests/fake_cuda, tests/fake_nccl). The GPUs reach one another's
# memory, or do not, or are told not to use it. As processes half of the schedules run with
# memory that is shared, half without; with --long all of them both ways.
# usage: cuda_places_test.sh BUILD [--long]
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
fake=$build/tests/fake_cuda
bare_environment
export CCS_CACHE_DIR= CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake"
export CCS_NCCL="$build/tests/fake_nccl/libnccl.so.2" FAKE_CUDA_GPUS=8
export FAKE_CUDA_SMS=8	# fewer blocks fit: fewer replicas, less memory

run() { # run PROGRAM WHAT MODULES SETTINGS...
	program=$1 what=$2 which=$3
	shift 3
	title="$program $what${*:+ $*}"
	echo "# $title"
	env "$@" "$build/tests/cuda/$program" "$what" $which >"$tmp/out" 2>"$tmp/err" ||
		not_ok "$title" "it ended with status $?"
	cat "$tmp/out"
	# Memory that a process which died had mapped is left where it is.
	case "$program $what" in
	"cuda_ranks_test trouble") sed -i '/fake_cuda: LEAK: device memory/d' "$tmp/err" ;;
	"cuda_split_test processes") # a rank of it does not come
		sed -i -e '/fake_cuda: LEAK: device memory/d' \
			-e '/fake_nccl: rank [023] of 4 has waited 1 s in ncclAllGather/d' "$tmp/err"
		;;
	"cuda_exchange_test processes") # a peer that never sends
		sed -i '/fake_nccl: rank 0 of 2 has waited 1 s in ncclRecv/d' "$tmp/err" ;;
	esac
	if [ -s "$tmp/err" ]; then
		not_ok "$title: every call is legal, and nothing is left" "$(sort -u "$tmp/err")"
	else
		ok "$title: every call is legal, and nothing is left"
	fi
}
places() { run cuda_places_test "$@"; }
ranks() { run cuda_ranks_test "$@"; }

shm_begin ccs-

modules=${1:-build}/tests/cuda_modules	# lists of words: no spaces may be in it
all=$(echo "$modules"/*.so)
ring=$modules/ring_allreduce.so
some="$ring $modules/direct_all_to_all.so $modules/binomial_reduce.so"
together=$(every 2 0 $all) apart=$(every 2 1 $all)
[ "${2-}" != --long ] || together=$all apart=$all

places devices "$all" CCS_TILE_BYTES=2048
places devices "$some" FAKE_CUDA_LOG="$tmp/log"
holds "kernels wait for other GPUs for ever" sh -c \
	"grep -q 'limit 30000 ms' '$tmp/log' && ! grep -q 'ms ends' '$tmp/log'"
places devices "$some" CCS_P2P_DISABLE=1
places devices "$some" FAKE_CUDA_PEERS=none CCS_PROTOCOLS=ll/3 CCS_TILE_BYTES=128
places devices "$some" CCS_PROTOCOLS=simple/5 CCS_TILE_BYTES=64
places graphs "$some"
places graphs "$some" CCS_P2P_DISABLE=1 CCS_PROTOCOLS=simple
run cuda_fork_test forks "$ring"
ranks processes "$together"
ranks processes "$apart" CCS_P2P_DISABLE=1 CCS_TILE_BYTES=128
ranks processes "$some" FAKE_CUDA_PEERS=none CCS_PROTOCOLS=simple/3 CCS_TILE_BYTES=128
ranks processes "$some" CCS_PROTOCOLS=ll

# One GPU takes fewer blocks than the driver says are resident: all have fewer channels.
fewer() { # fewer LOG: GPU 1 was tried with at most 8 blocks, GPU 0 with more; nobody called with more
	awk '/ntiles 0 / && $5 == 0 && $3 > tried { tried = $3 }
		/ntiles [1-9]/ && $5 < 2 && $3 > called { called = $3 }
		$5 == 1 && $3 > took { took = $3 }
		END { exit !(tried > 8 && took == 8 && called == 8) }' "$1"
}
two="$ring $modules/binomial_reduce.so"
share="FAKE_CUDA_SMS=32 FAKE_CUDA_SHARE=8@1"
places devices "$two" $share FAKE_CUDA_LOG="$tmp/fewer"
grep "launch blocks" "$tmp/fewer" >"$tmp/launches"
holds "a GPU's smaller part leaves all parts fewer channels" fewer "$tmp/launches"
places graphs "$two" $share
ranks processes "$some" FAKE_CUDA_SMS=32 FAKE_CUDA_SHARE=50@1 FAKE_CUDA_LOG="$tmp/narrow"
narrow() { # narrow LOG: where GPU 1 takes 8 blocks with 32 threads alone, no GPU is called with more
	awk '/launch blocks 8 .* ntiles [1-9].* replicas 1 / { n++; wide += !/ threads 32 / }
		END { exit !(n && !wide) }' "$1"
}
holds "... or fewer threads" narrow "$tmp/narrow"
places trouble "$ring $modules/direct_all_to_all.so" FAKE_CUDA_LOG="$tmp/limited"
holds "... until a timeout is set" grep -q 'limit 300 ms ends' "$tmp/limited"
ranks trouble "$ring"
ranks trouble "$ring" CCS_P2P_DISABLE=1
laid=${1:-build}/tests/layout_modules
run cuda_layouts_test devices "$laid"
run cuda_layouts_test devices "$laid" CCS_PROTOCOLS=ll
run cuda_layouts_test devices "$laid" CCS_P2P_DISABLE=1 CCS_TILE_BYTES=64
run cuda_layouts_test processes "$laid"
run cuda_exchange_test processes ""
run cuda_split_test devices "$ring"
run cuda_split_test processes "$ring"

shm_end
exit $failed
