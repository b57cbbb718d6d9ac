#!/bin/sh
# ccc simulate: closed forms, an independent computation for the library (loggp.py), slots and links
# that hold messages up, what limits, the forms of the table, and what is refused.
# usage: simulate_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
bare_environment
find_schedules
here=$PWD/tests/cost
flat=$here/flat.ccs:flat

# us FILE OPTIONS...: the time of one size, in microseconds; with messages whole
us() {
	"$build/bin/ccc" simulate --tile 0 "$@" --format=csv 2>"$tmp/err" | sed -n '2s/^[^"]*"[^"]*",[0-9]*,\([0-9.]*\),.*/\1/p'
}
# is WHAT EXPECTED FILE OPTIONS...
is() {
	what=$1 want=$2
	shift 2
	got=$(us "$@")
	if [ "$got" = "$want" ]; then ok "$what: $want us"; else not_ok "$what" "$got, not $want: $(cat "$tmp/err")"; fi
}

# Latency 2 us, 1 GB/s; S = 720,000 bytes: S / b = 720 us.
is "a message: L + S/b" 722.000000 schedules/binomial_broadcast.ccs -n 2 --root 0 --on "$flat" -b 720000
is "a ring of 8: 14 (L + S/8b)" 1288.000000 schedules/ring_allreduce.ccs -n 8 --on "$flat" -b 720000
is "a ring of 64: 126 (L + S/64b)" 1669.500000 schedules/ring_allreduce.ccs -n 64 --on "$flat" -b 720000
is "a chain of 8 in 8 parts: 14 (L + S/8b)" 1288.000000 schedules/chain_broadcast.ccs -n 8 --root 0 \
	-D K=8 --on "$flat" -b 720000
is "a chain of 5 in 20 parts: 23 (L + S/20b)" 874.000000 schedules/chain_broadcast.ccs -n 5 --root 0 \
	-D K=20 --on "$flat" -b 720000
is "a binomial tree of 9: 4 (L + S/b)" 2888.000000 schedules/binomial_broadcast.ccs -n 9 --root 0 \
	--on "$flat" -b 720000
is "all to all, each pair by its link: L + S/6b" 122.000000 schedules/direct_all_to_all.ccs -n 6 \
	--on "$flat" -b 720000
# LL moves 16 KiB of a chunk in an iteration: here 15 times 16,000 of 240,000 bytes.
xml=tests/msccl/good
is "MSCCL XML, a ring of 3: 4 (L + S/3b)" 968.000000 $xml/ring_allreduce.xml --on "$flat" -b 720000 --tile 0
status "... as the executor runs it" 0 "$build/bin/ccc" simulate $xml/ring_allreduce.xml --on "$flat" -b 720000
says "... is 15 times 4 (L + S/45b)" "$tmp/out" '^ *720000  *1080\.00 '
# Simple cuts a step of 64 KiB or more into two slices, of which one is on its way while the other is passed on.
sed 's/proto="LL"/proto="Simple"/' $xml/ring_allreduce.xml >"$tmp/simple.xml"
for row in 720000/962.00 180000/248.00; do
	"$build/bin/ccc" simulate "$tmp/simple.xml" --on "$flat" -b ${row%/*} >"$tmp/out" 2>"$tmp/err"
	says "Simple: L + 4 S/3b in slices, else 4 (L + S/3b): ${row#*/} us" "$tmp/out" "^ *${row%/*}  *${row#*/} "
done
status "... which take one slot together" 0 "$build/bin/ccc" simulate "$tmp/simple.xml" --on "$flat" -b 720000 --slots 2
says "... so that nothing is stuck" "$tmp/out" '^ *720000  *962\.00 '
is "... with --tile 0 whole" 968.000000 "$tmp/simple.xml" --on "$flat" -b 720000
is "... both chunks of a chain of 3 in one message: 2 (L + S/b)" 1444.000000 $xml/chain_broadcast.xml \
	--on "$flat" -b 720000 --tile 0
is "a barrier of 9: 4 L" 8.000000 schedules/dissemination_barrier.ccs -n 9 --on "$flat" -b 720000

# The library, by LogGP in another language: messages whole, and tiles.
if python3 -c '' 2>/dev/null; then
	referee() { python3 "$here/loggp.py" "$build/bin/ccc" schedules "$here/flat.ccs" "$@" >"$tmp/referee"; }
	referee 2 3 5 8 9 16 32 64
	holds "the library as the referee has it: $(tail -n 1 "$tmp/referee")" awk '
		/ alike, / { alike = $1 }
		!/ alike, / { wrong = 1; print "#", $0 }
		END { exit wrong || alike < 400 }' "$tmp/referee"
	referee --latency=3e-6 8
	holds "... which sees another latency" awk '/ring_allreduce.ccs, N = 8/ { n++ } END { exit n < 2 }' "$tmp/referee"
else
	echo "skip - the library by an independent computation: there is no python3"
fi

# Slots: rank 1 computes nothing, and receives late.
cat >"$tmp/late.ccs" <<-'END'
	contract two(in a[2], out b[2]; root = 0)
	  ensures rank == 1: b[i] == a[i]@0
	schedule late implements two(in a[2], out b[2]) where N == 3 {
	  scratch t[1]
	  if rank == 0 {
	    send a[0] to 1
	    send a[1] to 1
	  }
	  if rank == 2 { send a[0] to 1 }
	  if rank == 1 {
	    recv t from 2
	    recv b[0] from 0
	    recv b[1] from 0
	  }
	}
