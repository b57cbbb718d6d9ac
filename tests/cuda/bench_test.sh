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
# A worker of a ring, 8 ranks: 7 messages of a chunk by slots, 7 straight; a rank that doubles: 3 of
# all of its buffer.
for what in "ring_allreduce 14.000 0.8750 0.8750" "recursive_doubling_allreduce 3.000 3.0000 0.0000"; do
	"$hand" --bytes "$tmp/b/bench/gpu/${what%% *}.so" 8 >"$tmp/out"
	says "a worker sends: $what" "$tmp/out" " ${what#* }\$"
done

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

# ---- the fit -----------------------------------------------------------------------------------
# A page that was made up from the model, with errors of 1 %: its constants come back.
awk 'BEGIN {
	plan["direct"] = "30 48 62 28 14 0.875 0.875"; plan["ring"] = "36 36 44 28 7 1.75 0"; plan["double"] = "64 104 104 48 3 3 0"
	for (s in plan) print "plan", s, plan[s]
	for (s in plan) for (p = 0; p < 2; p++) for (c = 1; c <= 16; c *= 2) for (b = 8192; b <= 524288; b *= 4) {
		split(plan[s], k, " ")
		t = 6 + (p ? k[5] * 1.5 + (k[6] * 50 + k[7] * 25) * b / c / 1e6 : k[5] * 0.8 + (k[6] + k[7]) * 110 * b / c / 1e6)
		print "time", s, (p ? "simple/" : "ll/") c, b, t * (1 + 0.01 * sin(++n * 7))
	}
}' >"$tmp/fitted"
status "gpu_fit.sh" 0 bench/gpu_fit.sh "$tmp/fitted"
while read -r name value; do
	# shellcheck disable=SC2016
	holds "... finds $name within a tenth of $value" awk -v n="$name" -v v="$value" \
		'$1 == n && $2 > 0.9 * v && $2 < 1.1 * v { found = 1 } END { exit !found }' "$tmp/out"
done <<END
LL_HOP 800
LL_BYTE 110
SIMPLE_HOP 1500
SIMPLE_BYTE 50
DIRECT_BYTE 25
END
# Where one would come out negative it is 0, and the others are the best beside it.
awk '$1 == "time" && $3 ~ /^simple/ && $2 != "double" { split($3, c, "/"); $5 -= ($2 == "ring" ? 0 : 0.875) * 28 * $4 / c[2] / 1e6 } { print }' \
	"$tmp/fitted" >"$tmp/less"
status "gpu_fit.sh where a constant would be negative" 0 bench/gpu_fit.sh "$tmp/less"
says "... holds it at 0" "$tmp/out" '^DIRECT_BYTE +0 ps, held there$'
says "... and finds the others" "$tmp/out" '^SIMPLE_BYTE +(4[5-9]|5[0-5]) ps$'
sed 's/^time ring \(.*\) [0-9.]*$/time ring \1 1000/' "$tmp/fitted" >"$tmp/odd"
status "gpu_fit.sh of a page that is not like the model" 0 bench/gpu_fit.sh "$tmp/odd"
says "... says so" "$tmp/out" '^from .* rows, relative error .* %: the model is not that of this page$'
echo "a page" >"$tmp/none"
status "gpu_fit.sh of a page without rows" 1 bench/gpu_fit.sh "$tmp/none"

# ---- the script ------------------------------------------------------------------------------------
# The stand-in for a GPU runs no kernels but ccc's.
cat >"$tmp/b/bench/gpu_hand" <<END
#!/bin/sh
case \$1 in --*) exec "$hand" "\$@" ;; esac
[ -r "\$1" ] && echo "copy_rate 4000.0 GB/s"
END
chmod +x "$tmp/b/bench/gpu_hand"
# A machine with nothing but what every system has: no compiler, no git, no Python, no nvidia-smi.
mkdir "$tmp/bare"
for tool in bash sh env awk sed grep cat cp cut date dirname mkdir mktemp nproc rm head tail sort tee \
		timeout tr uname wc xargs sleep; do
	ln -s "$(command -v $tool)" "$tmp/bare/$tool"
done
bare() { PATH=$tmp/bare faked "$@"; }
bare bench/gpu.sh --dry --build "$tmp/b" --out "$tmp/page.md" >"$tmp/out" 2>"$tmp/err"
rc=$?
if [ $rc = 0 ]; then ok "gpu.sh: every part runs"; else
	not_ok "gpu.sh: every part runs" "status $rc: $(cat "$tmp/err"; grep -A8 'failed' "$tmp/out")"
fi
holds "... and says nothing else" diff /dev/null "$tmp/err"
says "... says that it was a dry run" "$tmp/page.md" 'no number below means anything'
says "... finds no wrong element" "$tmp/page.md" '^9 runs without a wrong element, of 9'
says "... begins with the goals" "$tmp/page.md" '^## Goals'
says "... names the GPU" "$tmp/page.md" '^\| GPU \| Fake GPU 0, compute capability 9.0, .* SMs \|$'
says "... says what it cannot ask" "$tmp/page.md" '^\| memory, clocks, persistence, MIG \| unknown: no nvidia-smi'
says "... says that nothing was built" "$tmp/page.md" '^Not built: the files in'
says "... fits the model" "$tmp/page.md" '^LL_HOP'
says "... runs processes" "$tmp/page.md" 'direct_all_to_all over NCCL, as if on four hosts: wrong elements *: 0 OK'
says "... says what NCCL lacks, and goes on" "$tmp/page.md" '^Not run: .*NCCL 2.28.3 .* cannot have several ranks .* on one GPU'
says "... replays" "$tmp/page.md" 'ring_allreduce, ll: 20 replays, wrong elements *: 0 OK'
for goal in 'direct allreduce of 8 KiB.*' 'recursive doubling .*' 'the fastest allreduce of 1 MiB.*' \
	'direct allreduce from 64 MiB.*' 'ring allreduce from 64 MiB.*'; do
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
	status "gpu.sh without a GPU" 4 env LD_LIBRARY_PATH="$tmp" bench/gpu.sh --build "$tmp/b" --out "$tmp/x.md"
	says "... says so" "$tmp/err" 'no GPU'
