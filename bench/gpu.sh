#!/bin/bash
# Checks and measures everything on the first GPU of this machine, in under eight minutes
# (--quick: four), and writes a page of Markdown as it goes: if it is interrupted, the page has the
# measurements so far. The most important parts come first:
#
#   machine      GPU, driver, CUDA, NVRTC, NCCL, commit
#   goals        the copy rate; small, middle and large calls of the fastest schedules, compared
#                with the wanted figures
#   results      every schedule at 8, 2 and 4 ranks, all elements: odd counts, both protocols,
#                types, operators, direct copies on and off
#   replay       a captured graph, 10,000 times, and then the results
#   sanitizer    compute-sanitizer's memcheck, racecheck and synccheck on a selection
#   processes    a process a rank, all on the one GPU: over its memory, the host's, and NCCL
#   sweep        channels 1 .. 16 of both protocols, and the constants of the model that chooses
#                between these (compiler/lower/protocols.c), fitted to it (gpu_fit.sh)
#   nccl         the same job by NCCL (2.30 or later), its ranks on the one GPU
#   hand         kernels written by hand (gpu_hand.cu)
#   speed        time, bus bandwidth and part of the copy rate by size, at 8 ranks
#   choices      threads and tiles; direct copies; with and without straight-line code
#   places       where there are several GPUs: a rank on each, with and without peer
#                access, compared with NCCL
#
# Each part has its time limit. The page says if a part took longer and was cut, or failed; then the next part
# begins. Nothing here asserts a time.
#
# A machine with a driver and CUDA's libraries is enough: what `make bench-gpu-files` made,
# here or on one like it (`make bench-gpu-pack` packs that), is used as it is. Only missing
# files are built, if that can be done. NVRTC makes the kernels that were not made ahead; without it, the page
# names the parts that need them, and leaves them out. Nothing is fetched.
#
# usage: gpu.sh [--build DIR] [--quick] [--out FILE.md] [--only PART[,PART...]] [--dry]
#   --dry: nothing is built, tiny sizes and few runs: to try the script itself
# Exit status: 0, or 1 if a part failed; 4: there is no GPU, or nothing to run; 143, 130:
# interrupted.
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
limit=470			# seconds in all
[ -z "$quick" ] || limit=230
large=67108864			# bytes of a rank, from which on the goals hold
[ -z "$dry" ] || large=1024
SECONDS=0

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap '' PIPE	# a reader of the output may end: the page goes on
trap 'interrupted 130' INT
trap 'interrupted 143' TERM HUP
ccrun=$build/bin/ccrun
hand=$build/bench/gpu_hand
modules=$build/bench/gpu
cores=$(nproc 2>/dev/null || echo 2)
data=$work/data		# key size time busbw wrong, by tabs
: >"$data"
failed='' slow='' child='' part='' part_end=$limit
gpu='' jobs=1		# what the driver calls it; processes that use it at a time, ...
exclusive=''		# ... of which it lets no more than one
export CCS_CACHE_DIR=$work/cache
# timeout stays in the process group of xargs, so that a signal to the group ends both. Not every timeout can.
foreground=
! timeout --foreground 1 true 2>/dev/null || foreground=--foreground
export ccrun modules work foreground
PATH=$PATH:/usr/local/cuda/bin
# Libraries that were packed for a machine that lacks them.
[ ! -d "$build/bench/lib" ] || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$build/bench/lib"
# NVRTC and NCCL may be wheels of the Python that is here.
: "${VIRTUAL_ENV:=$(timeout 10 python3 -c 'import sys; print(sys.prefix)' 2>/dev/null)}"
export VIRTUAL_ENV
unset CCS_PROTOCOLS CCS_THREADS CCS_TILE_BYTES CCS_DIRECT CCS_P2P_DISABLE
export CUDA_DEVICE_ORDER=PCI_BUS_ID	# as nvidia-smi counts

# shellcheck source=bench/gpu_page.sh
. bench/gpu_page.sh
# shellcheck source=bench/gpu_machine.sh
. bench/gpu_machine.sh

# ---- parts ---------------------------------------------------------------------------

