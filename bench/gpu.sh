#!/bin/bash
# Checks and measures everything on the first GPU of this machine, in under nine
# minutes (--quick: four), and writes what it saw to a page of Markdown.
#
#   machine      GPU, driver, CUDA, NVRTC, NCCL, commit
#   results      every schedule at 2, 4 and 8 ranks, all elements: types, operators, odd
#                counts, both protocols, direct copies on and off
#   sanitizer    compute-sanitizer's memcheck, racecheck and synccheck on a selection
#   replay       a captured graph, 10,000 times, and then the results
#   hand         the card's copy rate, and kernels written by hand (gpu_hand.cu)
#   speed        time, bus bandwidth and part of the copy rate by size, at 8 ranks
#   latency      calls of up to 8 KiB in a replayed graph
#   choices      LL and Simple by size; channels, threads, tiles; with and without
#                straight-line code: what compiler/choose.c and cuda_call.c are set by
#   nccl         the same job by NCCL (2.30 or later), its ranks on the one GPU
#   processes    a process a rank, all on the one GPU: over its memory, the host's, and NCCL
#   places       where there are several GPUs: a rank on each, with and without peer
#                access, beside NCCL
#   goals        what is reached of what was asked for
#
# A part that fails says so, and the next one begins: nothing here asserts a time.
# Nothing is fetched. What is made beforehand by `make bench-gpu-files`, on this
# machine or one like it, is used as it is if this one cannot build.
#
# usage: gpu.sh [--build DIR] [--quick] [--out FILE.md] [--only PART[,PART...]] [--dry]
#   --dry: nothing is built, tiny sizes and few runs: to try the script itself
# Exit status: 0, or 1 if a part failed; 4: there is no GPU, or nothing to run.
set -u
cd "$(dirname "$0")/.." || exit 1

# ---- options ---------------------------------------------------------------------

build=build quick='' dry='' only='' out=''
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$2; shift ;;
	--out) out=$2; shift ;;
	--only) only=,$2,; shift ;;
	--quick) quick=1 ;;
	--dry) dry=1 quick=1 ;;
	*) sed -n '/^# usage/,/^# Exit/s/^# //p' "$0" >&2; exit 2 ;;
	esac
	shift
done
limit=530			# seconds in all
[ -z "$quick" ] || limit=230
large=67108864			# bytes of a rank, from which on the goals hold
[ -z "$dry" ] || large=1024
SECONDS=0

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ccrun=$build/bin/ccrun
hand=$build/bench/gpu_hand
modules=$build/bench/gpu
cores=$(nproc 2>/dev/null || echo 2)
data=$work/data		# key size time busbw wrong, by tabs
: >"$data"
failed=
export CCS_CACHE_DIR=$work/cache
export ccrun modules work
PATH=$PATH:/usr/local/cuda/bin
# NVRTC and NCCL may be wheels of the Python that is here.
: "${VIRTUAL_ENV:=$(python3 -c 'import sys; print(sys.prefix)' 2>/dev/null)}"
export VIRTUAL_ENV
unset CCS_PROTOCOLS CCS_THREADS CCS_TILE_BYTES CCS_DIRECT CCS_P2P_DISABLE

# ---- helpers ----------------------------------------------------------------------

say() { printf '%s\n' "$*" | tee -a "$work/page"; }
page() { tee -a "$work/page"; }
fails() { # fails WHAT: this part has failed
	failed="$failed $part"
	say "**failed**: $*"
}
block() { # block FILE [LINES]: as it is
	[ -s "$1" ] || return 0
	{ echo '```'; tail -n "${2:-20}" "$1"; echo '```'; } | page
}

# bounded SECONDS COMMAND...: no longer than that, nor than is left in all
bounded() {
	local most=$1 left=$((limit - SECONDS - 5))
	shift
	[ "$left" -lt 2 ] && { echo "no time was left" >&2; return 124; }
	[ "$most" -le "$left" ] || most=$left
	timeout -k 5 "$most" "$@"
}

# run SECONDS COMMAND...: its output goes to $work/log; says so if it fails
run() {
	bounded "$@" >"$work/log" 2>&1 </dev/null
	local rc=$?
	[ $rc = 0 ] && return 0
	shift
	fails "status $rc: \`$*\`"
	block "$work/log" 8
	return 1
}