fi
# Interrupted: the page has what was measured so far, and nothing runs on.
PATH=$tmp/bare CCS_NVRTC=$fake/libnvrtc.so CCS_NCCL=$build/tests/fake_nccl/libnccl.so.2 LD_LIBRARY_PATH=$fake \
	bench/gpu.sh --dry --build "$tmp/b" --out "$tmp/cut.md" >"$tmp/out" 2>"$tmp/err" &
script=$!
for _ in $(seq 600); do
	grep -q '^## Results' "$tmp/cut.md" 2>/dev/null && break
	sleep 0.1
done
kill -TERM $script
wait $script
rc=$?
holds "gpu.sh, interrupted, ends at once" test $rc = 143
says "... and says where" "$tmp/cut.md" '^\*\*Interrupted\*\* in `results`'
says "... after what it had measured" "$tmp/cut.md" '^\| direct allreduce of 8 KiB.* \| [0-9.]+ \|'
# A part that is too slow is cut, and the next one runs; nothing has failed.
sed 's/^do_part results 110/do_part results 1/' bench/gpu.sh >"$tmp/b/bench/gpu.sh"
cp bench/gpu_page.sh bench/gpu_machine.sh bench/gpu_fit.sh "$tmp/b/bench"
mkdir -p "$tmp/b/bench/results"
bare bash "$tmp/b/bench/gpu.sh" --dry --only results,replay --build "$tmp/b" --out "$tmp/slow.md" \
	>"$tmp/out" 2>"$tmp/err"
rc=$?
holds "gpu.sh, with a part that is too slow, goes on" test $rc = 0
says "... says so" "$tmp/slow.md" '^Cut, as they took too long: results'
says "... and the next part runs" "$tmp/slow.md" 'ring_allreduce, ll: 20 replays'
# What keeps a GPU from being used, or from being used by several, is told at its beginning.
mkdir -p "$tmp/t/bench" "$tmp/smi"
ln -s "$PWD"/bench/gpu*.sh "$tmp/t/bench"
ln -s "$tmp/b" "$tmp/t/build"
cat >"$tmp/smi/nvidia-smi" <<END
#!/bin/sh
case \$* in
*compute_mode*) echo Exclusive_Process ;;
*memory.total*) echo "81559 MiB, 1980 MHz, 2619 MHz, Disabled, [N/A]" ;;
*compute-apps*) echo 4711 ;;
esac
END
chmod +x "$tmp/smi/nvidia-smi"
for n in 1 2; do
	PATH=$tmp/smi:$tmp/bare faked bash "$tmp/t/bench/gpu.sh" --dry --only results,processes >"$tmp/out" 2>"$tmp/err"
done
says "gpu.sh tells of modes" "$tmp/out" '^\| compute mode \| Exclusive_Process \|'
says "... of clocks, persistence and MIG" "$tmp/out" '^\| memory, .*MIG \| 81559 MiB, 1980 MHz, 2619 MHz, Disabled, \[N/A\] \|'
says "... of others on the GPU" "$tmp/out" '^\| others on the GPU \| 1 processes: figures mean less'
says "... what cannot be run then" "$tmp/out" '^Not run: its compute mode lets one process use the GPU'
says "... and runs the rest" "$tmp/out" '^9 runs without a wrong element, of 9'
holds "... with a page for each run, named by the GPU" sh -c \
	"ls '$tmp/t/bench/results' | grep -q 'fake-gpu-0.md\$' && ls '$tmp/t/bench/results' | grep -q 'fake-gpu-0-2.md\$'"
for why in "CUDA_VISIBLE_DEVICES=" "FAKE_CUDA_FAIL=cuInit:1:803"; do
	status "gpu.sh where the driver refuses: $why" 4 bare env "$why" bench/gpu.sh --build "$tmp/b" --out "$tmp/x.md"
	says "... says why" "$tmp/err" '^gpu.sh: no GPU that can be used: .*(CUDA_VISIBLE_DEVICES|cuInit failed)'
done
mkdir -p "$tmp/other/bench"
printf '#!/bin/sh\necho "version GLIBC_9.9 not found" >&2\nexit 1\n' >"$tmp/other/bench/gpu_hand"
chmod +x "$tmp/other/bench/gpu_hand"
status "gpu.sh with what was made for a newer system" 4 bare bench/gpu.sh --build "$tmp/other" --out "$tmp/x.md"
says "... says so, and what to do" "$tmp/err" 'does not run on this system .*GLIBC_9.9 not found.*make BUILD=build-here'
status "gpu.sh with an option that is none" 2 bench/gpu.sh --fast
exit $failed