# One run of results: "ok", "none" (no such plan), or what was wrong. In its own shell.
check_one() { # check_one SCHEDULE N SETTING OPTIONS
	local log rc
	log=$(mktemp "$work/check.XXXXXX")
	# shellcheck disable=SC2086
	env $3 timeout $foreground 100 "$ccrun" -n "$2" --device cuda:0 $4 --iters 1 -w 0 "$modules/$1.so" \
		>"$log" 2>&1 </dev/null
	rc=$?
	if [ $rc = 2 ] && grep -q 'has no plan for' "$log"; then
		echo none
	elif [ $rc = 4 ] && grep -q 'has no kernel for' "$log"; then
		echo lacking
	elif [ $rc = 0 ] && { grep -q 'wrong elements *: 0 OK' "$log" ||
			grep -qE '^ +0 +0 .* n/a' "$log"; }; then # a barrier has no elements
		echo ok
	else
		echo "FAILED $1 -n $2 $3 $4: status $rc: $(tail -n 3 "$log" | tr '\n' ' ')"
	fi
	rm -f "$log"
}
export -f check_one

# results_of FILE WHAT: each line of it a run, several side by side
results_of() {
	local rc lacking
	tr '\n' '\0' <"$1" >"$work/runs"
	# shellcheck disable=SC2016
	bounded 240 xargs -0 -P "$jobs" -n 1 bash -c 'IFS="|" read -r s n e o <<<"$1"
		check_one "$s" "$n" "$e" "$o"' _ <"$work/runs" >"$work/results" 2>&1
	rc=$?
	lacking=$(grep -c '^lacking' "$work/results")
	say "$(grep -c '^ok' "$work/results") runs without a wrong element, of $(($(wc -l <"$1") - $(grep -c '^none' "$work/results"))) ($2)"
	[ "$lacking" = 0 ] || say "$lacking need kernels that cannot be made here."
	grep -v '^ok$\|^none$\|^lacking$\|^no time was left$' "$work/results" >"$work/bad"
	if [ $rc = 124 ]; then
		cut_short
	elif [ $rc != 0 ] || [ -s "$work/bad" ]; then
		fails "runs that were not right (status $rc):"
	fi
	block "$work/bad" 30
}

results() {
	local sizes="-b 4 -e 4M -f 37" list=$work/list n
	[ -z "$dry" ] || sizes="-b 4 -e 2K -f 37"
	for n in 8 2 4; do
		for so in "$modules"/*.so; do
			local s=${so##*/}
			s=${s%.so}
			[ -n "$dry" ] && case $s in ring_allreduce | bruck_all_to_all | dissemination_barrier) ;; *) continue ;; esac
			echo "$s|$n|x=auto|$sizes -d float32$([ $n = 8 ] || echo ' -r all')"
		done
	done >"$list"
	results_of "$list" "every schedule, 2, 4 and 8 ranks, $sizes"
	for so in "$modules"/*.so; do
		local s=${so##*/}
		s=${s%.so}
		[ -n "$dry" ] && case $s in ring_allreduce | bruck_all_to_all | dissemination_barrier) ;; *) continue ;; esac
		for setting in CCS_PROTOCOLS=ll CCS_PROTOCOLS=simple/3 "CCS_PROTOCOLS=simple CCS_DIRECT=0"; do
			echo "$s|8|$setting|$sizes -d float32"
		done
		[ -n "$quick" ] || echo "$s|8|CCS_TILE_BYTES=1024 CCS_THREADS=64|$sizes -d float32,bfloat16 -o sum,avg"
	done >"$list"
	results_of "$list" "both protocols, 8 ranks, $sizes"
	for s in ring direct; do
		[ -n "$dry" ] || echo "${s}_allreduce|8|x=auto|-b 64M -e 64M"
	done >"$list"
	for d in float16 bfloat16 float8e4m3 float8e5m2 int8 uint8 int32 uint32 int64 uint64 float32 float64; do
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
	local most=268435456 of=bench/gpu_hand.cu ahead
	[ -z "$quick" ] || most=67108864
	if ! brief 20 "$hand" --nvrtc >"$work/log" 2>&1; then
		ahead=$build/bench/gpu_hand.cubin
		[ -e "$ahead" ] || { say "Not run: $(tail -n 1 "$work/log")"; return; }
		of=$ahead
	fi
	run 60 "$hand" "$of" $most && cp "$work/log" "$work/hand"
	block "$work/hand" 60
}

# The schedules of an allreduce that are looked at, and others.
REDUCES="ring_allreduce direct_allreduce one_shot_allreduce halving_doubling_allreduce double_binary_tree_allreduce"
OTHERS="ring_allgather ring_reduce_scatter chain_broadcast binomial_broadcast direct_all_to_all"