# measure KEY MODULE OPTIONS...: a table of ccrun at 8 ranks, into $data
measure() {
	local key=$1 module=$2
	shift 2
	run 90 "$ccrun" -n 8 --device cuda:0 "$@" "$module" || return
	awk -v key="$key" 'NF == 13 && $1 ~ /^[0-9]+$/ {
		print key "\t" $1 "\t" $6 "\t" $8 "\t" $9 }' "$work/log" >>"$data"
	grep -q "^$key	" "$data" || { fails "$key: no row"; block "$work/log" 5; }
}

# bytes SIZE: as people write it
sizes() { awk '{ s = $1; u = ""; n = split("K M G", U, " ")
	for (i = 1; i <= n && s >= 1024 && s % 1024 == 0; i++) { s /= 1024; u = U[i] }
	$1 = s (u == "" ? " B" : " " u "iB"); print }' FS='\t' OFS='\t'; }

# table COLUMN KEY...: rows by size, a column a key, which is named without what stands
# before its last colon. COLUMN: 3 time, 4 bus bandwidth,
# or `part`: of the copy rate, by the bytes that the algorithm must move
table() {
	local column=$1
	shift
	local keys="$*"
	{
		awk -F '\t' -v OFS='\t' -v column="$column" -v keys="$keys" -v rate="$(copy_rate)" \
				-v moves="$work/moves" '
			BEGIN {
				n = split(keys, k, " ")
				while ((getline line < moves) > 0) { split(line, f, " "); times[f[1]] = f[2] }
			}
			{ if (!($2 in seen)) { seen[$2] = 1; order[++rows] = $2 }
			  if (column != "part") v[$2, $1] = $column
			  else if (rate > 0 && $3 > 0 && times[$1] > 0)
				v[$2, $1] = sprintf("%.3f", times[$1] * $2 / ($3 * 1000) / rate) }
			END {
				for (i = 1; i <= rows; i++) {
					line = order[i]; any = 0
					for (j = 1; j <= n; j++) {
						line = line OFS v[order[i], k[j]]
						any = any || v[order[i], k[j]] != ""
					}
					if (any) print line
				}
			}' "$data" | sort -n | sizes
	} | awk -F '\t' -v keys="$keys" '
		BEGIN { n = split(keys, k, " "); h = "| a rank |"; r = "|---|"
			for (j = 1; j <= n; j++) { sub(/.*:/, "", k[j]); h = h " " k[j] " |"; r = r "---:|" }
			print h; print r }
		{ line = "|"; for (j = 1; j <= n + 1; j++) line = line " " $j " |"; print line }' | page
}

copy_rate() { awk '$1 == "copy_rate" { print $2 }' "$work/hand" 2>/dev/null; }
module() { echo "$modules/$1.so"; }

# ---- parts ---------------------------------------------------------------------------

build_it() {
	local missing=
	for tool in "${CC:-cc}" make flex bison; do
		command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
	done
	echo '#include <jansson.h>' | "${CC:-cc}" -E -x c - >/dev/null 2>&1 ||
		missing="$missing jansson.h"
	if [ -n "$dry" ]; then
		say "Not built: a dry run."
	elif [ -z "$missing" ]; then
		run 200 make -j"$cores" BUILD="$build" bench-gpu-files && say "Built here."
	else
		say "Not built here (no$missing): what \`make bench-gpu-files\` made elsewhere is used."
	fi
	for file in "$ccrun" "$hand" "$(module ring_allreduce)"; do
		[ -e "$file" ] && continue
		fails "there is no $file"
		exit_status=4
	done
}

first_line() { "$@" 2>/dev/null | head -1; }
about_machine() {
	local commit driver gpu
	commit=$(git rev-parse --short HEAD 2>/dev/null || echo "${CCS_COMMIT:-unknown}")
	[ -z "$(git status --porcelain 2>/dev/null)" ] || commit="$commit, with changes"
	gpu=$(first_line nvidia-smi --query-gpu=name,memory.total,clocks.max.sm,clocks.max.mem \
		--format=csv,noheader)
	driver=$(first_line nvidia-smi --query-gpu=driver_version --format=csv,noheader)
	say "| | |"
	say "|---|---|"
	say "| date | $(date -u '+%Y-%m-%d %H:%M UTC') |"
	say "| commit | $commit |"
	say "| GPU | ${gpu:-no nvidia-smi} |"
	say "| driver | ${driver:-unknown} |"
	say "| CUDA of the driver | $(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p' | head -1) |"
	say "| NVRTC | $("$hand" --nvrtc 2>/dev/null || echo none) |"
	say "| NCCL | $(python3 -c 'import importlib.metadata as m; print(m.version("nvidia-nccl-cu13"))' 2>/dev/null || ldconfig -p | sed -n 's/.*\(libnccl\.so[^ ]*\) .*/\1/p' | head -1) |"
	say "| system | $(uname -sr), $cores cores |"
}