END
cat >"$tmp/slow.ccs" <<-'END'
	topology slow where N == 3 {
	  link 0 -> 1 (bandwidth = 1e9, latency = 1e-6)
	  link 2 -> 1 (bandwidth = 1e6, latency = 1e-6)
	}
	topology half where N == 3 {
	  link 0 -> 1 (bandwidth = 1e9, latency = 1e-6)
	  link 2 -> 1 (bandwidth = 1e9)
	}
	topology twice where N == 2 {
	  link 0 -> 1 (bandwidth = 1e9, latency = 1e-6)
	  if rank == 0 { link 0 -> 1 (bandwidth = 2e9, latency = 1e-6) }
	  link 1 -> 0 (bandwidth = 1e9, latency = 1e-6)
	}
	topology lone { if N > 64 { link rank -> 0 (bandwidth = 1e9, latency = 1e-6) } }
	topology idle where N == 2 {
	  cost (worker = 0)
	  link rank -> 1 - rank (bandwidth = 1e9, latency = 1e-6)
	}
	topology stars where N == 2 {
	  switch spine[1]
	  for k in 0..2 { link k -> spine[0] (bandwidth = 1e9 , latency = 1e-6) }
	  if rank == 1 { link 0 -> spine[0] (bandwidth = 1e9, latency = 2e-6) }
	}
	topology zero where N == 2 { link rank -> 1 - rank (bandwidth = 0, latency = 1e-6) }
END
# 500 us for rank 2's message (500,001); rank 0's take 1.5 us each.
is "8 slots: what waits has arrived" 501.000000 "$tmp/late.ccs" -n 3 --on "$tmp/slow.ccs:slow" -b 1000
is "1 slot: the second leaves when the first is received" 502.500000 "$tmp/late.ccs" -n 3 \
	--on "$tmp/slow.ccs:slow" -b 1000 --slots 1
is "no slot: both leave when they are received" 504.000000 "$tmp/late.ccs" -n 3 --on "$tmp/slow.ccs:slow" \
	-b 1000 --slots 0
# A step is over with its last operation: rank 2 sends c when rank 1 has taken a, behind the 1001 us of t.
cat >"$tmp/held.ccs" <<-'END'
	topology held where N == 3 {
	  link 2 -> 1 (bandwidth = 1e9, latency = 1e-6)
	  link 2 -> 0 (bandwidth = 1e9, latency = 1e-6)
	  link 0 -> 2 (bandwidth = 1e9, latency = 1e-6)
	  link 0 -> 1 (bandwidth = 1e6, latency = 1e-6)
	}
	contract three(inout a[C], inout b[C], inout c[C])
	  ensures rank == 1: a[i] == a[i]@2
	  ensures rank == 2: b[i] == b[i]@0
	  ensures rank == 0: c[i] == c[i]@2
	schedule held_up implements three(inout a[1], inout b[1], inout c[1]) on held where N == 3 {
	  scratch t[1]
	  if rank == 2 {
	    step { send a to 1  recv b from 0 }
	    send c to 0
	  }
	  if rank == 1 { recv t from 0  recv a from 2 }
	  if rank == 0 { send b to 2  send b to 1  recv c from 2 }
	}
END
is "no slot: a step is over with its last operation" 1007.000000 "$tmp/held.ccs" -n 3 -b 1000 --slots 0

# Switches: messages go on as their heads arrive, and hold each link for their bytes / its bandwidth.
cat >"$tmp/switches.ccs" <<-'END'
	topology star {
	  switch hub
	  link rank -> hub (bandwidth = 1e9, latency = 2e-6)
	  link hub -> rank (bandwidth = 1e9, latency = 2e-6)
	}
	topology tree where N % 2 == 0 { // leaves to the spine: slow up, fast down
	  let leaf = rank / 2
	  switch leaves[N / 2]
	  switch spine
	  link rank -> leaves[leaf] (bandwidth = 2e9, latency = 1e-6)
	  link leaves[leaf] -> spine (bandwidth = 1e9, latency = 2e-6)
	  link spine -> leaves[leaf] (bandwidth = 4e9, latency = 3e-6)
	  link leaves[leaf] -> rank (bandwidth = 2e9, latency = 4e-6)
	}
	topology rails { // of two paths of two links the wider
	  switch narrow
	  switch wide
	  link rank -> narrow (bandwidth = 1e9, latency = 1e-6)
	  link narrow -> rank (bandwidth = 1e9, latency = 1e-6)
	  link rank -> wide (bandwidth = 2e9, latency = 2e-6)
	  link wide -> rank (bandwidth = 2e9, latency = 2e-6)
	}
	topology busy {
	  cost (call = 10e-6, step = 1e-6, worker = 2e9)
	  for peer in 0..N { link rank -> peer (bandwidth = 1e9, latency = 2e-6) }
	}
	topology slow_workers {
	  cost (step = 1e-6, worker = 0.5e9, reduce = 0.25e9)
	  for peer in 0..N { link rank -> peer (bandwidth = 1e9, latency = 2e-6) }
	}
END
machine() { echo "$tmp/switches.ccs:$1"; }
for n in 2 3 8 16; do
	is "all to all of $n through a switch: 2L + S(N-1)/N b" \
		"$(awk "BEGIN { printf \"%.6f\", 4 + 720 * ($n - 1) / $n }")" schedules/direct_all_to_all.ccs -n $n \
		--on "$(machine star)" -b 720000