moves() { # how often a plan moves a rank's buffer, by key
	local s
	for s in $REDUCES $OTHERS; do
		echo "$s $(brief 20 "$hand" --bytes "$(module "$s")" 8)"
	done >"$work/moves"
	say "Bytes read and written, as a multiple of a rank's buffer. The algorithm must: every"
	say "message is written, unless its receiver reads it where the sender has it, and read, unless it is"
	say "already in its place; inputs and results once."
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

# Channels of both protocols; what was measured, as data; and what follows from it.
sweep_channels() {
	local s p sizes channels="1 2 4 8 16"
	local schedules="direct_allreduce ring_allreduce recursive_doubling_allreduce"
	[ -z "$dry" ] || channels="1 4" schedules="direct_allreduce ring_allreduce"
	for s in $schedules; do
		for p in ll simple; do
			sizes="-b 8K -e 16M -f 8"
			[ $p = simple ] || sizes="-b 8K -e 512K -f 4"
			[ -z "$dry" ] || sizes="-b 64 -e 4K -f 8"
			# shellcheck disable=SC2046
			sweep "Channels" "$s" "$sizes -c 0 -G 5 --iters 10" CCS_PROTOCOLS \
				$(printf "$p/%s " $channels)
		done
	done
	say ""
	say "For gpu_fit.sh: \`plan\`, schedule, the output of gpu_hand --bytes; \`time\`, schedule,"
	say "protocol/channels, bytes, microseconds."
	say ""
	{
		echo '```'
		for s in $schedules; do
			echo "plan $s $(brief 20 "$hand" --bytes "$(module $s)" 8)"
		done
		awk -F '\t' '$1 ~ /^Channels:/ { split($1, k, ":"); print "time", k[2], k[3], $2, $3 }' "$data"
		echo '```'
	} | page
	say ""
	bash bench/gpu_fit.sh "$out" >"$work/log" 2>&1 || fails "the fit"
	block "$work/log"
}

choices() {
	local s small="-b 4 -e 4M -f 16 -c 0 -G 5 --iters 20 --repeats 3"
	local large="-b 4M -e 32M -f 8 -c 0 --iters 10 --repeats 3"
	[ -z "$dry" ] || small="-b 4 -e 64 -f 16 -c 0 -G 2 --iters 2" large="-b 1K -e 1K -c 0 --iters 2"
	for s in direct_allreduce ring_allreduce; do
		sweep "Protocol" "$s" "$small" CCS_PROTOCOLS ll simple default
		[ -n "$quick" ] || sweep "Threads of a block" $s "$large" CCS_THREADS 64 128 256 default
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
	124) cut_short ;;
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
			timeout -k 5 $(($(left) < 60 ? $(left) : 60)) "$ccrun" --device cuda -b 4 -e 40000 -f 100 --iters 2 -w 1 \
			"$(module "$1")" >"$work/process$rank" 2>&1 </dev/null &
		pids="$pids $!"
	done
	child=$pids
	for pid in $pids; do
		wait "$pid" || rc=$?
	done
	child=
	cat "$work"/process? >"$work/log"
	return $rc
}