# One run of results: "ok", "none" (no such plan), or what was wrong. In its own shell.
check_one() { # check_one SCHEDULE N SETTING OPTIONS
	local log rc
	log=$(mktemp "$work/check.XXXXXX")
	# shellcheck disable=SC2086
	env $3 timeout 100 "$ccrun" -n "$2" --device cuda:0 $4 --iters 1 -w 0 "$modules/$1.so" \
		>"$log" 2>&1 </dev/null
	rc=$?
	if [ $rc = 2 ] && grep -q 'has no plan for' "$log"; then
		echo none
	elif [ $rc = 0 ] && grep -q 'wrong elements *: 0 OK' "$log"; then
		echo ok
	else
		echo "FAILED $1 -n $2 $3 $4: status $rc: $(tail -n 3 "$log" | tr '\n' ' ')"
	fi
	rm -f "$log"
}
export -f check_one

# results_of FILE: each line of it a run, several side by side
results_of() {
	# shellcheck disable=SC2016
	bounded 240 xargs -P "$jobs" -d '\n' -n 1 bash -c 'IFS="|" read -r s n e o <<<"$1"
		check_one "$s" "$n" "$e" "$o"' _ <"$1" >"$work/results" 2>&1
	local rc=$?
	say "$(grep -c '^ok' "$work/results") runs without a wrong element, of $(($(wc -l <"$1") - $(grep -c '^none' "$work/results"))) ($2)"
	if [ $rc != 0 ] || grep -qv '^ok$\|^none$' "$work/results"; then
		fails "runs that were not right (status $rc):"
		grep -v '^ok$\|^none$' "$work/results" >"$work/bad"
		block "$work/bad" 30
	fi
}

results() {
	local sizes="-b 4 -e 4M -f 37" list=$work/list
	local jobs=$((cores < 4 ? cores : 4))
	local settings="x=auto CCS_PROTOCOLS=ll CCS_PROTOCOLS=simple/3"
	[ -z "$dry" ] || sizes="-b 4 -e 2K -f 37"
	for so in "$modules"/*.so; do
		local s=${so##*/}
		s=${s%.so}
		[ -n "$dry" ] && case $s in ring_allreduce | bruck_all_to_all) ;; *) continue ;; esac
		for n in 2 4; do
			echo "$s|$n|x=auto|$sizes -d float32 -r all"
		done
		for setting in $settings "CCS_PROTOCOLS=simple CCS_DIRECT=0"; do
			echo "$s|8|$setting|$sizes -d float32"
		done
		[ -n "$quick" ] || echo "$s|8|CCS_TILE_BYTES=1024 CCS_THREADS=64|$sizes -d float32,bfloat16 -o sum,avg"
	done >"$list"
	results_of "$list" "every schedule, $sizes"
	for s in ring direct; do
		[ -n "$dry" ] || echo "${s}_allreduce|8|x=auto|-b 64M -e 64M"
	done >"$list"
	for d in int8 uint8 int32 uint32 int64 uint64 float16 float32 float64 bfloat16 \
			float8e4m3 float8e5m2; do
		[ -n "$quick" ] && [ $d != float16 ] && continue
		echo "ring_allreduce|4|x=auto|-b 4 -e 100K -f 159 -d $d -o all"
	done >>"$list"
	results_of "$list" "64 MiB a rank; every type and operator"
}

