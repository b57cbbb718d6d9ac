#!/bin/sh
# bench/gpu.sh and what it runs, as far as that goes without a GPU: every part once, over
# the driver and NVRTC of tests/fake_cuda, at sizes that mean nothing. Its figures are
# thrown away; what is asserted is that no command in it is wrong.
# usage: bench_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
ccc=$build/bin/ccc
hand=$build/bench/gpu_hand
fake=$build/tests/fake_cuda
export FAKE_CUDA_SMS=8	# fewer blocks fit: fewer replicas, less memory to fill
faked() {
	CCS_NVRTC=$fake/libnvrtc.so CCS_NCCL=$build/tests/fake_nccl/libnccl.so.2 LD_LIBRARY_PATH=$fake "$@"
}

# ---- bytes that a plan moves, against what one counts by hand, N = 8 -----------------------
mkdir -p "$tmp/b/bench/gpu/table" "$tmp/b/bin"
ln -s "$ccc" "$build/bin/ccrun" "$tmp/b/bin"
cp "$build"/tests/cuda_modules/*.so "$tmp/b/bench/gpu"
for name in ring_allreduce direct_allreduce; do
	cp "$tmp/b/bench/gpu/$name.so" "$tmp/b/bench/gpu/table"
done
# gpu_hand.c says what counts. A ring's rank, in chunks: 7 inputs and one of the rank before; 6
# partial sums written and read; its own sum; 7 results written straight to the next rank, 6 of
# which it reads to pass them on: 34 of 8. A direct allreduce's: a chunk of each rank, the sum,
# and 7 writes of it.
while read -r name least messages; do
	"$hand" --bytes "$tmp/b/bench/gpu/$name.so" 8 >"$tmp/out" 2>"$tmp/err"
	# shellcheck disable=SC2016
	holds "$name must move $least times a rank's buffer, and $messages in messages" \
		awk -v l="$least" -v m="$messages" '{ exit !($1 == l && $4 == m && $1 <= $2 && $2 <= $3) }' "$tmp/out"
done <<END
ring_allreduce 34 28
direct_allreduce 16 28
one_shot_allreduce 72 112
ring_allgather 15 14
ring_reduce_scatter 22 14
binomial_broadcast 12 14
direct_all_to_all 16 14
END

# ---- kernels by hand ---------------------------------------------------------------------------
real_nvrtc
if "$hand" --nvrtc >"$tmp/out"; then
	for arch in sm_80 sm_90 sm_100; do
		status "gpu_hand.cu compiles for $arch" 0 "$hand" --compile $arch bench/gpu_hand.cu
		holds "... without a word" test ! -s "$tmp/err"
	done
else
	echo "skip - kernels written by hand compile: $(cat "$tmp/out")"
fi

# ---- the script ------------------------------------------------------------------------------------
# The stand-in for a GPU runs no kernels but ccc's: the copy rate is made up.
cat >"$tmp/b/bench/gpu_hand" <<END
#!/bin/sh
case \$1 in --*) exec "$hand" "\$@" ;; esac
[ -r "\$1" ] && echo "copy_rate 4000.0 GB/s"
END
chmod +x "$tmp/b/bench/gpu_hand"
faked bench/gpu.sh --dry --build "$tmp/b" --out "$tmp/page.md" >"$tmp/out" 2>"$tmp/err"
rc=$?
if [ $rc = 0 ]; then ok "gpu.sh: every part runs"; else
	not_ok "gpu.sh: every part runs" "status $rc: $(cat "$tmp/err"; grep -A8 'failed' "$tmp/out")"
fi
holds "... and says nothing else" test ! -s "$tmp/err"
says "... says that it was a dry run" "$tmp/page.md" 'no number below means anything'
says "... finds no wrong element" "$tmp/page.md" '^12 runs without a wrong element, of 12'
says "... runs processes" "$tmp/page.md" 'direct_all_to_all over NCCL, as if on four hosts: wrong elements *: 0 OK'
says "... says what NCCL lacks, and goes on" "$tmp/page.md" '^Not run: .*NCCL 2.28.3 .* cannot have several ranks .* on one GPU'
says "... replays" "$tmp/page.md" 'ring_allreduce, ll: 20 replays, wrong elements *: 0 OK'
for goal in 'direct allreduce .*' 'ring allreduce .*' 'an allreduce of up to 8 KiB .*'; do
	says "... tells of the goal: $goal" "$tmp/page.md" "^\\| $goal \\| [0-9.]+ \\| [0-9.]+ \\| (PASS|FAIL) \\|"
done
# A row of every table, with a number in every column.
# shellcheck disable=SC2016
holds "... fills its tables" awk -F '|' '
	/^\| a rank \|/ { columns = NF; rows = 0; tables++; next }
	columns && /^\|[ 0-9]/ { rows++; for (i = 2; i < columns; i++) if ($i !~ /[0-9]/ && $i !~ /^ *$/) bad = 1; next }
	columns && !/^\|/ { if (!rows) bad = 1; columns = 0 }
	END { exit bad || tables < 10 }' "$tmp/page.md"
export FAKE_NCCL_VERSION=23203
faked bench/gpu.sh --dry --only nccl --build "$tmp/b" --out "$tmp/nccl.md" >"$tmp/out" 2>"$tmp/err"
says "gpu.sh beside an NCCL that shares GPUs" "$tmp/nccl.md" "^# ... of NCCL's *: 0 OK"
unset FAKE_NCCL_VERSION
if command -v nvidia-smi >/dev/null; then
	echo "skip - gpu.sh without a GPU: nvidia-smi is here"
else
	status "gpu.sh without a GPU" 4 bench/gpu.sh --build "$tmp/b" --out "$tmp/x.md"
	says "... says so" "$tmp/err" 'no GPU'
fi
status "gpu.sh with an option that is none" 2 bench/gpu.sh --fast
exit $failed
