#!/bin/sh
# ccrun on GPUs, and beside NCCL, on any machine: against a driver and an NCCL of our own
# (tests/fake_cuda, tests/fake_nccl). Where ranks live, processes, graphs, the columns,
# and each way in which it can fail.
# usage: ccrun_cuda_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
ccc=$build/bin/ccc
ccrun=$build/bin/ccrun
fake=$build/tests/fake_cuda
bare_environment
export CCS_CACHE_DIR= CCS_NVRTC="$fake/libnvrtc.so" CCS_NCCL="$build/tests/fake_nccl/libnccl.so.2"

gpus() { # gpus N COMMAND...: on a machine with N of them
	n=$1
	shift
	FAKE_CUDA_GPUS=$n LD_LIBRARY_PATH=$fake timeout 120 "$@"
}
module() { # module SCHEDULE-FILE N
	LD_LIBRARY_PATH=$fake "$ccc" "$1" -n "$2" --target=cuda \
		-o "$tmp/$(basename "$1" .ccs).so" ||
		not_ok "$1 compiles" "ccc ended with status $?"
}
module schedules/ring_allreduce.ccs 2..8
ring=$tmp/ring_allreduce.so

# field FILE N: that column of the table's last row
field() { awk -v n="$2" '/^ / { x = $n } END { print x }' "$1"; }
# no process, no GPU memory and no operator of NCCL's is left
clean() { ! grep -qE 'LEAK|ILLEGAL' "$tmp/err"; }
quick="-b 1K -e 1K --iters 2 --repeats 1"

# ---- where the ranks live --------------------------------------------------------------
# devices COUNT: of the log, "device: workers" in the order of the first workers
devices() {
	sed -n 's/^launch .* device \([0-9]*\) .* workers \([0-9]*\)\.\.\([0-9]*\) .*/\2 \3 \1/p' \
		"$tmp/log" | sort -un | awk '{ printf "%s%s..%s:%s", s, $1, $2, $3; s = " " }'
}
placed() { # placed WHAT GPUS RANKS DEVICE WANTED
	rm -f "$tmp/log"
	FAKE_CUDA_LOG=$tmp/log status "$1" 0 gpus "$2" "$ccrun" -n "$3" --device "$4" "$ring" $quick
	if [ "$(devices)" = "$5" ]; then ok "... in blocks: $5"; else
		not_ok "... in blocks" "$(devices), not $5"
	fi
}
placed "--device cuda with one GPU" 1 4 cuda "0..4:0"
says "... says so" "$tmp/out" '4 ranks on one GPU, Fake GPU 0'
placed "--device cuda with two" 2 4 cuda "0..2:0 2..4:1"
says "... says so" "$tmp/out" '4 ranks on 2 GPUs'
placed "--device cuda, 8 ranks on 3 GPUs" 3 8 cuda "0..3:0 3..6:1 6..8:2"
placed "more GPUs than ranks" 4 2 cuda "0..1:0 1..2:1"
placed "--device cuda:2" 3 4 cuda:2 "0..4:2"
placed "--device cuda:2,0" 3 5 cuda:2,0 "0..3:2 3..5:0"
placed "a GPU for each rank" 2 3 cuda:1,0,1 "0..2:1 2..3:0"
status "more GPUs than ranks in the list" 2 gpus 4 "$ccrun" -n 2 --device cuda:0,1,2 "$ring"
says "... is refused" "$tmp/err" 'names 3 GPUs for 2 ranks'
status "a GPU that is not there" 2 gpus 2 "$ccrun" -n 2 --device cuda:0,2 "$ring"
says "... is named" "$tmp/err" 'no GPU 2'
status "launches that wait for their end, on two GPUs" 4 env CUDA_LAUNCH_BLOCKING=1 \
	FAKE_CUDA_GPUS=2 LD_LIBRARY_PATH="$fake" "$ccrun" -n 2 --device cuda "$ring" $quick