done
is "a ring of 8 through a switch: 14 (2L + S/8b)" 1316.000000 schedules/ring_allreduce.ccs -n 8 \
	--on "$(machine star)" -b 720000
is "two messages to one rank: 2L + 2 S/3b" 484.000000 schedules/direct_gather.ccs -n 3 --root 0 \
	--on "$(machine star)" -b 720000
is "a message through three switches, all L + S / the least b, then one through one" 1095.000000 \
	schedules/binomial_broadcast.ccs -n 4 --root 0 --on "$(machine tree)" -b 720000
is "the wider path" 364.000000 schedules/binomial_broadcast.ccs -n 2 --root 0 --on "$(machine rails)" -b 720000

# Tiles. A chunk of 720,000 bytes in tiles of at most 32 KiB: 21 of 32,768 bytes, and one of 31,872. In a chain each
# rank waits for one tile only: 3 L + 720 + 2 * 32.768 us.
tiled() { is "$@" --on "$flat" -b 720000; }
tiled "tiles" 791.536000 schedules/chain_broadcast.ccs -n 4 --root 0 -D K=1 --tile 32K
status "the plan's tiles" 0 "$build/bin/ccc" simulate schedules/chain_broadcast.ccs -n 4 --root 0 -D K=1 --on "$flat" \
	-b 720000
says "... are of 32 KiB" "$tmp/out" '^ +720000 +791\.54 '
tiled "one tile: 3 (L + S/b)" 2166.000000 schedules/chain_broadcast.ccs -n 4 --root 0 -D K=1 --tile 1M
tiled "a slot is free when its tile is received, and L later: 8 tiles, S/b + L + 7 * 2L" 750.000000 \
	schedules/binomial_broadcast.ccs -n 2 --root 0 --tile 100000 --slots 1
tiled "with two slots it is no wait" 722.000000 schedules/binomial_broadcast.ccs -n 2 --root 0 --tile 100000 --slots 2
tiled "without slots messages are whole" 722.000000 schedules/binomial_broadcast.ccs -n 2 --root 0 --tile 100000 --slots 0

# The memory for slots bounds the tile by rank: that of all 2,048 FIFOs would leave 16 KiB.
for tile in "" "--tile 32K"; do
	# shellcheck disable=SC2086 # words
	"$build/bin/ccc" simulate schedules/recursive_doubling_allreduce.ccs -n 256 --on "$flat" -b 720000 $tile
done >"$tmp/out" 2>"$tmp/err"
holds "tiles of 256 ranks are of 32 KiB" test "$(grep '^ *720000' "$tmp/out" | uniq -c | awk '{ print $1 }')" = 2

# One rank stands for all, on machines that turn as the schedule does: the same times as by all ranks.
cat >"$tmp/rings.ccs" <<-'END'
	topology two_ways {
	  link rank -> (rank + 1) % N (bandwidth = 50e9, latency = 2e-6)
	  link rank -> (rank - 1) % N (bandwidth = 25e9, latency = 1e-6)
	}
	topology one_is_slow {
	  if rank == 3 { link rank -> (rank + 1) % N (bandwidth = 1e9, latency = 2e-6) }
	  if rank != 3 { link rank -> (rank + 1) % N (bandwidth = 50e9, latency = 2e-6) }
	}
END
alike=0
for on in "$flat" "$(machine busy)" "$(machine star)" "$tmp/rings.ccs:two_ways" "$tmp/rings.ccs:one_is_slow"; do
	for file in ring_allreduce ring_allgather bidirectional_ring_allreduce bruck_all_to_all direct_all_to_all \
		dissemination_barrier fixed_order_allreduce; do
		one=$(us schedules/$file.ccs -n 7 --on "$on" -b 720000)
		all=$(us schedules/$file.ccs -n 7 --on "$on" -b 720000 --all-ranks)
		[ "$one" = "$all" ] || not_ok "one rank for all: $file on $on" "$one, by all ranks $all"
		[ -z "$one" ] || alike=$((alike + 1))
	done
done
holds "one rank for all: $alike times as by all ranks" test $alike -ge 20
is "... of 24,576: 2(N-1)(2L + S/(N b))" 245750.000000 schedules/ring_allreduce.ccs -n 24576 --on "$(machine star)" -b 24576000

# Costs: a call, an operation at both ends, and a worker that sends as its link takes the bytes.
is "call + 2 step + L + S/b + S/w" 1094.000000 schedules/binomial_broadcast.ccs -n 2 --root 0 \
	--on "$(machine busy)" -b 720000
is "a worker that is slower than its link: 2 step + L + 2 S/w" 2884.000000 schedules/binomial_broadcast.ccs \
	-n 2 --root 0 --on "$(machine slow_workers)" -b 720000
is "... and reduces: 2 step + L + S/w + S/r" 4324.000000 schedules/binomial_reduce.ccs -n 2 --root 0 \
	--on "$(machine slow_workers)" -b 720000
is "a worker receives one after another: 2 step + L + S/3w, and (step + S/3w)" 1445.000000 \
	schedules/direct_gather.ccs -n 3 --root 0 --on "$(machine slow_workers)" -b 720000

