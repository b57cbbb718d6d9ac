#!/bin/sh
# The CUDA half of both commands, on any machine: against a driver and an NVRTC of our
# own (tests/fake_cuda), without either, and with the real NVRTC where there is one.
# Each schedule runs for two numbers of ranks, many and few by turns; with --long for all four.
# usage: cuda_test.sh BUILD [--long]
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
ccc=$build/bin/ccc
ccrun=$build/bin/ccrun
fake=$build/tests/fake_cuda
ring=schedules/ring_allreduce.ccs
bare_environment
export FAKE_CUDA_FORK=1
export CCS_CACHE_DIR=
mkdir "$tmp/empty"

none() { CCS_NVRTC=none "$@"; }
faked() { CCS_NVRTC=$fake/libnvrtc.so LD_LIBRARY_PATH=$fake "$@"; }
gpu() { LD_LIBRARY_PATH=$fake "$@"; }	# a GPU, and no NVRTC of ours

# ---- ccc without NVRTC ----------------------------------------------------------------
status "without NVRTC ccc puts in the source" 0 none "$ccc" $ring -n 4 -o "$tmp/source.so"
holds "... without a word" test ! -s "$tmp/err"
holds "... of the kernels" grep -qa __global__ "$tmp/source.so"
status "--target=cpu" 0 none "$ccc" $ring -n 4 --target=cpu -o "$tmp/cpu.so"
holds "... is silent" test ! -s "$tmp/err"
holds "... and leaves the source out" sh -c "! grep -qa __global__ '$tmp/cpu.so'"
rm -f "$tmp/x.so"
status "--target=cuda without NVRTC" 4 none "$ccc" $ring -n 4 --target=cuda -o "$tmp/x.so"
says "... names it" "$tmp/err" 'needs NVRTC'
holds "... and makes no file" test ! -e "$tmp/x.so"
status "--emit=ptx without NVRTC" 4 none "$ccc" $ring -n 4 --emit=ptx
status "--emit=cuda needs no NVRTC" 0 none "$ccc" $ring -n 4 --emit=cuda
says "... and prints the kernel" "$tmp/out" 'ccs_kernel'
status "a path that is no NVRTC" 4 env CCS_NVRTC="$tmp/none.so" "$ccc" $ring --target=cuda \
	-n 4 -o "$tmp/x.so"
says "... is named" "$tmp/err" 'none\.so'

# ---- ccc with one of our own --------------------------------------------------------------
status "a GPU that NVRTC does not know" 4 faked "$ccc" $ring -n 4 --arch=sm_300 -o "$tmp/x.so"
says "... is named, with those that it knows" "$tmp/err" 'sm_300; .*sm_80, sm_90, sm_100, sm_101'
status "--arch of no GPU" 2 faked "$ccc" $ring --arch=x90 -o "$tmp/x.so"
status "--kernels of no type" 2 faked "$ccc" $ring --kernels=float17:max -o "$tmp/x.so"
says "... names the nearest" "$tmp/err" 'float16'
status "--kernels of no operator" 2 faked "$ccc" $ring --kernels=float16:mix -o "$tmp/x.so"
status "--target=cpu goes without --emit=ptx" 2 faked "$ccc" $ring --target=cpu --emit=ptx
export FAKE_NVRTC_FAIL=1
rm -f "$tmp/x.so"
status "source that NVRTC refuses is a bug of ours" 70 faked "$ccc" $ring -n 4 --target=cuda -o "$tmp/x.so"
says "... with NVRTC's text" "$tmp/err" 'what a compiler.s error looks like'
holds "... and makes no file" test ! -e "$tmp/x.so"
unset FAKE_NVRTC_FAIL
status "ccc compiles kernels where NVRTC is" 0 faked "$ccc" $ring -n 4 -o "$tmp/default.so"
status "ccc for the GPU" 0 faked "$ccc" $ring -n 2..8,40 --target=cuda -o "$tmp/ring.so"
holds "... is silent" test ! -s "$tmp/err"
faked "$ccc" $ring -n 2..8,40 --target=cuda -o "$tmp/again.so"
holds "... makes the same bytes each time" cmp -s "$tmp/ring.so" "$tmp/again.so"
faked "$ccc" $ring -n 2..8 --arch=sm_80,sm_90,sm_80 --kernels=float16:max,all:premul \
	-o "$tmp/more.so"