processes() {
	local rc port=$((20000 + $$ % 10000)) way
	[ -z "$exclusive" ] || { say "Not run: its compute mode lets one process use the GPU."; return; }
	for way in "its memory:x=auto" "the host's memory:CCS_P2P_DISABLE=1" \
			"NCCL, as if on four hosts:CCS_HOSTID=host-RANK"; do
		for s in ring_allreduce direct_all_to_all; do
			[ "$(left)" -ge 3 ] || { cut_short; return; }
			together $s "${way#*:}"
			rc=$?
			if [ $rc = 124 ]; then
				cut_short
				return
			elif [ $rc = 4 ]; then
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
	n=$(brief 20 nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
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

# at KEY SIZE: microseconds of the largest size up to that one
at() {
	awk -F '\t' -v key="$1" -v size="$2" '
		$1 == key && $2 <= size && $2 > most { most = $2; us = $3 } END { print us }' "$data"
}
least() { printf '%s\n' "$@" | grep . | sort -g | head -1; }

# part_of_copy SCHEDULE TIMES: the part of the copy rate, if TIMES a rank's buffer are moved
part_of_copy() {
	awk -F '\t' -v key="large:$1" -v times="$2" -v rate="$(copy_rate)" '
		$1 == key && rate > 0 && $3 > 0 {
			x = times * $2 / ($3 * 1000) / rate
			if (least == "" || x < least) least = x }
		END { if (least != "") printf "%.3f", least }' "$data"
}

GOALS="direct_allreduce ring_allreduce recursive_doubling_allreduce one_shot_allreduce"
goals() {
	local s keys small="-b 8 -e 8K -f 4 --iters 20 -G 50" middle="-b 256K -e 4M -f 4 --iters 10 -G 5"
	local large="-b 64M -e 64M" big=268435456 title
	[ -n "$quick" ] || large="-b 64M -e 256M"
	[ -z "$dry" ] || small="-b 8 -e 64 -f 8 --iters 2 -G 2" middle="-b 256 -e 4K -f 4 --iters 2 -G 2"
	[ -z "$dry" ] || large="-b 4K -e 4K" big=65536
	run 30 "$hand" --copy $big && cp "$work/log" "$work/rate" && say "$(cat "$work/rate")"
	for title in "small $small" "middle $middle" "large $large --iters 5"; do
		keys=
		for s in $GOALS; do
			case "$title $s" in large*recursive* | large*one_shot*) continue ;; esac
			# shellcheck disable=SC2086
			measure "${title%% *}:$s" "$(module "$s")" -c 0 --repeats 3 ${title#* }
			keys="$keys ${title%% *}:$s"
		done
		say ""
		say "Microseconds, ${title%% *} calls$(case $title in large*) ;; *) echo " in a replayed graph" ;; esac):"
		say ""
		# shellcheck disable=SC2086
		table 3 $keys
	done
	say ""
	say "| goal, at 8 ranks on one GPU | wanted | measured | |"
	say "|---|---|---|---|"
	goal "direct allreduce of 8 KiB, replayed, us" 10 "$(at small:direct_allreduce 8192)" "<= 10"
	goal "ring allreduce of 8 KiB, replayed, us" 12 "$(at small:ring_allreduce 8192)" "<= 12"
	goal "recursive doubling of 8 KiB, replayed, us" 8 "$(at small:recursive_doubling_allreduce 8192)" "<= 8"
	goal "the fastest allreduce of 1 MiB, replayed, us" 30 \
		"$(least $(for s in $GOALS; do at middle:$s 1048576; done))" "<= 30"
	goal "direct allreduce from 64 MiB, part of the copy rate, by 16 S" 0.8 \
		"$(part_of_copy direct_allreduce 16)" ">= 0.8"
	goal "ring allreduce from 64 MiB, part of the copy rate, by 36 S" 0.85 \
		"$(part_of_copy ring_allreduce 36)" ">= 0.85"
}

# ---- all of them ------------------------------------------------------------------------

exit_status=0
# do_part NAME SECONDS TITLE FUNCTION
do_part() {
	part=$1
	[ -z "$only" ] || [ "$1" = build ] || [ "$1" = machine ] ||
		case $only in *",$1,"*) ;; *) return ;; esac
	part_end=$((SECONDS + $2))
	say ""
	say "## $3"
	say ""
	if [ "$(left)" -lt 2 ]; then cut_short; else $4; fi
	[ "$exit_status" = 0 ] || exit "$exit_status"
}

find_gpu
name_page && mkdir -p "$(dirname "$out")" && : >"$out" || exit 1
say "# Measured on a GPU"
[ -z "$dry" ] || say "
A dry run: nothing was measured, and no number below means anything."
do_part build 200 Build build_it
do_part machine 10 Machine about_machine
do_part goals 90 Goals goals
do_part results 110 "Results" results
do_part replay 40 "Replayed graphs" replay
do_part sanitizer 40 "compute-sanitizer" sanitizer
do_part processes 50 "Processes that share the GPU" processes
do_part sweep 70 "Channels of both protocols" sweep_channels
do_part nccl 40 "Compared with NCCL" nccl
do_part hand 40 "By hand" by_hand
do_part latency 40 "Small calls" latency
do_part speed 60 "Speed at 8 ranks" speed
do_part choices 60 "What the choices rest on" choices
do_part places 60 "Several GPUs" places
say ""
[ -z "$slow" ] || say "Cut, as they took too long:$slow."
if [ -z "$failed" ]; then say "No part failed; $SECONDS s."; else
	say "Failed:$(printf '%s\n' "$failed" | tr ' ' '\n' | sort -u | tr '\n' ' '); $SECONDS s."
fi
echo "written to $out"
[ -z "$failed" ]