# One rank: a machine of its kind has no links.
is "one rank: its copy" 1440.000000 schedules/direct_all_to_all.ccs -n 1 --on "$(machine slow_workers)" -b 720000
status "... bound" 0 "$build/bin/ccc" bound allreduce -n 1 --on 'nodes(1)'
says "... is nothing" "$tmp/out" '^  0\.00 us: latency$'

# Two messages at once on one link: L + 2 S/2b; on two links half of it.
cat >"$tmp/both.ccs" <<-'END'
	contract move(in a[2], out b[2])
	  ensures rank == 1: b[i] == a[i]@0
	schedule both implements move(in a[2], out b[2]) where N == 2 {
	  par for k in 0..2 {
	    channel k {
	      if rank == 0 { send a[k] to 1 } else { recv b[k] from 0 }
	    }
	  }
	}
END
is "two messages on one link" 722.000000 "$tmp/both.ccs" -n 2 --on "$flat" -b 720000
status "what limits: latency" 0 "$build/bin/ccc" simulate schedules/ring_allreduce.ccs -n 8 --on 'nodes(8)' -b 1K
says "... of the longest chain" "$tmp/out" '1024 +14\.00 .* latency of 14 messages, 100 %$'
cat >"$tmp/neighbours.ccs" <<-'END'
	contract one(inout data[C])
	  ensures rank == 1: data[i] == data[i]@0
	schedule neighbours implements one(inout data[1]) {
	  if rank == 0 { send data to 1 }
	  if rank == 1 { recv data from 0 }
	}
END
status "what limits: the call" 0 "$build/bin/ccc" simulate schedules/dissemination_barrier.ccs -n 8 --on hgx_h100
says "... of which a barrier is the most" "$tmp/out" ' the start of the call, [0-9]+ %$'
is "hosts: neighbours by memory, not by the port" 176.262667 "$tmp/neighbours.ccs" -n 16 --on hosts -b 1M --tile 0
for file in bine_allgather ring_allreduce bruck_all_to_all swing_allreduce; do
	for machine in hosts hgx_h100; do
		"$build/bin/ccc" simulate schedules/$file.ccs -n 16 --on $machine -b 64 -e 1M -f 128 --format=csv 2>/dev/null
		"$build/bin/ccc" simulate schedules/$file.ccs -n 16 --on $machine -b 64 -e 1M -f 128 --tile 0 --format=csv 2>/dev/null
	done
done >"$tmp/limits"
holds "what limits: $(grep -c ' %"$' "$tmp/limits") times a part of the whole" \
	awk '/ %"$/ { n++; x = $0; sub(/ %"$/, "", x); sub(/.* /, "", x); bad += x + 0 > 100 } END { exit bad || n < 40 }' "$tmp/limits"
status "what limits: a link" 0 "$build/bin/ccc" simulate schedules/ring_allreduce.ccs -n 8 --on 'nodes(4)' -b 64M --tile 0
says "... that is busiest" "$tmp/out" 'link rank 3 -> rank 4, 9[0-9] %$'

# The longest chain, as lines of the schedule.
chain() { # chain FILE OPTIONS...: -v's lines, with one blank between words
	"$build/bin/ccc" simulate "$@" --tile 0 -v 2>"$tmp/err" | sed -n 's/^  *\([0-9.]* to\)  */\1 /p'
}
chain schedules/binomial_broadcast.ccs -n 8 --root 0 --on "$flat" -b 8000 >"$tmp/out"
says "-v: the first message of a tree" "$tmp/out" '^0\.00 to 10\.00 +rank 0 sends data\[0\] to rank 4, binomial_broadcast\.ccs:10$'
says "... and one that waits for it" "$tmp/out" \
	'^10\.00 to 20\.00 +rank 4 sends data\[0\] to rank 6, binomial_broadcast\.ccs:10, when it has received that$'
holds "... and nothing else but the last" test "$(wc -l <"$tmp/out")" = 3
chain "$tmp/both.ccs" -n 2 --on "$flat" -b 720000 >"$tmp/out"
says "-v: a link that is busy" "$tmp/out" 'sends a\[1\] to rank 1, both\.ccs:6, when its link is free$'
chain "$tmp/late.ccs" -n 3 --on "$tmp/slow.ccs:slow" -b 1000 --slots 1 >"$tmp/out"
says "-v: a slot" "$tmp/out" 'rank 0 sends a\[1\] to rank 1, late\.ccs:7, when rank 1 has received that and takes the next$'
chain schedules/chain_broadcast.ccs -n 5 --root 0 -D K=90 --on "$flat" -b 9000 >"$tmp/out"
holds "-v: a long chain" test "$(wc -l <"$tmp/out")" = 32
"$build/bin/ccc" simulate schedules/chain_broadcast.ccs -n 5 --root 0 -D K=90 --on "$flat" -b 9000 --tile 0 -v >"$tmp/out" 2>/dev/null
says "... is cut, and says so" "$tmp/out" '^ +\.\.\. 61 messages more \.\.\.$'

