#!/bin/sh
# bench/machine.py: from times that a machine makes it finds the constants of that machine, also for a schedule that it
# was not shown; a model that cannot have made them is seen in its figures; files that it cannot use.
# usage: machine_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
python3 -c '' 2>/dev/null || { echo "skip - the fit of a machine: there is no python3"; exit 0; }

template() { # template BANDWIDTH LATENCY: each link
	echo "topology flat { for peer in 0..N { link rank -> peer (bandwidth = $1, latency = $2) } }"
}
template 3e9 2e-6 >"$tmp/true.ccs"
template '{b=1e10}' '{latency=1e-6}' >"$tmp/template"
template '{b=1e10}' 0 >"$tmp/no_latency"
echo schedule,ranks,bytes,us >"$tmp/times.csv"
for s in ring_allreduce direct_allgather recursive_doubling_allreduce; do
	for n in 2 4; do
		"$build/bin/ccc" simulate schedules/$s.ccs -n $n --on "$tmp/true.ccs:flat" -b 1K -e 4M -f 16 --format=csv |
			sed -n "s/^$s,\($n\),\"[^\"]*\",\([0-9]*\),\([0-9.]*\),.*/$s,\1,\2,\3/p" >>"$tmp/times.csv"
	done
done
fit() { python3 bench/machine.py "$build" --measured "$tmp/times.csv" --template "$tmp/$1" --each; }
holds "24 times are there" test "$(wc -l <"$tmp/times.csv")" = 25
status "a fit" 0 fit template
says "... is off by at most 1 %" "$tmp/out" '^// Predicted .* median [01] %, nine tenths within [01] %'
says "... and so for schedules that it was not fitted to" "$tmp/out" 'fitted without it: median [01] %, nine tenths within [01] %'
says "... and has the bandwidth" "$tmp/out" 'bandwidth = (2\.9[5-9]|3|3\.0[0-5])[0-9]*e\+09'
status "a model without latency" 0 fit no_latency
says "... is off by more than 10 % in some" "$tmp/out" '^// Predicted .* nine tenths within [1-9][0-9]+ %'
echo schedule,ranks,bytes,us >"$tmp/times.csv"
status "no times" 1 fit template
says "... are an error" "$tmp/err" 'there are no times'
echo no_such_schedule,2,1024,1 >>"$tmp/times.csv"
status "a schedule that is not there" 1 fit template
says "... is named" "$tmp/err" 'no_such_schedule'

exit $failed