sanitizer() {
	local tool
	if ! command -v compute-sanitizer >/dev/null; then
		say "Not run: there is no compute-sanitizer here."
		return
	fi
	bounded 30 compute-sanitizer "$ccrun" -n 2 --device cuda:0 --timeout 0 -b 4 -e 4 --iters 1 \
		-w 0 "$(module ring_allreduce)" >"$work/log" 2>&1 </dev/null
	if grep -q 'Device not supported' "$work/log"; then	# some virtual machines
		say "Not run: $(grep -m 1 'Device not supported' "$work/log" | sed 's/^=* *//')"
		return
	fi
	for tool in memcheck racecheck synccheck; do
		for s in ring_allreduce direct_allreduce; do
			for p in ll simple/2; do
				[ -n "$quick" ] && [ "$tool$s$p" != memcheckring_allreducell ] &&
					[ "$tool$s$p" != racecheckdirect_allreducesimple/2 ] && continue
				run 30 env CCS_PROTOCOLS=$p compute-sanitizer --tool $tool --error-exitcode 9 \
					"$ccrun" -n 4 --device cuda:0 --timeout 0 -b 1000 -e 1000 --iters 1 -w 0 \
					"$(module $s)" && say "- $tool, $s, $p: $(grep 'ERROR SUMMARY\|RACECHECK SUMMARY' "$work/log" | tail -1 | sed 's/=* *//')"
			done
		done
	done
}

replay() {
	local times=10000
	[ -z "$dry" ] || times=20
	for s in ring_allreduce direct_allreduce binomial_broadcast; do
		for p in ll simple; do
			run 60 env CCS_PROTOCOLS=$p "$ccrun" -n 8 --device cuda:0 -b 4 -e 40000 -f 100 \
				-G $times --iters 1 --repeats 1 "$(module $s)" || continue
			say "- $s, $p: $times replays, $(grep 'wrong elements' "$work/log" | sed 's/^# *//')"
		done
	done
}

by_hand() {
	local most=268435456
	[ -z "$quick" ] || most=67108864
	run 60 "$hand" bench/gpu_hand.cu $most
	grep -q copy_rate "$work/log" && cp "$work/log" "$work/hand"
	block "$work/hand" 60
}

# The schedules of an allreduce that are looked at, and others.
REDUCES="ring_allreduce direct_allreduce one_shot_allreduce halving_doubling_allreduce double_binary_tree_allreduce"
OTHERS="ring_allgather ring_reduce_scatter chain_broadcast binomial_broadcast direct_all_to_all"

moves() { # how often a plan moves a rank's buffer, by key
	local s
	for s in $REDUCES $OTHERS; do
		echo "$s $("$hand" --bytes "$(module "$s")" 8)"
	done >"$work/moves"
	say "Bytes read and written, as a multiple of a rank's buffer. The algorithm must: every"
	say "message is written, unless it is read where its sender has it, and read, unless it lies in its"
	say "place; inputs and results once."
	say "The plan does, operation by operation (less, where messages of one sum have come in"
	say "time to be added in one pass):"
	say ""
	awk 'BEGIN { print "| schedule | must | does, with direct copies and reads | without |"
			print "|---|---:|---:|---:|" }
		{ printf "| %s | %s | %s | %s |\n", $1, $2, $3, $4 }' "$work/moves" | page
	say ""
}

speed() {
	local s most
	moves
	for s in $REDUCES $OTHERS; do
		most=64M
		case $s in ring_allreduce | direct_allreduce) [ -n "$quick" ] || most=256M ;; esac
		case $s in one_shot_allreduce) most=4M ;; esac
		[ -z "$dry" ] || most=1K
		measure "$s" "$(module "$s")" -b 4 -e $most -f 4 -c 0
	done
	for title in "3 microseconds, out of place" "4 bus bandwidth, GB/s" \
			"part part of the copy rate ($(copy_rate) GB/s), by what must be moved"; do
		say ""
		say "${title#* }:"
		say ""
		# shellcheck disable=SC2086
		table "${title%% *}" $REDUCES
		say ""
		# shellcheck disable=SC2086
		table "${title%% *}" $OTHERS
	done
}

latency() {
	local s calls keys
	for calls in "20 50" "1 500"; do
		[ -z "$dry" ] || calls="${calls% *} 2"
		keys=
		for s in $REDUCES binomial_broadcast; do
			measure "graph${calls% *}:$s" "$(module "$s")" -b 8 -e 8K -f 4 -c 0 \
				--iters "${calls% *}" -G "${calls#* }"
			keys="$keys graph${calls% *}:$s"
		done
		say ""
		say "Microseconds a call, in a graph of ${calls% *}, launched ${calls#* } times:"
		say ""
		# shellcheck disable=SC2086
		table 3 $keys
	done
}