says "... are refused" "$tmp/err" 'CUDA_LAUNCH_BLOCKING is set'
holds "... and leave nothing behind" clean
status "... on one they are fine" 0 env CUDA_LAUNCH_BLOCKING=1 FAKE_CUDA_GPUS=1 \
	LD_LIBRARY_PATH="$fake" "$ccrun" -n 2 --device cuda "$ring" $quick
for list in cuda: cuda:, cuda:0, cuda:,0 cuda:0,,1 cuda:0,x cuda:99999999999 cudax; do
	status "--device $list" 2 gpus 2 "$ccrun" -n 2 --device $list "$ring"
done
"$ccc" tests/cpu/layouts/gather_columns.ccs -n 2 --target=cuda -o "$tmp/columns.so" 2>"$tmp/err"
holds "ccc has nothing to say of chunks by column on GPUs" test ! -s "$tmp/err"
status "chunks by column" 0 gpus 1 "$ccrun" -n 2 --device cuda --rows 5 "$tmp/columns.so" $quick
holds "... and leave nothing behind" clean
status "no GPU at all" 4 gpus 0 "$ccrun" -n 2 --device cuda "$ring"
says "... is said" "$tmp/err" 'finds no GPU'

# ---- times -----------------------------------------------------------------------------
rm -f "$tmp/log"
FAKE_CUDA_LOG=$tmp/log status "-G" 0 gpus 2 "$ccrun" -n 3 --device cuda "$ring" -b 1K -e 1K -G 3 \
	--iters 4 --repeats 2
says "... says so" "$tmp/out" 'median of 2 times the mean of 3 launches of a graph of 4 runs'
holds "... launches a graph a GPU: 2 GPUs, 2 placements, 2 repeats, 3 times" \
	test "$(grep -c '^cuGraphLaunch' "$tmp/log")" = 24
holds "... of 4 calls each" test "$(grep -c 'device 1 .* captured$' "$tmp/log")" = 8
holds "... and frees it" test "$(grep -c '^cuGraphExecDestroy' "$tmp/log")" = 4
rm -f "$tmp/log"
FAKE_CUDA_LOG=$tmp/log status "--cudagraph without a warm-up" 0 gpus 1 "$ccrun" -n 3 --device cuda \
	"$ring" -b 1K -e 1K --cudagraph 1 --iters 3 --repeats 1 -w 0
holds "... is the same" test "$(grep -c 'captured$' "$tmp/log")" = 6
rm -f "$tmp/log"
FAKE_CUDA_LOG=$tmp/log status "--repeats" 0 gpus 1 "$ccrun" -n 3 --device cuda "$ring" -b 1K -e 1K \
	--iters 7 --repeats 4 -w 1
holds "... 2 placements of 1 + 4 * 7 + 1 calls" test "$(grep -c '^launch' "$tmp/log")" = 60
holds "... by events" test "$(grep -c '^cuEventElapsedTime' "$tmp/log")" = 8
status "-G on the CPU" 2 "$ccrun" -n 3 "$ring" -G 3
status "--copy-rate on the CPU" 2 "$ccrun" -n 3 "$ring" --copy-rate
status "--repeats on the CPU" 0 "$ccrun" -n 3 "$ring" $quick --repeats 3
says "... is said" "$tmp/out" 'median of 3 times the mean of 2 runs'
status "a driver that cannot tell the time" 4 env FAKE_CUDA_VERSION=12020 \
	LD_LIBRARY_PATH="$fake/old" "$ccrun" -n 3 --device cuda "$ring" $quick
says "... names what it lacks" "$tmp/err" 'cuEventElapsedTime'
for call in cuMemAlloc_v2:3:2 cuEventCreate:3:2 cuEventRecord:9:999 cuEventElapsedTime:1:999 \
	    cuStreamCreate:2:2 cuMemcpyDtoHAsync_v2:2:999; do
	status "$call" 4 env FAKE_CUDA_FAIL=$call LD_LIBRARY_PATH="$fake" "$ccrun" -n 3 \
		--device cuda "$ring" $quick
	holds "... leaves nothing behind" clean