kernels() { tr '\0' '\n' <"$1" | grep -ac '^FAKE CUBIN'; }
holds "float32 sum in each protocol" test "$(kernels "$tmp/ring.so")" = 2
holds "... by default, too" test "$(kernels "$tmp/default.so")" = 2
holds "--arch, --kernels: 16 keys, 2 protocols, 2 GPUs" test "$(kernels "$tmp/more.so")" = 64
status "a module with kernels runs on the CPU" 0 "$ccrun" -n 4 "$tmp/ring.so" -e 4K

# ---- ccrun: what is missing -------------------------------------------------------------------
if ! "$ccrun" -n 4 --device cuda "$tmp/cpu.so" 2>&1 | grep -q 'libcuda.so.1 cannot be opened'; then
	echo "skip - a machine without NVIDIA's driver: this one has it"
else
	status "a GPU without its driver" 4 "$ccrun" -n 4 --device cuda "$tmp/ring.so"
	says "... names libcuda.so.1" "$tmp/err" 'libcuda\.so\.1'
fi
status "a driver without a GPU" 4 env FAKE_CUDA_GPUS=0 LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 \
	--device cuda "$tmp/ring.so"
says "... says so" "$tmp/err" 'finds no GPU'
status "--device cuda:3 where there is one GPU" 2 gpu "$ccrun" -n 4 --device cuda:3 "$tmp/ring.so"
status "--device cuda:x" 2 gpu "$ccrun" -n 4 --device cuda:x "$tmp/ring.so"
status "an old GPU" 4 env FAKE_CUDA_CAPABILITY=61 LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 \
	--device cuda "$tmp/ring.so"
status "a module for the CPU alone" 4 gpu "$ccrun" -n 4 --device cuda "$tmp/cpu.so"
says "... says how to compile it" "$tmp/err" '--target=cpu,cuda --arch=sm_90'
status "a type that it lacks, without NVRTC" 4 none gpu "$ccrun" -n 4 --device cuda \
	"$tmp/ring.so" -d float16 -o max -e 1K
says "... says what is missing" "$tmp/err" 'no kernel for float16 max, .* on sm_90'
says "... and what makes it" "$tmp/err" '--kernels=float16:max'
status "blocks that do not fit" 4 env FAKE_CUDA_SMS=1 FAKE_CUDA_REGISTERS=128 LD_LIBRARY_PATH="$fake" \
	"$ccrun" -n 40 --device cuda "$tmp/ring.so" -e 1K
says "... E0501, with how many do" "$tmp/err" 'E0501: .* needs [0-9]+ blocks .* holds 16'
status "a kernel that gives up" 3 env FAKE_CUDA_STUCK=1 LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 \
	--device cuda "$tmp/ring.so" -e 1K
says "... is told of with rank, line and peer" "$tmp/err" \
	'rank 2 waits at ring_allreduce\.ccs:[0-9]+ to receive from rank 1'

# The same where no work is over when its call returns, as on a GPU.
status "launches that are not over when the call returns" 0 env FAKE_CUDA_ASYNC=1 \
	CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" "$ccrun" -n 8 --device cuda "$tmp/ring.so" \
	-b 4 -e 1M -f 16
status "... and graphs of them" 0 env FAKE_CUDA_ASYNC=1 CCS_NVRTC="$fake/libnvrtc.so" \
	LD_LIBRARY_PATH="$fake" "$ccrun" -n 8 --device cuda "$tmp/ring.so" -b 4 -e 64K -f 16 -G 5

# ---- the disk cache -------------------------------------------------------------------------------
export CCS_CACHE_DIR="$tmp/cache"
status "ccc caches the kernels that it compiles" 0 faked "$ccc" $ring -n 4 -o "$tmp/cached.so"
holds "... float32 sum in each protocol" test "$(ls "$CCS_CACHE_DIR" | wc -l)" = 2
status "... and takes them from there" 0 env FAKE_NVRTC_FAIL=1 CCS_NVRTC="$fake/libnvrtc.so" \
	LD_LIBRARY_PATH="$fake" "$ccc" $ring -n 4 -o "$tmp/again.so"
holds "... the same bytes" cmp -s "$tmp/cached.so" "$tmp/again.so"
status "... not for another GPU" 70 env FAKE_NVRTC_FAIL=1 CCS_NVRTC="$fake/libnvrtc.so" \
	LD_LIBRARY_PATH="$fake" "$ccc" $ring -n 4 --arch=sm_80 -o "$tmp/again.so"