# sweep TITLE SCHEDULE OPTIONS VARIABLE VALUE...
sweep() {
	local title=$1 s=$2 options=$3 variable=$4 keys='' key v
	shift 4
	for v in "$@"; do
		[ "$v" = default ] || export "$variable=$v"
		key=${title// /_}:$s:$v
		# shellcheck disable=SC2086
		measure "$key" "$(module "$s")" $options
		unset "$variable"
		keys="$keys $key"
	done
	say ""
	say "$title ($variable), $s, microseconds:"
	say ""
	# shellcheck disable=SC2086
	table 3 $keys
}

choices() {
	local s small="-b 4 -e 4M -f 4 -c 0 -G 5 --iters 20 --repeats 3"
	local large="-b 4M -e 32M -f 8 -c 0 --iters 10 --repeats 3"
	local channels="simple/1 simple/2 simple/4 simple/8 simple/16 simple/32 simple"
	[ -z "$dry" ] || small="-b 4 -e 64 -f 16 -c 0 -G 2 --iters 2" large="-b 1K -e 1K -c 0 --iters 2"
	for s in direct_allreduce ring_allreduce $([ -n "$quick" ] || echo double_binary_tree_allreduce ring_allgather); do
		sweep "Protocol" "$s" "$small" CCS_PROTOCOLS ll/1 ll/4 ll simple/1 simple/4 simple
	done
	for s in direct_allreduce ring_allreduce; do
		# shellcheck disable=SC2086
		sweep "Channels" $s "$large" CCS_PROTOCOLS $channels
		[ -n "$quick" ] || sweep "Threads of a block" $s "$large" CCS_THREADS 64 128 256 512 default
		[ -n "$quick" ] || sweep "Bytes of a tile" $s "$large" CCS_TILE_BYTES 4096 16384 65536 262144 default
		sweep "Direct copies" $s "$large" CCS_DIRECT 0 default
		# shellcheck disable=SC2086
		measure "$s:line" "$(module $s)" $small
		# shellcheck disable=SC2086
		measure "$s:table" "$modules/table/$s.so" $small
		say ""
		say "Straight-line code and the table, $s, microseconds:"
		say ""
		table 3 "$s:line" "$s:table"
	done
}

nccl() {
	local most=4M
	[ -z "$dry" ] || most=64K
	bounded 60 "$ccrun" -n 8 --device cuda:0 -b 8 -e $most -f 8 --against nccl \
		"$(module direct_allreduce)" >"$work/log" 2>&1 </dev/null
	case $? in
	0) block "$work/log" 40 ;;
	4) say "Not run: $(grep -m 1 ccrun: "$work/log")" ;;
	*) fails "NCCL"; block "$work/log" 20 ;;
	esac
}

# Four processes, as torchrun starts them: results alone, since they take turns on the GPU.
together() { # together SCHEDULE SETTING: RANK in it stands for the number
	local rank rc=0 pids='' pid
	port=$((port + 2))
	for rank in 0 1 2 3; do
		env RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=4 \
			MASTER_ADDR=127.0.0.1 MASTER_PORT=$port CCS_RENDEZVOUS_SECONDS=30 "${2//RANK/$rank}" \
			timeout -k 5 60 "$ccrun" --device cuda -b 4 -e 40000 -f 100 --iters 2 -w 1 \
			"$(module "$1")" >"$work/process$rank" 2>&1 </dev/null &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || rc=$?
	done
	cat "$work"/process? >"$work/log"
	return $rc
}

processes() {
	local rc port=$((20000 + $$ % 10000)) way
	for way in "its memory:x=auto" "the host's memory:CCS_P2P_DISABLE=1" \
			"NCCL, as if on four hosts:CCS_HOSTID=host-RANK"; do
		for s in ring_allreduce direct_all_to_all; do
			[ $((limit - SECONDS)) -ge 70 ] || { say "No time was left."; return; }
			together $s "${way#*:}"
			rc=$?
			if [ $rc = 4 ]; then
				say "- $s over ${way%:*}: not run: $(grep -m 1 ccrun: "$work/log")"
			elif [ $rc != 0 ] || ! grep -q 'wrong elements *: 0 OK' "$work/log"; then
				fails "$s over ${way%:*}: status $rc"
				block "$work/log" 12
			else
				say "- $s over ${way%:*}: $(grep -m 1 'wrong elements' "$work/log" | sed 's/^# *//')"
			fi
		done
	done
}