done
for call in cuStreamBeginCapture_v2:2 cuStreamEndCapture:2 cuGraphInstantiateWithFlags:1 \
	    cuGraphLaunch:3 cuLaunchCooperativeKernel:4; do
	status "-G, $call" 4 env FAKE_CUDA_FAIL=$call:999 FAKE_CUDA_GPUS=2 LD_LIBRARY_PATH="$fake" \
		"$ccrun" -n 3 --device cuda "$ring" $quick -G 2
	holds "... leaves nothing behind" clean
done

# ---- the part of a copy's rate ---------------------------------------------------------
# A ring of N moves 2 (N - 1) times the size. Columns: 6 time, 10 copy; the rate in the foot is
# of the last column of all, so its copy's time follows from it.
status "--copy-rate" 0 gpus 2 "$ccrun" -n 4 --device cuda "$ring" -b 256K -e 256K --iters 2 \
	--repeats 1 --copy-rate
says "... has a column" "$tmp/out" '#wrong  copy '
copies() {	# copies GPUS: whether the last row's last column is what its other numbers give
	awk -v gpus="$1" '/^ / { size = $1; us = $(NF - 4); part = $NF }
		/last copy/ { rate = $(NF - 4) }
		END { want = 100 * (6 * size / us) / (gpus * rate * 1e3 / 2)
		      exit !(part > 0 && want > 0.95 * part - 0.1 && want < 1.05 * part + 0.1) }' \
		"$tmp/out"
}
holds "... messages' bytes over time, over the copy's rate on both GPUs" copies 2
status "--copy-rate of nothing" 0 gpus 1 "$ccrun" -n 4 --device cuda "$ring" -b 0 -e 0 --copy-rate
holds "... is n/a" test "$(field "$tmp/out" 10)" = n/a

# ---- --against nccl: where it runs -----------------------------------------------------
export FAKE_NCCL_VERSION=23203
# Columns beside NCCL: 6-9 ours, 10-13 NCCL's, 14 the ratio; 15-23 in place.
beside() { # beside WHAT GPUS RANKS HEAD: NCCL is there, and right
	status "$1" 0 gpus "$2" "$ccrun" -n "$3" --device cuda "$ring" $quick --against nccl
	says "... the head says how" "$tmp/out" "$4"
	holds "... nothing is wrong" test "$(field "$tmp/out" 9) $(field "$tmp/out" 13)" = "0 0"
	holds "... in place neither" test "$(field "$tmp/out" 18) $(field "$tmp/out" 22)" = "0 0"
	if awk '/^ / { ratio = $14; off = ratio - $10 / $6 }
		END { exit !(ratio != "" && off * off < (0.1 * ratio + 0.02) ^ 2) }' "$tmp/out"
	then ok "... the ratio is that of the times"; else
		not_ok "... the ratio is that of the times" "$(cat "$tmp/out")"
	fi
	says "... the foot has both" "$tmp/out" "of NCCL's *: 0 OK"
	holds "... and nothing is left" clean
}
shared='NCCL 2.32.3, its ranks on the same GPUs \(NCCL_MULTI_RANK_GPU_ENABLE=1\)'
beside "--against nccl, a GPU for each rank" 4 4 'NCCL 2.32.3, on the same GPUs'
beside "--against nccl, all ranks on one GPU" 1 4 "$shared"
beside "... 2 on each" 2 4 "$shared"
export FAKE_NCCL_VERSION=23000
beside "... by the first NCCL that can" 1 4 'NCCL 2.30.0, its ranks on the same GPUs'
export FAKE_NCCL_VERSION=22999
beside "an NCCL that cannot, a GPU for each rank" 4 4 'NCCL 2.29.99, on the same GPUs'
for n in 1 2; do
	status "... 4 ranks on $n" 4 gpus $n "$ccrun" -n 4 --device cuda "$ring" $quick --against nccl
	says "... names the version" "$tmp/err" \
		'--against nccl: NCCL 2.29.99 \(/.*libnccl.so.2\) cannot have several ranks .*on one GPU'
	says "... and what helps" "$tmp/err" 'NCCL 2.30 or later .*nvidia-nccl-cu13.* one GPU per rank'
	holds "... and prints no table" test ! -s "$tmp/out"
	holds "... nothing is left" clean
