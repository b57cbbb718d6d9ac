# shellcheck shell=bash
# What gpu.sh runs on: which GPU there is and what keeps it from being used, whether what was
# brought along runs here, and where the page goes. Sourced by it, behind gpu_page.sh: its
# variables are build, ccrun, hand, modules, work, cores, dry, out, exit_status, and gpu (what the
# driver calls it), jobs (how many processes use it at a time) and exclusive (one alone may), which
# are set here.

# brief SECONDS COMMAND...: what should answer at once, and may hang where a GPU does.
brief() { timeout -k 2 "$@" </dev/null; }

# asked FIELDS: what nvidia-smi, if it is here, says of the GPU that is used
asked() {
	brief 20 nvidia-smi -i "${gpus%%,*}" --query-gpu="$1" --format=csv,noheader 2>/dev/null | head -n 1
}
gpus=${CUDA_VISIBLE_DEVICES:-0}

# Why gpu_hand found no GPU, by its status and its last words.
why_none() {
	case $1 in
	4) tail -n 1 "$work/why" | sed 's/^gpu_hand: //' ;;
	124 | 137 | 143) echo "its driver does not answer" ;;
	*) echo "$hand does not run on this system ($(tail -n 1 "$work/why")): make it here (make" \
		"BUILD=build-here bench-gpu-files), and name it (--build build-here)" ;;
	esac
}

# Which GPU is used. Where it is not known, as gpu_hand is not made yet, it is asked again.
find_gpu() {
	local rc why="there is neither nvidia-smi nor $hand"
	if [ -x "$hand" ]; then
		gpu=$(brief 30 "$hand" --gpu 2>"$work/why")
		rc=$?
		[ $rc != 0 ] || return 0
		why=$(why_none $rc)
	fi
	[ -z "$dry" ] || return 0
	[ -x "$hand" ] || [ -z "$(asked name)" ] || return 0
	echo "gpu.sh: no GPU that can be used: $why" >&2
	[ -z "$part" ] || fails "no GPU that can be used: $why"
	exit 4
}

# Each run writes a new page, named by day and GPU.
name_page() {
	local dir=bench/results name stem n=1
	[ -z "$out" ] || return 0
	mkdir -p $dir 2>/dev/null
	if [ ! -w $dir ]; then
		dir=${TMPDIR:-/tmp}
		echo "gpu.sh: bench/results cannot be written to: the page goes to $dir" >&2
	fi
	name=${gpu:-$(asked name)}
	stem=$dir/$(date -u +%Y-%m-%d)-$(printf %s "${name%%,*}" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-')
	out=$stem.md
	while [ -e "$out" ]; do
		n=$((n + 1))
		out=$stem-$n.md
	done
}

# Those of the files that the first parts need which are not there.
lacking() {
	for file in "$ccrun" "$hand" "$(module ring_allreduce)"; do
		[ -e "$file" ] || printf ' %s' "$file"
	done
}

# Makes the files that the first parts need, then the rest; files that are there stay.
build_it() {
	local file tool lacks=
	if [ -z "$(lacking)" ]; then
		say "Not built: the files in \`$build\` are used."
	else
		for tool in "${CC:-cc}" make flex bison; do
			command -v "$tool" >/dev/null 2>&1 || lacks="$lacks $tool"
		done
		echo '#include <jansson.h>' | "${CC:-cc}" -E -x c - >/dev/null 2>&1 ||
			lacks="$lacks jansson.h"
		if [ -n "$lacks" ]; then
			say "Not built here (no$lacks): bring \`$build\` along (\`make bench-gpu-pack\`)."
		elif [ -z "$dry" ]; then
			run 200 make -j"$cores" BUILD="$build" bench-gpu-files && say "Built here."
		fi
	fi
	for file in $(lacking); do
		fails "there is no $file"
		exit_status=4
	done
	[ "$exit_status" = 0 ] || return
	if ! brief 20 "$ccrun" --version >/dev/null 2>"$work/why"; then
		fails "$ccrun does not run here: $(tail -n 1 "$work/why")"
		exit_status=4
	elif [ -z "$gpu" ]; then
		find_gpu
	fi
}

# Clocks and modes; and where only one process may use the GPU, no more do.
about_modes() {
	local is mode others
	is=$(asked memory.total,clocks.max.sm,clocks.max.mem,persistence_mode,mig.mode.current)
	mode=$(asked compute_mode)
	[ -n "$is" ] || is="unknown: no nvidia-smi"
	say "| memory, clocks, persistence, MIG | $is |"
	say "| compute mode | ${mode:-unknown} |"
	others=$(brief 20 nvidia-smi -i "${gpus%%,*}" --query-compute-apps=pid --format=csv,noheader 2>/dev/null |
		grep -c '[0-9]')
	[ "$others" = 0 ] || say "| others on the GPU | $others processes: figures mean less |"
	jobs=$((cores < 4 ? cores : 4))
	case $mode in Exclusive*) exclusive=1 jobs=1 ;; esac
}

about_machine() {
	local commit driver nccl
	commit=$(git rev-parse --short HEAD 2>/dev/null || cat "$build/bench/commit" 2>/dev/null)
	[ -z "$(git status --porcelain 2>/dev/null)" ] || commit="$commit, with changes"
	driver=$(asked driver_version)
	nccl=$(brief 10 python3 -c 'import importlib.metadata as m; print(m.version("nvidia-nccl-cu13"))' 2>/dev/null ||
		ldconfig -p 2>/dev/null | sed -n 's/.*\(libnccl\.so[^ ]*\) .*/\1/p' | head -n 1)
	say "| | |"
	say "|---|---|"
	say "| date | $(date -u '+%Y-%m-%d %H:%M UTC') |"
	say "| commit | ${commit:-unknown} |"
	say "| GPU | ${gpu:-unknown} |"
	about_modes
	say "| driver | ${driver:-unknown} |"
	say "| NVRTC | $(brief 20 "$hand" --nvrtc 2>/dev/null) |"
	say "| NCCL | ${nccl:-unknown} |"
	say "| system | $(uname -sr), $cores cores |"
}
