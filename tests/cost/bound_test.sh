#!/bin/sh
# ccc bound: published figures, many ranks, the cut in words, forms of the output, what is refused.
# unit_bound_test.c has the figures of small machines by hand.
# usage: bound_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
bare_environment
at=tests/cost/machines.ccs
flat=tests/cost/flat.ccs:flat

# algbw WANTED N MACHINE COLLECTIVE OPTIONS...
algbw() {
	want=$1 n=$2 machine=$3
	shift 3
	got=$("$build/bin/ccc" bound --on "$machine" -n "$n" "$@" --format=csv 2>"$tmp/err" |
		sed -n '2s/^[^"]*"[^"]*",\([0-9.]*\),.*/\1/p')
	if [ "$got" = "$want" ]; then ok "$*, $n ranks on $machine: $want GB/s"; else
		not_ok "$*, $n ranks on $machine" "$got, not $want: $(cat "$tmp/err")"
	fi
}
# cut WANTED N MACHINE COLLECTIVE OPTIONS...
cut_is() {
	want=$1 n=$2 machine=$3
	shift 3
	status "$*, $n ranks on $machine" 0 "$build/bin/ccc" bound --on "$machine" -n "$n" "$@"
	says "... with the cut" "$tmp/out" "$want"
}

# DGX A100 as in the paper on ForestColl: min of 8N/(8N-1) 325 and N/(N-1) 200 GB/s for N nodes; one node 8/7 300.
algbw 342.857143 8 "$at:dgx(8)" allgather
algbw 346.666667 16 "$at:dgx(8)" allgather
algbw 266.666667 32 "$at:dgx(8)" allgather
algbw 213.333333 128 "$at:dgx(8)" allgather
algbw 201.574803 1024 "$at:dgx(8)" allgather
algbw 201.574803 1024 "$at:dgx(8)" reduce_scatter
algbw 100.787402 1024 "$at:dgx(8)" allreduce
algbw 200.000000 32 "$at:dgx(8)" broadcast --root 9
algbw 200.000000 32 "$at:dgx(8)" reduce
algbw 266.666667 32 "$at:dgx(8)" gather --root 3
algbw 266.666667 32 "$at:dgx(8)" scatter
algbw 33.333333 32 "$at:dgx(8)" all_to_all # 8 * 24 of 32 S/32 leave a node at 200 GB/s
algbw 0.000000 32 "$at:dgx(8)" barrier
algbw 0.000000 1 "$at:dgx(1)" allgather
# A line: both directions of each link at once, so a sum goes to one end while others come back.
algbw 10.000000 6 "$at:line10" allreduce
algbw 12.000000 6 "$at:line10" allgather
# A torus of 4 links a rank: a message of an all-to-all takes 2 of them in the mean over all 16 ranks.
algbw 20.000000 16 "$at:torus10(4, 4)" all_to_all
algbw 42.666667 16 "$at:torus10(4, 4)" allgather
# A hub takes 100 GB/s from a rank and gives it 50.
algbw 66.666667 4 "$at:hub" allgather
algbw 133.333333 4 "$at:hub" reduce_scatter
algbw 33.333333 4 "$at:hub" allreduce

cut_is 'the links from spine to ranks 0 to 7 \(8 of 32\): 200 GB/s$' 32 "$at:dgx(8)" allgather
cut_is 'the links from nvl.0., spine to rank 0: 325 GB/s$' 16 "$at:dgx(8)" allgather
cut_is 'the links from ranks 0 to 7 \(8 of 32\) to spine: 200 GB/s$' 32 "$at:dgx(8)" reduce_scatter
cut_is 'the links to 4 groups, such as ranks 0 to 7 \(8 of 32\): 800 GB/s together$' 32 "$at:dgx(8)" allreduce
cut_is 'all links together: 640 GB/s$' 16 "$at:torus10(4, 4)" all_to_all
cut_is 'the links from rank 0 to rank 1: 10 GB/s$' 6 "$at:line10" broadcast --root 0
says "... and the latency of the farthest rank" "$tmp/out" '^  15\.00 us: latency$'
cut_is '^  10\.00 us: latency$' 6 "$at:line10" reduce --root 2
cut_is '^  9\.00 us: latency$' 6 "$at:line10" gather --root 3

status "sizes" 0 "$build/bin/ccc" bound --on "$at:line10" -n 6 broadcast -b 1K -e 16M -f 128
says "... of little: the latency" "$tmp/out" '^ +1024 +15\.00$'
says "... of much: the bytes, and the latency of one link" "$tmp/out" '^ +16777216 +1680\.72$'
status "CSV of several N" 0 "$build/bin/ccc" bound --on "$at:dgx(8)" -n 8,16 allgather --format=csv -b 1K -e 4K
holds "... has one head, and a row a size" test "$(grep -c '^collective,' "$tmp/out")/$(wc -l <"$tmp/out")" = 1/5
status "JSON" 0 "$build/bin/ccc" bound --on "$at:dgx(8)" -n 16 allgather --format=json -o "$tmp/x.json"
says "... is an object a row" "$tmp/x.json" '^\{"collective": "allgather", "ranks": 16, "machine": ".*dgx\(8\)", "algbw": 346\.66.*, "us_per_gib": 3097.*, "cut": "the links from nvl'