done
export FAKE_NCCL_VERSION=23203
for setting in NCCL_MULTI_RANK_GPU_ENABLE=0 NCCL_NVLS_ENABLE=1; do
	status "$setting" 4 gpus 1 env $setting "$ccrun" -n 4 --device cuda "$ring" $quick \
		--against nccl
	says "... NCCL refuses, and it is named" "$tmp/err" \
		"--against nccl: NCCL 2.32.3: ncclGroupEnd failed: .*; with several ranks on a GPU $setting must not"
	holds "... nothing is left" clean
	status "... does not matter with a GPU for each rank" 0 gpus 4 env $setting "$ccrun" -n 4 \
		--device cuda "$ring" $quick --against nccl
done
rm -f "$tmp/log"
FAKE_CUDA_LOG=$tmp/log status "--against nccl of another GPU" 0 gpus 3 "$ccrun" -n 2 \
	--device cuda:2 "$ring" $quick --against nccl
holds "... starts no rank on the first" sh -c "! grep -q 'device 0' '$tmp/log'"

# every contract that NCCL has, every root; types and operators
for s in allgather:bruck_allgather reduce_scatter:ring_reduce_scatter broadcast:binomial_broadcast \
	 reduce:binomial_reduce gather:linear_gather scatter:linear_scatter \
	 all_to_all:pairwise_all_to_all; do
	file=$(grep -lE "^schedule .*: *${s%%:*}\b|implements ${s%%:*}\b" schedules/*.ccs | head -1)
	if [ -z "$file" ]; then
		not_ok "a schedule for ${s%%:*}" "there is none"
		continue
	fi
	module "$file" 4
	for n in 1 4; do
		status "${s%%:*} on $n GPUs" 0 gpus $n "$ccrun" -n 4 --device cuda \
			"$tmp/$(basename "$file" .ccs).so" -b 100 -e 40K -f 20 --iters 1 \
			--repeats 1 -w 1 -r all -d float32,int8 --against nccl
		says "... is right" "$tmp/out" "of NCCL's *: 0 OK"
	done
	[ "${s%%:*}" != all_to_all ] ||
		holds "... but NCCL has none in place" test "$(field "$tmp/out" 19)" = n/a
done
for n in 1 4; do
	status "every type and operator on $n GPUs" 0 gpus $n "$ccrun" -n 4 --device cuda "$ring" \
		-b 1K -e 1K --iters 1 --repeats 1 -w 1 -d all -o all --against nccl
	says "... is right" "$tmp/out" "of NCCL's *: 0 OK"
	holds "... and frees its operators" clean
done

# ---- --against nccl: what keeps it from running ----------------------------------------
status "--against nccl without NCCL" 4 env CCS_NCCL=none LD_LIBRARY_PATH="$fake" "$ccrun" -n 4 \
	--device cuda "$ring" $quick --against nccl
says "... says so" "$tmp/err" '--against nccl: .*NCCL'
holds "... and prints no table" test ! -s "$tmp/out"
status "--against nccl on the CPU" 4 "$ccrun" -n 4 "$ring" $quick --against nccl
says "... says what to do" "$tmp/err" 'give --device cuda too'
cat >"$tmp/own.ccs" <<'EOF'
contract swap(in a[C], out b[C])
  ensures b[i] == a[i]@((rank + 1) % N)
schedule own implements swap(in a[1], out b[1]) {
  send a[0] to (rank - 1) % N
  recv b[0] from (rank + 1) % N
}
EOF
if LD_LIBRARY_PATH=$fake "$ccc" "$tmp/own.ccs" -n 4 --target=cuda -o "$tmp/own.so" \
		2>"$tmp/err"; then
	status "--against nccl of a contract that it has not" 4 gpus 4 "$ccrun" -n 4 --device cuda \
		"$tmp/own.so" $quick --against nccl
	says "... names it" "$tmp/err" 'NCCL has no swap; it has allreduce'
else
	not_ok "a contract of one's own compiles" "$(cat "$tmp/err")"
fi
status "--against mpi" 4 gpus 1 "$ccrun" -n 4 --device cuda "$ring" --against mpi
for n in 1 4; do
	export FAKE_NCCL_WRONG=1
	status "NCCL's result is wrong on $n GPUs" 3 gpus $n "$ccrun" -n 4 --device cuda "$ring" \
		$quick --against nccl
	unset FAKE_NCCL_WRONG
	holds "... an element of each rank" test "$(field "$tmp/out" 13)" = 4
	holds "... ours is right" test "$(field "$tmp/out" 9)" = 0
	says "... the first is told" "$tmp/err" 'NCCL: float32 sum, size 1024, .*rank 0, element 0'
done
status "NCCL's result is not looked at with -c 0" 0 env FAKE_NCCL_WRONG=1 LD_LIBRARY_PATH="$fake" \
	"$ccrun" -n 4 --device cuda "$ring" $quick --against nccl -c 0
for n in 1 3; do
	for call in ncclGetUniqueId:1:2 ncclCommInitRank:1:3 ncclCommInitRank:3:3 ncclGroupStart:1:3 \
		    ncclGroupStart:2:3 ncclGroupEnd:1:3 ncclGroupEnd:2:3 ncclAllReduce:1:5 \
		    ncclAllReduce:4:3 ncclCommGetAsyncError:2:6; do
		status "$n GPUs, $call" 4 env FAKE_NCCL_FAIL=$call FAKE_CUDA_GPUS=$n \
			LD_LIBRARY_PATH="$fake" timeout 60 "$ccrun" -n 3 --device cuda "$ring" \
			$quick --against nccl
		says "... names NCCL's call" "$tmp/err" \
			"--against nccl: .*(${call%%:*}|an earlier call) failed"
		holds "... leaves nothing behind" clean
	done
done

for n in 1 3; do
	status "a graph, and an NCCL that cannot be captured, on $n GPUs" 4 gpus $n "$ccrun" -n 3 \
		--device cuda "$ring" $quick --against nccl -G 2
	says "... says so" "$tmp/err" '--against nccl: .*ncclAllReduce failed: .*captured'
	holds "... leaves nothing behind" clean
done

# ---- for programs ------------------------------------------------------------------------
all="-b 1K -e 4K --iters 2 --repeats 3 --against nccl --copy-rate"
status "--json beside NCCL" 0 gpus 3 "$ccrun" -n 3 --device cuda "$ring" $all --json
json "... has its columns, and the copies'" 'baseline.name="nccl"' 'baseline.label=~NCCL 2.32.3' \
	'where=~3 ranks on 3 GPUs' settings.graph_launches=0 settings.repeats=3 rows.#=2 \
	'rows.0.in_place.baseline.time_us=*' rows.0.in_place.baseline.wrong=0 \
	'rows.1.out_of_place.baseline.busbw_gb_per_s=*' 'rows.1.out_of_place.ratio=*' \
	'rows.1.out_of_place.copy_percent=*' 'rows.1.out_of_place.copy_rate_gb_per_s=*' \
	summary.baseline.wrong=0 'summary.baseline.mean_busbw_gb_per_s=*' \
	'summary.copy_rate_gb_per_s=*' errors.#=0 status=0
cp "$tmp/out" "$tmp/json"
status "--csv beside NCCL" 0 gpus 3 "$ccrun" -n 3 --device cuda "$ring" $all --csv
passes "... says the same" same "$tmp/json" "$tmp/out"
csv "... with the columns" 1 'copy_percent=*' 'copy_rate_gb_per_s=*' 'baseline_time_us=*' \
	'baseline_algbw_gb_per_s=*' 'baseline_busbw_gb_per_s=*' baseline_wrong=0 'ratio=*'
csv "... and the summary" -1 record=summary baseline_wrong=0 'baseline_busbw_gb_per_s=*' \
	'copy_rate_gb_per_s=*'
status "wrong elements" 3 gpus 3 env FAKE_NCCL_WRONG=ncclAllReduce "$ccrun" -n 3 --device cuda \
	"$ring" $quick --against nccl --json
json "... are counted, and the first is told" status=3 summary.wrong=0 summary.baseline.wrong=6 \
	rows.0.in_place.baseline.wrong=3 \
	'rows.0.in_place.baseline.first_wrong=~rank 0, element 0' \
	'errors.0.text=~NCCL: float32 sum, size 1024, out of place: rank 0, element 0' errors.#=2
status "a launch that fails in the second row" 4 gpus 1 env FAKE_CUDA_FAIL=cuGraphLaunch:14:999 \
	"$ccrun" -n 3 --device cuda "$ring" -b 1K -e 4K --iters 2 --repeats 2 -G 2 --json
json "... leaves what there is, and the reason" status=4 'errors.0.text=~cuGraphLaunch failed' \
	settings.graph_launches=2 rows.0.out_of_place.wrong=0 rows.0.in_place.wrong=0 \
	rows.1.out_of_place.wrong=0 rows.1.in_place=null summary=null
status "no progress" 3 gpus 2 env FAKE_CUDA_STUCK=1 "$ccrun" -n 2 --device cuda "$ring" $quick \
	--timeout 1 --json
json "... tells who waits for whom" status=3 'errors.0.text=~to receive from rank' rows.#=0

# ---- a process a rank ------------------------------------------------------------------
# launched WHAT WANTED VARIABLES COMMAND...: two processes; VARIABLES are a function that sets
# rank $1's. Both must end with WANTED, or as it says: "3 4".
launched() {
	new_port
	what=$1 want=$2 setup=$3
	shift 3
	for r in 0 1; do
		(
			export FAKE_CUDA_GPUS=2 LD_LIBRARY_PATH=$fake
			$setup $r
			timeout 60 "$@" >"$tmp/out$r" 2>"$tmp/err$r" </dev/null
			echo $? >"$tmp/rc$r"
		) &
	done
	wait
	got="$(cat "$tmp/rc0") $(cat "$tmp/rc1")"
	if [ "$got" = "$want $want" ] || [ "$got" = "$want" ]; then ok "$what"; else
		not_ok "$what" "exit statuses $got, not $want: $(head -3 "$tmp/err0" "$tmp/err1")"
	fi
}
for launcher in torchrun mpirun srun; do
	launched "$launcher: two processes" 0 by_$launcher "$ccrun" --device cuda "$ring" $quick
	says "... rank 0 prints the table" "$tmp/out0" '2 processes on 1 host'
	says "... to its end" "$tmp/out0" 'wrong elements *: 0 OK'
	holds "... rank 1 nothing" test ! -s "$tmp/out1" -a ! -s "$tmp/err1"
done
launched "... -n may say how many" 0 by_torchrun "$ccrun" -n 2 --device cuda "$ring" \
	$quick -G 2 --copy-rate
launched "... another -n" 2 by_torchrun "$ccrun" -n 3 --device cuda "$ring" $quick
says "... is refused" "$tmp/err0" '-n 3, but torchrun has started 2 processes'
holds "... once" test ! -s "$tmp/err1"
launched "... a list of GPUs" 2 by_torchrun "$ccrun" --device cuda:0,1 "$ring" $quick
says "... is refused" "$tmp/err0" 'give --device cuda'
launched "... on the CPU" 0 by_mpirun "$ccrun" "$ring" $quick
says "... they share memory" "$tmp/out0" "2 processes on this host's CPU"
launched "... --transport local" 0 by_mpirun "$ccrun" -n 3 "$ring" $quick --transport local
says "... is a run of its own, each" "$tmp/out1" '3 ranks on the CPU'
alone() { by_torchrun 0; export WORLD_SIZE=1 LOCAL_WORLD_SIZE=1; }
launched "... one process is nothing special" 0 alone "$ccrun" -n 3 --device cuda "$ring" $quick
says "... it has all ranks" "$tmp/out1" '3 ranks on 2 GPUs'
launched "... beside NCCL" 0 by_torchrun "$ccrun" --device cuda "$ring" $quick --against nccl
says "... in the same processes" "$tmp/out0" 'NCCL 2.32.3, in the same processes'
says "... which is right" "$tmp/out0" "of NCCL's *: 0 OK"
launched "... with a full /dev/shm" 4 by_torchrun env LD_PRELOAD="$build/tests/faults.so" \
	FAULT=memory "$ccrun" --device cuda "$ring" $quick
says "... are told so" "$tmp/err0" 'posix_fallocate of /dev/shm/ccs-.* for .*: No space left.*make /dev/shm larger'
says "... all of them" "$tmp/err1" 'No space left'
sharing() { by_torchrun $1; export FAKE_CUDA_GPUS=1; }
launched "... on one GPU" 0 sharing "$ccrun" --device cuda "$ring" $quick --against nccl
says "... are on one for the schedule" "$tmp/out0" '2 processes on 1 host'
says "... and for NCCL" "$tmp/out0" 'NCCL 2.32.3, in the same processes'
sharing_old() { sharing $1; export FAKE_NCCL_VERSION=22803; }
launched "... on one GPU, before NCCL 2.30" 0 sharing_old "$ccrun" --device cuda "$ring" $quick \
	--against nccl
says "... are on hosts of their own for NCCL" "$tmp/out0" \
	'NCCL 2.28.3 over sockets, with processes sharing GPUs'
hosts() {
	by_torchrun $1
	export CCS_HOSTID=host-$1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 CUDA_VISIBLE_DEVICES=$1
}
launched "... for programs" 0 by_torchrun "$ccrun" --device cuda "$ring" $quick --against nccl --json
cp "$tmp/out0" "$tmp/out"
json "... one of them prints" ranks=2 'where=~2 processes on 1 host' status=0 \
	rows.0.in_place.baseline.wrong=0
holds "... rank 1 nothing" test ! -s "$tmp/out1" -a ! -s "$tmp/err1"
launched "... on two hosts" 0 hosts "$ccrun" --device cuda "$ring" $quick --against nccl
says "... says so" "$tmp/out0" '2 processes on 2 hosts'
says "... is right" "$tmp/out0" 'wrong elements *: 0 OK'
launched "... traced" 0 by_torchrun "$ccrun" --device cuda "$ring" $quick --json --trace "$tmp/trace.json"
"$ccc" schedules/ring_allreduce.ccs -n 2 --emit=json >"$tmp/plan"
holds "... as is planned" sh -c "python3 tests/ccrun/trace_check.py $tmp/trace.json $tmp/plan --table $tmp/out0 >/dev/null"
rm -f "$tmp/trace.json"
launched "... traced, on two hosts" 4 hosts "$ccrun" --device cuda "$ring" $quick --trace "$tmp/trace.json"
says "... is refused" "$tmp/err0" 'the ranks are on GPUs of several hosts: start the ranks on one host'
holds "... by one, and without a file" test ! -s "$tmp/err1" -a ! -e "$tmp/trace.json"
second_wrong() { by_torchrun $1; [ $1 = 0 ] || export FAKE_NCCL_WRONG=ncclAllReduce; }
launched "... wrong elements of one rank" 3 second_wrong "$ccrun" --device cuda "$ring" $quick \
	--against nccl
holds "... are those of all" test "$(field "$tmp/out0" 13)" = 1
says "... the first is told, by rank 0" "$tmp/err0" 'NCCL: .*rank 1, element 0'
says "... in the foot" "$tmp/out0" "of NCCL's *: 2$"
second_fails() { by_torchrun $1; [ $1 = 0 ] || export FAKE_CUDA_FAIL=$fails; }
for fails in cuEventElapsedTime:1:999 cuStreamBeginCapture_v2:1:999; do
	launched "... $fails on rank 1" 4 second_fails "$ccrun" --device cuda "$ring" $quick -G 2
	says "... is told by rank 1" "$tmp/err1" '^ccrun: rank 1: '
	says "... and by rank 0" "$tmp/err0" '^ccrun: rank 0: rank 1: '
done
fails=cuGraphLaunch:1:999
launched "... a launch that fails on rank 1" "3 4" second_fails "$ccrun" --device cuda "$ring" \
	$quick -G 2 --timeout 1
says "... is told by rank 1" "$tmp/err1" '^ccrun: rank 1: .*cuGraphLaunch failed'
says "... rank 0 waits no longer than it may" "$tmp/err0" \
	'^ccrun: rank 0: .*rank 0 waits at .*ring_allreduce\.ccs:[0-9]+ to receive from rank 1'
second_stuck() { by_torchrun $1; export FAKE_CUDA_STUCK=1; }
launched "... rank 1 never moves" 3 second_stuck "$ccrun" --device cuda "$ring" $quick --timeout 1
says "... and who waits for it is told" "$tmp/err0" \
	'rank 0: .*rank 0 waits at .*ring_allreduce\.ccs:[0-9]+ to (receive from|send to) rank 1'
contrary() { by_torchrun $1; export RANK=7; }
launched "... variables that contradict each other" 2 contrary "$ccrun" --device cuda "$ring"
says "... are named" "$tmp/err0" 'RANK is 7, but WORLD_SIZE is 2'
launched "... without NCCL" 4 by_torchrun env CCS_NCCL=none "$ccrun" --device cuda "$ring"
says "... it is what they meet by" "$tmp/err1" '^ccrun: rank 1: .*NCCL'
second_lacks() { by_torchrun $1; [ $1 = 0 ] || export CCS_NCCL=none; }
launched "... without NCCL on rank 1" 4 second_lacks "$ccrun" --device cuda "$ring"
says "... rank 0 need not wait for it" "$tmp/err0" '^ccrun: rank 0: rank 1: this needs NCCL'
two_jobs() {
	by_torchrun $1
	export TORCHELASTIC_RUN_ID=job-$1 CCS_RENDEZVOUS_SECONDS=1 CCS_RENDEZVOUS=127.0.0.1:$port
}
launched "... two jobs at one address" 3 two_jobs "$ccrun" --device cuda "$ring"
says "... do not join: rank 0 tells of the other" "$tmp/err0" \
	'rank 1 did not come .* that belong to another job \(the last: .*, TORCHELASTIC_RUN_ID=job-1\)'
says "... and the other of rank 0" "$tmp/err1" \
	'another job meets there \(TORCHELASTIC_RUN_ID=job-0; this is one with .*=job-1\)'
one_job() { by_torchrun $1; export TORCHELASTIC_RUN_ID=job-$1 CCS_JOB_TOKEN=both; }
launched "... unless they say that they are one" 0 one_job "$ccrun" --device cuda "$ring" $quick

# A rank 0 that tells rank 1 any status: its exit status is that of a failure, never 70.
told() { # told STATUS WANTED
	new_port
	"$build/tests/hosts/group_fail_test" answer $port "$1" "" &
	answering=$!
	(
		by_torchrun 1
		export CCS_RENDEZVOUS=127.0.0.1:$port FAKE_CUDA_GPUS=2 LD_LIBRARY_PATH=$fake
		timeout 60 "$ccrun" --device cuda "$ring" $quick >"$tmp/out" 2>"$tmp/err"
	)
	got=$?
	wait $answering
	[ $got = "$2" ] || echo "told $1: $got, not $2: $(cat "$tmp/err")"
	grep -q '^ccrun: rank 1: rank 0: so be it$' "$tmp/err" || echo "told $1: $(cat "$tmp/err")"
}
wrong=$(told -1 2; told -2 2; told -3 2; told -4 4; told -5 3; told -6 3; told -7 4; told -8 4
	told -9 4; told -70 4; told -4711 4; told 0 4; told 1 4)
if [ -z "$wrong" ]; then ok "what a peer says ends ccrun with a status of its own"; else
	not_ok "what a peer says ends ccrun with a status of its own" "$wrong"; fi
exit $failed