rm -r "$CCS_CACHE_DIR"
status "a type that the module lacks is compiled" 0 faked "$ccrun" -n 4 --device cuda \
	"$tmp/ring.so" -d int32 -o max -b 1K -e 1K
holds "... and cached" test "$(ls "$CCS_CACHE_DIR" | wc -l)" = 1
holds "... where only this user can write" test "$(stat -c %a "$CCS_CACHE_DIR")" = 700
status "... and needs no NVRTC then" 0 none gpu "$ccrun" -n 4 --device cuda "$tmp/ring.so" \
	-d int32 -o max -b 1K -e 1K
cp "$fake/libnvrtc.so" "$tmp/libnvrtc_other.so"
status "... but not for another NVRTC, which must make it" 4 env FAKE_NVRTC_FAIL=1 \
	CCS_NVRTC="$tmp/libnvrtc_other.so" LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 --device cuda \
	"$tmp/ring.so" -d int32 -o max -b 1K -e 1K
status "... as one that fails need not make it again" 0 env FAKE_NVRTC_FAIL=1 \
	CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 --device cuda \
	"$tmp/ring.so" -d int32 -o max -b 1K -e 1K
entry=$(ls "$CCS_CACHE_DIR"/*)
printf 'x' | dd of="$entry" bs=1 seek=60 conv=notrunc 2>/dev/null
status "a damaged entry counts as none" 4 none gpu "$ccrun" -n 4 --device cuda "$tmp/ring.so" \
	-d int32 -o max -b 1K -e 1K
status "... and is made again" 0 faked "$ccrun" -n 4 --device cuda "$tmp/ring.so" \
	-d int32 -o max -b 1K -e 1K
status "... whole" 0 none gpu "$ccrun" -n 4 --device cuda "$tmp/ring.so" -d int32 -o max \
	-b 1K -e 1K
holds "... and nothing else is left there" test "$(ls "$CCS_CACHE_DIR" | wc -l)" = 1
chmod 777 "$CCS_CACHE_DIR"
status "a cache that others can write to is not used" 4 none gpu "$ccrun" -n 4 --device cuda \
	"$tmp/ring.so" -d int32 -o max -b 1K -e 1K
chmod 700 "$CCS_CACHE_DIR"
status "no cache: CCS_CACHE_DIR is empty" 0 env CCS_CACHE_DIR= CCS_NVRTC="$fake/libnvrtc.so" \
	LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 --device cuda "$tmp/ring.so" -d int8 -b 1K -e 1K
holds "... writes nothing" test "$(ls "$CCS_CACHE_DIR" | wc -l)" = 1
export FAKE_CUDA_FAIL=cuModuleLoadData:1:200
status "a module's kernel that the driver refuses is compiled here" 0 env CCS_CACHE_DIR= \
	CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 --device cuda \
	"$tmp/ring.so" -b 1K -e 1K
status "... or, without NVRTC, the driver's error is told" 4 none gpu "$ccrun" -n 4 \
	--device cuda "$tmp/ring.so" -b 1K -e 1K
says "... with the call" "$tmp/err" 'cuModuleLoadData failed'
export FAKE_CUDA_VERSION=12040
status "a kernel that is too new for the driver" 4 env CCS_CACHE_DIR= \
	CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 --device cuda \
	"$tmp/ring.so" -d int8 -b 1K -e 1K
says "... names both versions" "$tmp/err" 'NVRTC 13\.0 made it, .*CUDA 12\.4: CCS_NVRTC'
unset FAKE_CUDA_FAIL FAKE_CUDA_VERSION
status "another GPU than the module's" 0 env FAKE_CUDA_CAPABILITY=80 \
	CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 --device cuda \
	"$tmp/ring.so" -b 1K -e 1K
status "a GPU that is newer than NVRTC" 0 env FAKE_CUDA_CAPABILITY=121 \
	CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 --device cuda \
	"$tmp/ring.so" -b 1K -e 1K
status "... of a kind of which NVRTC knows one that is a system on a chip" 0 env \
	FAKE_CUDA_CAPABILITY=103 CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 \
	--device cuda "$tmp/ring.so" -b 1K -e 1K
status "... a later one of the same kind runs what there is" 0 env FAKE_CUDA_CAPABILITY=97 \
	CCS_NVRTC=none LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 --device cuda "$tmp/ring.so" -b 1K -e 1K

# ---- every schedule, by the launch contract ------------------------------------------------------
export FAKE_CUDA_SMS=8	# fewer blocks fit: fewer replicas, less memory to fill
most=2
[ "${2-}" != --long ] || most=4
sizes="8 3 4 2" other="4 2 8 3"
for m in "$build"/tests/cuda_modules/*.so; do
	name=$(basename "$m" .so)
	bad= ran=0
	for n in $sizes; do
		[ $ran -lt $most ] || break
		faked "$ccrun" -n $n --device cuda "$m" -b 4 -e 40K -f 100 -d float32,int8 \
			-o sum,avg,premul -r all --iters 1 -w 0 >"$tmp/out" 2>&1
		rc=$?
		[ $rc = 2 ] && grep -q 'has no plan for' "$tmp/out" && continue
		ran=$((ran + 1))
		[ $rc = 0 ] && grep -qE 'wrong elements *: 0 OK|; order not checked$' "$tmp/out" || bad="$bad $n"
	done
	if [ -z "$bad" ] && [ $ran -gt 0 ]; then
		ok "$name: three operators, $ran Ns, no element is wrong"
	else
		not_ok "$name on the GPU, N =$bad" "$(tail -5 "$tmp/out")"
	fi
	swap=$sizes sizes=$other other=$swap
done
status "every type and operator" 0 faked "$ccrun" -n 4 --device cuda "$tmp/ring.so" -b 4 -e 1K \
	-f 200 -d all -o all --iters 1 -w 0
for settings in CCS_PROTOCOLS=ll CCS_PROTOCOLS=simple CCS_PROTOCOLS=simple/3 CCS_DIRECT=0 CCS_THREADS=64 \
		CCS_TILE_BYTES=64 "CCS_PROTOCOLS=ll/5 CCS_TILE_BYTES=128"; do
	status "$settings" 0 env $settings CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" \
		"$ccrun" -n 8 --device cuda "$tmp/ring.so" -b 4 -e 400K -f 10 -d float32,int8 \
		--iters 2
done
status "a setting that is none" 2 env CCS_PROTOCOLS=fast LD_LIBRARY_PATH="$fake" "$ccrun" -n 8 \
	--device cuda "$tmp/ring.so"

export FAKE_CUDA_SMS=132

# ---- one rule for channels, whatever the protocol --------------------------------------------------
# Blocks never fall as sizes grow, until as many run as are resident.
shapes() { # shapes MODULE
	faked "$ccrun" -v -n 8 --device cuda "$1" -b 64 -e 4M -f 2 -c 0 -w 0 --iters 1 --repeats 1
}
rising() {
	awk '{ for (i = 1; i < NF; i++) if ($(i + 1) == "blocks") { n++; falls += $i < last; last = $i } }
		END { exit !(n == 17 && !falls && last >= 132) }' "$1"
}
# LL's slots stay in the L2 cache, whatever the size. Simple takes whole parts, or 64 KiB at least.
cached() { awk '/ B of slots$/ { n++; many += / ll, / && $(NF - 3) > 30000000 } END { exit !(n == 17 && !many) }' "$1"; }
for algorithm in ring direct double_binary_tree recursive_doubling; do
	faked "$ccc" schedules/${algorithm}_allreduce.ccs -n 8 --target=cuda -o "$tmp/shape.so"
	shapes "$tmp/shape.so" >"$tmp/$algorithm"
	holds "$algorithm: more blocks for larger sizes" rising "$tmp/$algorithm"
	holds "... and slots of LL in 30 MB" cached "$tmp/$algorithm"
done
says "a channel for each 4 KiB of a chunk" "$tmp/ring" \
	'^ +262144 .* ll, 8 channels, 64 blocks of 256 threads, 1 tile of 1024, 8388608 B of slots$'
says "... and at least one, of no more warps than have something to move" "$tmp/ring" '^ +64 .* ll, 1 channel, 8 blocks of 64 threads, 1 tile of 4, 4096 B of slots$'
says "LL has slots for the messages of one call alone, which stay in the L2 cache" "$tmp/direct" \
	'^ +1048576 .* ll, 32 channels, 256 blocks of 256 threads, 1 tile of 1024, 29360128 B of slots$'
status "... and in calls of many tiles waits for them" 0 env CCS_PROTOCOLS=ll CCS_TILE_BYTES=64 \
	FAKE_CUDA_SMS=8 CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" "$ccrun" -n 8 \
	--device cuda "$build/tests/cuda_modules/direct_allreduce.so" -b 4 -e 40K -f 100
faked "$ccrun" -v -n 8 --device cuda "$tmp/ring.so" -b 16M -e 16M -c 0 -w 0 --iters 1 --repeats 1 >"$tmp/large"
says "large calls by Simple have tiles of up to 64 KiB" "$tmp/large" \
	'simple, 33 channels, 264 blocks .*, 1 tile of 15888, 134221824 B of slots$'
CCS_PROTOCOLS=ll faked "$ccrun" -v -n 8 --device cuda "$tmp/ring.so" -b 3M -e 3M -w 0 --iters 1 --repeats 1 >"$tmp/large"
says "... with LL tiles below 4 KiB, whose slots stay in the L2 cache" "$tmp/large" \
	'^ +3145728 .* 0  ll, 33 channels, 264 blocks of .*, 4 tiles of [5-8][0-9][0-9], 2[0-9]{7} B of slots$'
says "... with right results" "$tmp/large" 'wrong elements *: 0 OK'
CCS_PROTOCOLS=1M:ll,simple/2 shapes "$tmp/ring.so" >"$tmp/falls"
falling() { test -s "$1" && ! rising "$1"; }
holds "a table by which they fall is noticed" falling "$tmp/falls"
FAKE_CUDA_REGISTERS=168 shapes "$tmp/ring.so" >"$tmp/fat"
says "kernels of many registers have fewer threads" "$tmp/fat" ' 16 channels, 128 blocks of 256 threads'
status "a part of a GPU takes fewer channels" 0 env FAKE_CUDA_SHARE=8 CCS_NVRTC="$fake/libnvrtc.so" \
	LD_LIBRARY_PATH="$fake" "$ccrun" -v -n 8 --device cuda "$tmp/ring.so" -b 64 -e 1M -f 128 -G 2
says "... than the driver says are resident" "$tmp/out" \
	'^ +8192 .* 1 channel, 8 blocks.*'
says "... with right results" "$tmp/out" '^ +1048576 .* simple, 4 channels, 32 blocks .*'
FAKE_CUDA_SHARE=200 shapes "$tmp/ring.so" >"$tmp/narrow"
says "a part that is too small for one takes fewer threads" "$tmp/narrow" ' 1 channel, 8 blocks of 32 threads'
status "a part that is too small for a warp" 4 env FAKE_CUDA_SHARE=400 LD_LIBRARY_PATH="$fake" \
	"$ccrun" -n 8 --device cuda "$tmp/ring.so" -b 64 -e 64
says "... is refused by the driver's word" "$tmp/err" '8 blocks of 32 threads .*cuLaunchCooperativeKernel failed'
status "on the CPU -v says nothing more" 0 "$ccrun" -v -n 4 "$tmp/ring.so" -e 1K
holds "... of channels" sh -c "! grep -q channel '$tmp/out'"
unset FAKE_CUDA_SMS

# ---- the library --------------------------------------------------------------------------------------
faked "$ccc" schedules/binomial_reduce.ccs -n 4 --target=cuda -o "$tmp/reduce.so"
faked "$build/tests/cuda/cuda_host_test" "$tmp/ring.so" "$tmp/reduce.so" 2>&1 ||
	not_ok "cuda_host_test" "it ended with status $?"
faked "$build/tests/cuda/cuda_graphs_test" "$tmp/ring.so" 2>&1 ||
	not_ok "cuda_graphs_test" "it ended with status $?"

# ---- the real NVRTC --------------------------------------------------------------------------------------
real_nvrtc
if "$ccc" $ring -n 2..4 --target=cuda -o "$tmp/real.so" 2>"$tmp/err"; then
	"$ccc" $ring -n 2..4 --target=cuda -o "$tmp/real2.so" 2>>"$tmp/err"
	holds "NVRTC: kernels are the same bytes each time" cmp -s "$tmp/real.so" "$tmp/real2.so"
	holds "... made without a warning" test ! -s "$tmp/err"
	status "... --emit=ptx" 0 "$ccc" $ring -n 4 --emit=ptx
	says "... prints the kernel" "$tmp/out" '\.entry ccs_kernel'
else
	case $? in
	4) echo "skip - the real NVRTC: $(head -1 "$tmp/err")" ;;
	*) not_ok "compiling with NVRTC" "$(cat "$tmp/err")" ;;
	esac
fi
exit $failed
