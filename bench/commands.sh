#!/bin/bash
# Whole commands, as a user runs them: medians of many runs, in milliseconds.
# usage: commands.sh BUILD
set -u
build=${1:-build}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

median() { # median RUNS COMMAND...: the median wall time in ms
	local runs=$1 i start
	shift
	for ((i = 0; i < runs; i++)); do
		start=${EPOCHREALTIME/./}
		"$@" >"$tmp/out" 2>&1 || { echo "failed: $*: $(head -3 "$tmp/out")" >&2; return 1; }
		echo $((${EPOCHREALTIME/./} - start))
	done | sort -n | awk '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] / 1000 }'
}

row() { printf '%-66s %10s ms\n' "$1" "$2"; }
echo
echo "whole commands, with the start of the process"
row "ccc ring_allreduce -n 256: check + lower + emit + link" \
	"$(median 7 "$build/bin/ccc" schedules/ring_allreduce.ccs -n 256 \
		--target=cpu -o "$tmp/r.so")"
row "ccrun --verify of it" "$(median 7 "$build/bin/ccrun" --verify "$tmp/r.so")"
row "ccc check ring_allreduce -n 256" \
	"$(median 7 "$build/bin/ccc" check schedules/ring_allreduce.ccs -n 256)"
row "ccc check ring_allreduce -n 1024" \
	"$(median 7 "$build/bin/ccc" check schedules/ring_allreduce.ccs -n 1024)"
row "ccc check direct_all_to_all -n 256" \
	"$(median 7 "$build/bin/ccc" check schedules/direct_all_to_all.ccs -n 256)"
row "ccc check pairwise_all_to_all -n 256" \
	"$(median 7 "$build/bin/ccc" check schedules/pairwise_all_to_all.ccs -n 256)"
row "ccc ring_allreduce, N = 2..16" \
	"$(median 7 "$build/bin/ccc" schedules/ring_allreduce.ccs --target=cpu -o "$tmp/ar.so")"

# Pipelines: the four kinds of queues, and the table's measures. Pictures, with their sizes.
for schedule in 1f1b zero-bubble; do
	python3 schedules/pipelines/generate.py $schedule --ranks 64 --microbatches 256 >"$tmp/p.csv" || exit 1
	row "ccc check $schedule.csv, 64 ranks, 256 microbatches" "$(median 7 "$build/bin/ccc" check "$tmp/p.csv")"
done
picture() { # picture SCHEDULE N
	local ms
	ms=$(median 7 "$build/bin/ccc" explain "schedules/$1.ccs" -n "$2" -o "$tmp/p.svg")
	row "ccc explain $1 -n $2 -o p.svg ($(($(stat -c %s "$tmp/p.svg") / 1000)) KB)" "$ms"
}
picture ring_allreduce 16
picture halving_doubling_allreduce 1024

# Predictions: of many ranks on one switch, messages whole; and by the tiles of a plan.
cat >"$tmp/star.ccs" <<-'END'
	topology star {
	  switch hub
	  link rank -> hub (bandwidth = 50e9, latency = 2e-6)
	  link hub -> rank (bandwidth = 50e9, latency = 2e-6)
	}
END
for schedule in ring_allreduce double_binary_tree_allreduce; do
	row "ccc simulate $schedule -n 24576 --tile 0, a size" "$(median 3 "$build/bin/ccc" simulate \
		schedules/$schedule.ccs -n 24576 --on "$tmp/star.ccs:star" -b 1M --tile 0)"
	for size in 1M 64M; do
		row "ccc simulate $schedule -n 256 -b $size" "$(median 3 "$build/bin/ccc" simulate \
			schedules/$schedule.ccs -n 256 --on "$tmp/star.ccs:star" -b $size)"
	done
done

# The same with kernels for a GPU: compiled, and from the disk cache.
kernels() { # kernels CACHE
	env CCS_CACHE_DIR="$1" "$build/bin/ccc" schedules/ring_allreduce.ccs \
		--target=cpu,cuda -o "$tmp/gpu.so"
}
if kernels "$tmp/cache" 2>"$tmp/out"; then
	row "... with kernels, by NVRTC" "$(median 3 kernels '')"
	row "... with kernels from the cache" "$(median 7 kernels "$tmp/cache")"
else
	echo "... with kernels: left out: $(head -1 "$tmp/out")"
fi

# Start and end of 4 ranks: a run of one empty size, compared with a process that does nothing.
run=$(median 31 "$build/bin/ccrun" -n 4 "$tmp/ar.so" -b 8 -e 8 --iters 1 -w 0)
row "ccrun -n 4, one size of 8 bytes, one iteration" "$run"
run=$(median 31 "$build/bin/ccrun" --procs -n 4 "$tmp/ar.so" -b 8 -e 8 --iters 1 -w 0)
row "... with --procs" "$run"
row "a process that does nothing (true)" "$(median 31 /bin/true)"