places() {
	local n
	n=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
	[ "$n" -ge 2 ] || { say "Not run: there is one GPU."; return; }
	for setting in x=auto CCS_P2P_DISABLE=1; do
		for s in ring_allreduce direct_allreduce; do
			run 60 env $setting "$ccrun" -n "$n" --device cuda -b 4 -e 64M -f 16 --against nccl \
				"$(module $s)" && { say "$s, $n GPUs, $setting:"; block "$work/log" 30; }
		done
	done
}

# goal WHAT WANTED MEASURED CONDITION
goal() {
	local verdict=FAIL
	[ -n "$3" ] || { say "| $1 | $2 | not measured | |"; return; }
	awk -v x="$3" "BEGIN { exit !(x $4) }" && verdict=PASS
	say "| $1 | $2 | $3 | $verdict |"
}

# The least part of the copy rate of schedule $1, from 64 MiB a rank on; $2: by which
# column of $work/moves.
part_of_copy() {
	awk -F '\t' -v s="$1" -v by="$2" -v rate="$(copy_rate)" -v moves="$work/moves" '
		BEGIN { while ((getline line < moves) > 0) { split(line, f, " "); t[f[1]] = f[by] } }
		$1 == s && $2 >= '"$large"' && rate > 0 && $3 > 0 {
			x = t[s] * $2 / ($3 * 1000) / rate
			if (least == "" || x < least) least = x }
		END { if (least != "") printf "%.3f", least }' "$data"
}

# The most microseconds of any size in a replayed graph, for the schedule where that is least.
small_calls() {
	awk -F '\t' '$1 ~ /^graph20:.*allreduce$/ && $2 <= 8192 && $3 + 0 > most[$1] { most[$1] = $3 + 0 }
		END { for (s in most) if (best == "" || most[s] < best) best = most[s]; print best }' "$data"
}

goals() {
	say "| goal, at 8 ranks on one GPU | wanted | measured | |"
	say "|---|---|---|---|"
	for x in direct:0.8 ring:0.5; do
		goal "${x%:*} allreduce from 64 MiB a rank, part of the copy rate" "${x#*:}" \
			"$(part_of_copy "${x%:*}_allreduce" 2)" ">= ${x#*:}"
	done
	goal "an allreduce of up to 8 KiB in a replayed graph, us" "10" "$(small_calls)" "<= 10"
	say ""
	say "By messages alone, as \`ccrun --copy-rate\` counts: direct $(part_of_copy direct_allreduce 5), ring $(part_of_copy ring_allreduce 5)."
}

# ---- all of them ------------------------------------------------------------------------

exit_status=0
do_part() { # do_part NAME TITLE FUNCTION
	part=$1
	[ -z "$only" ] || [ "$1" = build ] || [ "$1" = machine ] ||
		case $only in *",$1,"*) ;; *) return ;; esac
	say ""
	say "## $2"
	say ""
	$3
	[ "$exit_status" = 0 ] || exit "$exit_status"
}

[ -n "$dry" ] || nvidia-smi >/dev/null 2>&1 || {
	echo "gpu.sh: no GPU: nvidia-smi does not answer" >&2
	exit 4
}
say "# Measured on a GPU"
[ -z "$dry" ] || say "
A dry run: nothing was measured, and no number below means anything."
do_part build Build build_it
do_part machine Machine about_machine
do_part results "Results" results
do_part hand "By hand" by_hand
do_part latency "Small calls" latency
do_part speed "Speed at 8 ranks" speed
do_part replay "Replayed graphs" replay
do_part sanitizer "compute-sanitizer" sanitizer
do_part nccl "Beside NCCL" nccl
do_part processes "Processes that share the GPU" processes
do_part choices "What the choices rest on" choices
do_part places "Several GPUs" places
do_part goals "Goals" goals
say ""
if [ -z "$failed" ]; then say "All parts ran; $SECONDS s."; else
	say "Failed:$(printf '%s\n' "$failed" | tr ' ' '\n' | sort -u | tr '\n' ' '); $SECONDS s."
fi
if [ -z "$out" ]; then
	gpu=$(first_line nvidia-smi --query-gpu=name --format=csv,noheader | tr 'A-Z ' 'a-z-')
	out=bench/results/$(date -u +%Y-%m-%d)-${gpu:-gpu}.md
fi
mkdir -p "$(dirname "$out")"
cp "$work/page" "$out" && echo "written to $out"
[ -z "$failed" ]