# No schedule of the library is faster, and some are as fast.
find_schedules
for file in schedules/*.ccs; do
	for machine in 'nodes(4)' "$at:dgx(4)" "$flat"; do
		for root in "--root 2" ""; do
			# shellcheck disable=SC2086 # words
			"$build/bin/ccc" simulate "$file" -n 8 $root --on "$machine" -b 1K -e 16M -f 16 \
				--format=csv 2>/dev/null && break
		done
	done
done | sed -n 's/^\([^,]*\),8,"\([^"]*\)",\([^"]*\),".*/\1 \2 \3/p' | tr ',' ' ' >"$tmp/rows"
awk '$NF != "" && NF == 7' "$tmp/rows" >"$tmp/bounded"
holds "$(wc -l <"$tmp/bounded") predictions of the library" test "$(wc -l <"$tmp/bounded")" -ge 200
awk '$4 < $7 * (1 - 1e-6)' "$tmp/bounded" >"$tmp/faster"
holds "... none below the bound" test ! -s "$tmp/faster"
holds "... and some at the bound" test "$(awk '$4 <= $7 * (1 + 1e-6)' "$tmp/bounded" | wc -l)" -ge 4

status "a schedule's times its bound" 0 "$build/bin/ccc" simulate schedules/direct_allgather.ccs -n 8 --on "$flat" -b 720000 --tile 0
says "... in the table" "$tmp/out" '^ +720000 +92\.00 .* +1\.00  '
cat >"$tmp/own.ccs" <<-'END'
	contract allgather(in a[C], out b[C]) ensures b[i] == a[i]@((rank - 1) % N)
	schedule turn_once implements allgather(in a[1], out b[1]) {
	  step { send a to (rank + 1) % N  recv b from (rank - 1) % N }
	}
END
status "a contract of the file's, with a name of the prelude's" 0 "$build/bin/ccc" simulate "$tmp/own.ccs" -n 4 \
	--on "$flat" -b 1000
says "... has no bound" "$tmp/out" '^ +1000 +3\.00 .* +-  '
status "... in JSON" 0 "$build/bin/ccc" simulate "$tmp/own.ccs" -n 4 --on "$flat" -b 1000 --format=json
says "... it is null" "$tmp/out" '"bound_us": null, "limit"'

# refused EXPECTED WHAT OPTIONS...
refused() {
	reason=$1 refused=$2
	shift 2
	status "$refused is refused" 2 "$build/bin/ccc" bound "$@"
	says "... with the reason" "$tmp/err" "$reason"
}
# No rank sends to ranks 1 and 2 but each other: rank 0 does not reach them.
cat >"$tmp/apart.ccs" <<-'END'
	topology apart where N == 3 {
	  switch s
	  link rank -> s (bandwidth = 1e9, latency = 1e-6)
	  link 1 -> 0 (bandwidth = 1e9, latency = 1e-6)
	  link 2 -> 0 (bandwidth = 1e9, latency = 1e-6)
	  link 1 -> 2 (bandwidth = 1e9, latency = 1e-6)
	  link 2 -> 1 (bandwidth = 1e9, latency = 1e-6)
	}
END
refused "apart has no path from" "an all_to_all without paths" --on "$tmp/apart.ccs:apart" -n 3 all_to_all
refused "did you mean .allgather" "a collective with a slip" --on 'nodes(2)' -n 4 allgathr
refused "there are allreduce, allgather, .* and barrier" "a schedule" --on 'nodes(2)' -n 4 schedules/ring_allreduce.ccs
refused "takes one collective" "no collective" --on 'nodes(2)' -n 4
refused "takes one collective" "two collectives" --on 'nodes(2)' -n 4 gather scatter
refused "needs a machine and numbers of ranks" "no machine" -n 4 gather
refused "needs a machine and numbers of ranks" "no number of ranks" --on 'nodes(2)' gather
refused "allgather has no root" "a root for all ranks" --on 'nodes(2)' -n 4 allgather --root 1
refused "there are ranks 0 to 3" "a root that is no rank" --on 'nodes(2)' -n 4 gather --root 4
refused "no schedule with parameters" "a parameter" --on 'nodes(2)' -n 4 gather -D K=2
refused "is of a collective, not of a schedule" "--schedule" --on 'nodes(2)' -n 4 gather --schedule x
refused "did you mean .nodes" "an unknown machine" --on 'nods(2)' -n 4 gather
refused "this link of ring has no bandwidth" "a machine without times" --on ring -n 4 gather
refused "oneway has no path from rank 3 to ranks 0 to 2 .3 of 4." "a machine with a dead end" --on "$at:oneway" -n 4 allgather
status "... but not for a collective that needs no other path" 0 "$build/bin/ccc" bound --on "$at:oneway" -n 4 broadcast
exit $failed