# A call as a picture, a page, and a trace.
draws() { # draws WHAT FILE OPTIONS...: x.svg, x.html and x.json in $tmp
	what=$1
	shift
	for ending in svg html json; do
		status "$what as .$ending" 0 "$build/bin/ccc" simulate "$@" --tile 0 -o "$tmp/x.$ending"
	done
	if command -v xmllint >/dev/null; then holds "... which is XML" xmllint --noout "$tmp/x.svg"; fi
}
draws "a call" schedules/ring_allreduce.ccs -n 8 --on 'nodes(4)' -b 1M
count() { grep -c "$1" "$2"; }
holds "... has each operation" test "$(count '^<g class="operation"' "$tmp/x.svg")" = 224
holds "... and each message" test "$(count '^<path class="message' "$tmp/x.svg")" = 112
holds "... the longest chain is marked" test "$(count '^<path class="message critical"' "$tmp/x.svg")" = 14
says "... an operation has its place and times" "$tmp/x.svg" \
	'data-rank="7" data-kind="recv" data-place="ring_allreduce\.ccs:18" data-from="6" data-tile="0" data-start="[0-9.]*" data-end="[0-9.]*"><title>rank 7, ring_allreduce.ccs:18: recv data\['
says "... the last ends with the call" "$tmp/x.svg" 'data-arrives="106\.700"'
says "... the page has the picture" "$tmp/x.html" "^<svg class=.ccs. "
says "... and the chain" "$tmp/x.html" '99\.08 to     106\.70   rank 7 sends data\[2\] to rank 0'
"$build/bin/ccc" simulate schedules/ring_allreduce.ccs -n 8 --on 'nodes(4)' -b 1M --tile 0 --rank 3,4 -o "$tmp/x.svg"
holds "... of some ranks" test "$(count '^<path class="message' "$tmp/x.svg")/$(count "class=.lane" "$tmp/x.svg")" = 14/2
if python3 -c '' 2>/dev/null; then
	for call in "ring_allreduce -n 8 --on nodes(4)" "chain_broadcast -n 5 --root 0 --on $flat" \
		"recursive_doubling_allreduce -n 6 --on $flat" "dissemination_barrier -n 4 --on $flat" \
		"direct_all_to_all -n 4 --slots 1 --on $flat"; do
		# shellcheck disable=SC2086 # words
		set -- $call
		file=schedules/$1.ccs
		shift
		"$build/bin/ccc" simulate "$file" "$@" -b 720000 --tile 0 -o "$tmp/x.json"
		predicted=$(us "$file" "$@" -b 720000 --tile 0)
		[ "$4" = 0 ] && set -- "$1" "$2" "$3" "$4" || set -- "$1" "$2"
		"$build/bin/ccc" "$file" "$@" --emit=program >"$tmp/program"
		case $file in *ring*) spoils=--spoils ;; *) spoils= ;; esac
		if said=$(python3 tests/ccrun/trace_check.py "$tmp/x.json" "$tmp/program" --program "$predicted" $spoils 2>&1); then
			ok "the trace of $file is its program's: $(printf '%s\n' "$said" | tail -n 1)"
		else not_ok "the trace of $file" "$said"; fi
	done
	# Of workers and tiles, as `ccrun --trace` has it.
	for name in ring_allreduce halving_doubling_allreduce direct_all_to_all dissemination_barrier; do
		case $name in direct_all_to_all) count=8192 ;; dissemination_barrier) count=0 ;; *) count=65536 ;; esac
		for machine in 'nodes(4)' "$here/flat.ccs:costly"; do
			"$build/bin/ccc" simulate "schedules/$name.ccs" -n 8 --on "$machine" -b 256K --tile 8K -o "$tmp/x.json" \
				2>"$tmp/err" || not_ok "a trace of $name" "$(cat "$tmp/err")"
			"$build/bin/ccc" "schedules/$name.ccs" -n 8 --emit=json >"$tmp/plan"
			if said=$(python3 tests/ccrun/trace_check.py "$tmp/x.json" "$tmp/plan" --count $count 2>&1); then
				ok "the trace of $name is its plan's: $said"
			else not_ok "the trace of $name" "$said"; fi
		done
	done
fi

status "sizes" 0 "$build/bin/ccc" simulate schedules/ring_allreduce.ccs -n 4 --on "$flat" -b 1K -e 70K -f 8
holds "... by the factor" test "$(awk 'NR > 2 { print $1 }' "$tmp/out" | tr '\n' ' ')" = "1024 8192 65536 "
status "JSON" 0 "$build/bin/ccc" simulate schedules/ring_allreduce.ccs -n 4 --on "$flat" -b 4000 --format=json
says "... a row an object" "$tmp/out" \
	'^\{"schedule": "ring_allreduce", "ranks": 4, "machine": ".*flat.ccs:flat", "bytes": 4000, "us": 18\.0'
status "CSV of several N" 0 "$build/bin/ccc" simulate schedules/ring_allreduce.ccs -n 2,4 --on 'nodes(2)' -b 1K \
	--format=csv
holds "... has one head" test "$(grep -c '^schedule,' "$tmp/out")/$(wc -l <"$tmp/out")" = 1/3
status "a barrier" 0 "$build/bin/ccc" simulate schedules/dissemination_barrier.ccs -n 8 --on 'nodes(4)' --tile 0
says "... is one row, limited by latency" "$tmp/out" '^ +0 +15\.00 .* latency of 3 messages, 100 %$'
holds "... and no other" test "$(wc -l <"$tmp/out")" = 3
status "a rooted schedule" 0 "$build/bin/ccc" simulate schedules/binomial_broadcast.ccs -n 4 --root 1 --on 'nodes(2)' -b 1K
says "... with its time for that root" "$tmp/out" '^ +1024 +10\.04 '
cat >"$tmp/own.ccs" <<-'END'
	topology own { link rank -> (rank + 1) % N (bandwidth = 1e9, latency = 1e-6) }
	contract turn(in a[C], out b[C]) ensures b[i] == a[i]@((rank - 1) % N)
	schedule turn_once implements turn(in a[1], out b[1]) on own {
	  step { send a to (rank + 1) % N  recv b from (rank - 1) % N }
	}
END
is "the schedule's own topology" 2.000000 "$tmp/own.ccs" -n 5 --schedule turn_once -b 1000

# Several schedules: the best at each size, and a tuning that ccrun runs.
three="schedules/ring_allreduce.ccs schedules/recursive_doubling_allreduce.ccs schedules/halving_doubling_allreduce.ccs"
# shellcheck disable=SC2086 # words
status "several schedules" 0 "$build/bin/ccc" simulate $three schedules/dissemination_barrier.ccs -n 4,6 \
	--tile 0 --on "$flat" -b 1K -e 1M -f 1024
says "... a table for each contract and N" "$tmp/out" '^allreduce, 6 ranks on .*: the best at each size, predicted, GB/s$'
says "... a barrier" "$tmp/out" '^ +0 +6\.00 .*  dissemination_barrier$'
best() { awk -v bytes="$1" '$1 == bytes { print $6, $2 }' "$tmp/out" | head -n 1; }
for bytes in 1024 1048576; do
	want=$(for file in $three; do
		echo "$(us "$file" -n 4 --on "$flat" -b $bytes) $(basename "$file" .ccs)"
	done | sort -n | head -n 1)
	holds "... $bytes bytes: the fastest of them" test "$(best $bytes)" = \
		"$(echo "$want" | awk '{ printf "%s; %.2f", $2, $1 }')"
done
# shellcheck disable=SC2086
status "... as CSV" 0 "$build/bin/ccc" simulate $three -n 4 --on "$flat" -b 1K -e 4K --format=csv
holds "... all rows, one head" test "$(grep -c '^schedule,' "$tmp/out")/$(wc -l <"$tmp/out")" = 1/7
# shellcheck disable=SC2086
status "a tuning" 0 "$build/bin/ccc" simulate $three -n 4,6 --on "$here/flat.ccs:costly" -b 1K -e 1M -o "$tmp/flat.tuning"
for file in $three; do
	cp "$build/tests/modules/$(basename "$file" .ccs).so" "$tmp/"
done
status "... which ccrun runs" 0 "$build/bin/ccrun" -n 4 -b 1K -e 64K -f 64 -w 1 --iters 1 --table "$tmp/flat.tuning"
says "... with the best for short calls" "$tmp/out" '^ +1024 .* recursive_doubling_allreduce, auto$'
says "... and for long ones" "$tmp/out" '^ +65536 .* ring_allreduce, auto$'
status "... also by processes" 0 "$build/bin/ccrun" -n 4 --procs -b 64K -e 64K -w 1 --iters 1 --table "$tmp/flat.tuning"
status "a tuning of one barrier" 0 "$build/bin/ccc" simulate schedules/dissemination_barrier.ccs -n 4 --on "$flat" \
	--format=tuning
says "... has one row" "$tmp/out" '^rest +dissemination_barrier\.so +auto +4\.00'
status "sized buffers among several" 0 "$build/bin/ccc" simulate tests/cpu/layouts/exchange_sized.ccs \
	schedules/direct_all_to_all.ccs -n 4 --on "$flat" -b 1K
says "... are left out" "$tmp/err" 'has a .sized. buffer, and is left out'
says "... of the table" "$tmp/out" ' direct_all_to_all$'
status "a wrong one of several" 1 "$build/bin/ccc" simulate schedules/ring_allreduce.ccs schedules/broken/all_send_first.ccs \
	--slots 0 -n 4 --on "$flat" -b 1K
says "... is reported" "$tmp/err" 'E0304'
says "... and the others are compared" "$tmp/out" '  ring_allreduce$'

# MSCCL XML: the times of the schedule that it was made from.
for name in ring_allreduce halving_doubling_allreduce direct_allgather; do
	"$build/bin/ccc" --emit=msccl-xml "schedules/$name.ccs" -n 4 -o "$tmp/$name.xml"
	is "$name as MSCCL XML" "$(us "schedules/$name.ccs" -n 4 --on "$flat" -b 400000)" "$tmp/$name.xml" \
		--on "$flat" -b 400000
done
is "... with tiles and costs" "$(us schedules/ring_allreduce.ccs -n 4 --on "$here/flat.ccs:costly" -b 400000 --tile 16K)" \
	"$tmp/ring_allreduce.xml" --on "$here/flat.ccs:costly" -b 400000 --tile 16K
status "its longest chain" 0 "$build/bin/ccc" simulate "$tmp/ring_allreduce.xml" --on "$flat" -b 4K -v
says "... by steps of thread blocks" "$tmp/out" 'rank 2 sends i\[1\] to rank 3, thread block 0, step 5, when it has received that'
draws "MSCCL XML" "$tmp/ring_allreduce.xml" --on "$flat" -b 4K
status "MSCCL XML among schedules" 0 "$build/bin/ccc" simulate "$tmp/ring_allreduce.xml" \
	schedules/recursive_doubling_allreduce.ccs -n 4 --on "$flat" -b 1M --format=tuning
says "... in a tuning" "$tmp/out" '^1M +ring_allreduce\.so .* recursive_doubling_allreduce\.so '
sed 's/type="rrcs"/type="rcs"/' "$tmp/ring_allreduce.xml" >"$tmp/wrong.xml"
status "wrong MSCCL XML is no time" 1 "$build/bin/ccc" simulate "$tmp/wrong.xml" --on "$flat" -b 4K
holds "... and no table" test ! -s "$tmp/out"

# Pipelines of p ranks and m microbatches: (m + p - 1) (F + B), and with messages of T = L + S/b = 3 us.
pipe() { # pipe WHAT EXPECTED KIND P M OPTIONS...
	what=$1 want=$2 ranks=$4
	python3 schedules/pipelines/generate.py "$3" --ranks "$4" --microbatches "$5" >"$tmp/pipe.csv"
	shift 5
	got=$("$build/bin/ccc" simulate "$tmp/pipe.csv" "$@" --format=csv 2>"$tmp/err" |
		sed -n "2s/^pipe,$ranks,\"[^\"]*\",[0-9]*,\([0-9.]*\),,,[0-9.]*,\"idle \([0-9.]*\) %;.*/\1 \2/p")
	if [ "$got" = "$want" ]; then ok "$what: $want % idle"; else not_ok "$what" "$got, not $want: $(cat "$tmp/err")"; fi
}
if python3 -c '' 2>/dev/null; then
	pipe "1F1B of 4 and 8: 11 (F + B), 3/11" "33.000000 27.3" 1f1b 4 8
	pipe "... of 5 and 7: 11 (F + B), 4/11" "99.000000 36.4" 1f1b 5 7 --work F=3,I=2,W=4
	pipe "GPipe of 6 and 10: 15 (F + B), 5/15" "135.000000 33.3" gpipe 6 10 --work F=3,B=6
	pipe "interleaved, 2 stages a rank: 16 (F + B) + 3 (F + B), 3/19" "57.000000 15.8" interleaved 4 8
	pipe "zero bubble: 8 (F + I + W) + 3 (F + I - W), 3/27" "81.000000 11.1" zero-bubble 4 8 --work F=3,I=2,W=4
	on="--work F=30,I=20,W=40 --streams=directed --on $flat -b 1000"
	# shellcheck disable=SC2086 # words
	pipe "messages on their way early: 11 (F + B) + 6 T" "1008.000000 28.6" gpipe 4 8 $on --slots 8
	# shellcheck disable=SC2086
	pipe "... when they are received: 11 (F + B) + 20 T" "1050.000000 31.4" gpipe 4 8 $on
fi
for file in schedules/pipelines/*.csv; do # one unit is one microsecond
	"$build/bin/ccc" table "$file" --format=csv | awk -F, 'NR == 2 { printf "%.6f %.1f\n", $13, 100 * $14 }' >"$tmp/table"
	"$build/bin/ccc" simulate "$file" --format=csv --slots 8 | awk -F, 'NR == 2 { sub(/.*idle /, "", $9); sub(/ .*/, "", $9); print $5, $9 }' >"$tmp/times"
	holds "$(basename "$file"): the table's units and idle share" cmp "$tmp/table" "$tmp/times"
done
status "a pipeline drawn" 0 "$build/bin/ccc" simulate schedules/pipelines/1f1b_4x8.csv --work F=30,I=20,W=40 -o "$tmp/x.svg"
holds "... has each computation" test "$(count '^<g class="action"' "$tmp/x.svg")" = 64
says "... and its times" "$tmp/x.svg" 'data-action="3B7" data-start="750" data-end="810"'
status "... as a page, with a machine" 0 "$build/bin/ccc" simulate schedules/pipelines/1f1b_4x8.csv --on "$flat" -b 64K -o "$tmp/x.html"
says "... says what it takes" "$tmp/x.html" '65536 bytes a message on .*flat: [0-9.]* us, idle [0-9.]* %'
status "several pipelines" 0 "$build/bin/ccc" simulate schedules/pipelines/1f1b_4x8.csv schedules/pipelines/zero_bubble_4x8.csv
says "... the best" "$tmp/out" '^ +0 +27\.00 +- +- +1\.12  zero_bubble_4x8; 1f1b_4x8: 1\.22 times as long$'
status "a pipeline as JSON" 0 "$build/bin/ccc" simulate schedules/pipelines/1f1b_4x8.csv --format=json
says "... without bandwidths" "$tmp/out" '"machine": "", "bytes": 0, "us": 33\.0, "algbw": null, "busbw": null, "bound_us": 24\.0, "limit": "idle 27\.3 %; computations of rank 0, 73 %"'

# refused EXPECTED WHAT OPTIONS...
refused() {
	reason=$1 refused=$2
	shift 2
	status "$refused is refused" 2 "$build/bin/ccc" simulate "$@"
	says "... with the reason" "$tmp/err" "$reason"
}
refused "this link of ring has no bandwidth" "a machine without times" schedules/ring_allreduce.ccs -n 4
refused "this link of half has no latency" "half of the times" "$tmp/late.ccs" -n 3 --on "$tmp/slow.ccs:half"
refused "twice, with different times" "a link with two times" schedules/ring_allreduce.ccs -n 2 --on "$tmp/slow.ccs:twice"
refused "link.s bandwidth is 1 to 1e.18" "a bandwidth of 0" schedules/ring_allreduce.ccs -n 2 --on "$tmp/slow.ccs:zero"
refused "cost.s worker is 1 to 1e.18" "a worker that moves nothing" schedules/ring_allreduce.ccs -n 2 --on "$tmp/slow.ccs:idle"
refused "the link from rank 0 to spine.0. is made twice" "a link to a switch with two times" \
	schedules/ring_allreduce.ccs -n 2 --on "$tmp/slow.ccs:stars"
refused "topology full makes no link" "no topology" schedules/direct_allreduce.ccs -n 4
refused "has no link between them" "a message without a link" schedules/direct_allreduce.ccs -n 5 --on "$tmp/own.ccs:own"
refused "topology lone makes no link" "one rank" schedules/ring_allreduce.ccs -n 2 --on "$tmp/slow.ccs:lone"
refused "did you mean .nodes" "an unknown machine" schedules/ring_allreduce.ccs -n 4 --on 'nods(4)'
refused "does not hold for N = 8, G = 3" "a machine of another size" schedules/ring_allreduce.ccs -n 8 --on 'nodes(3)'
refused "a .sized. buffer" "lengths that only a call has" tests/cpu/layouts/exchange_sized.ccs -n 4 --on "$flat"
refused "give -b, without -e" "a picture of many sizes" schedules/ring_allreduce.ccs -n 4 --on "$flat" -o "$tmp/x.svg"
refused "give -b, without -e" "a trace of two sizes" schedules/ring_allreduce.ccs -n 4 --on "$flat" -b 1K -e 2K \
	--format=trace
refused "one number of ranks for a picture" "a picture of two N" schedules/ring_allreduce.ccs -n 4,5 --on "$flat" -b 1K \
	--format=html
refused "there are ranks 0 to 3" "a picture of no rank" schedules/ring_allreduce.ccs -n 4 --on "$flat" -b 1K \
	--rank 9 --format=svg
refused "more than 40000 operations; --rank shows" "a picture that is too large" schedules/ring_allreduce.ccs -n 128 \
	--tile 0 --on "$flat" -b 1M --format=svg
refused "trace would have more than 1048576 operations" "a trace that is too large" schedules/ring_allreduce.ccs -n 64 \
	--tile 128 --on "$flat" -b 4M -o "$tmp/x.json"
refused "--rank also to pictures" "ranks of a table" schedules/ring_allreduce.ccs -n 4 --on "$flat" --rank 1
refused "is of one schedule" "a picture of two schedules" schedules/ring_allreduce.ccs \
	schedules/recursive_doubling_allreduce.ccs -n 4 --on "$flat" -b 1K -o "$tmp/x.svg"
refused "cannot write" "a tuning in no folder" schedules/ring_allreduce.ccs -n 4 --on "$flat" -o "$tmp/none/x.tuning"
refused "more than 2.31 tiles" "a call without end" schedules/ring_allreduce.ccs -n 4 --on "$flat" -b 1000000G
refused "-e is less than -b" "sizes backwards" schedules/ring_allreduce.ccs -n 4 --on "$flat" -b 2K -e 1K
refused "at least 1 byte" "no bytes" schedules/ring_allreduce.ccs -n 4 --on "$flat" -b 0
refused "factor of at least 2" "no growth" schedules/ring_allreduce.ccs -n 4 --on "$flat" -f 0
refused 'did you mean .hgx_h100.' "a machine that does not exist" schedules/ring_allreduce.ccs -n 4 --on hgx_h10
says "... with those that there are" "$tmp/err" 'a machine of the library .*dgx_a100, hgx_h100, .*a topology such as'
refused "takes NAME, NAME.ARGUMENTS" "a text behind the machine" schedules/ring_allreduce.ccs -n 4 \
	--on 'nodes(2) { } schedule x implements barrier() on nodes(4)'
cp "$tmp/own.ccs" "$tmp/mine.ccs"
refused "is a source of this compilation" "a table over the machine" schedules/ring_allreduce.ccs -n 4 \
	--on "$tmp/mine.ccs:own" -o "$tmp/mine.ccs"
holds "... which is as it was" cmp "$tmp/own.ccs" "$tmp/mine.ccs"
refused "takes 1 argument" "a machine without its argument" schedules/ring_allreduce.ccs -n 4 --on nodes
holds "... has no cure in the schedule" sh -c '! grep -q "makes it right" "$1"' - "$tmp/err"
refused "takes bytes" "no size" schedules/ring_allreduce.ccs -n 4 --on "$flat" -b many
refused "as many ranks as lines" "a pipeline with -n" schedules/broken/recv_late.csv -n 2 --on "$flat"
refused "no --tile" "tiles of a pipeline" schedules/pipelines/1f1b_4x8.csv --tile 4K
refused "not as a trace or tuning" "a tuning of pipelines" schedules/pipelines/1f1b_4x8.csv -o "$tmp/x.tuning"
refused "has no link between them" "a pipeline without a link" schedules/pipelines/1f1b_4x8.csv --on "$tmp/own.ccs:own"
for work in "" F F=x F=-1 F=1,F=2 F=1, G=1 F=1e99; do
	refused "takes the microseconds of a forward" "--work '$work'" schedules/pipelines/1f1b_4x8.csv --work "$work"
done
status "a pipeline that is stuck is no time" 1 "$build/bin/ccc" simulate schedules/broken/recv_late.csv
holds "... and no table" test ! -s "$tmp/out"
status "a wrong schedule is no time" 1 "$build/bin/ccc" simulate schedules/broken/all_send_first.ccs -n 4 --slots 0 --on "$flat"
exit $failed
