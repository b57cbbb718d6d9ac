#!/bin/sh
# ccc simulate where messages share links: by SimGrid, on random programs and machines (contention.py).
# usage: simgrid_test.sh BUILD [CASES]
set -u
. tests/support/lib.sh
build=${1:-build} cases=${2:-60}
bare_environment

if ! python3 -c '' 2>/dev/null; then
	echo "skip - links that are shared, by SimGrid: there is no python3"
	exit 0
fi
if ! echo '#include <simgrid/s4u.hpp>' | ${CXX:-g++} -E -x c++ - >/dev/null 2>&1; then
	echo "skip - links that are shared, by SimGrid: it is not installed (tests/deps.sh check)"
	exit 0
fi
status "the referee compiles" 0 ${CXX:-g++} -std=c++17 -O1 -o "$tmp/simgrid" tests/cost/simgrid.cc -lsimgrid
printf '%s\n' 'ranks 2 slots 8' 'cost 1e-5 1e-6 2e9 0' 'link 1e9' 'fifo 0 1 2e-6 1 0' \
	'worker 0' 'op -1 0 0 0 1 720000' 'worker 1' 'op 0 -1 0 0 1 720000' >"$tmp/one"
holds "... and knows call + 2 step + L + S/b + S/w" test \
	"$("$tmp/simgrid" <"$tmp/one" 2>/dev/null)" = 0.001094
python3 tests/cost/contention.py "$build/bin/ccc" "$tmp/simgrid" "$tmp" "$cases" >"$tmp/compared" 2>"$tmp/err"
holds "$cases random programs and machines: $(tail -n 1 "$tmp/compared")" awk -v n="$cases" '
	/ within 5 %, / { ok = $1 >= 0.95 * n && $7 <= 1 && $11 <= 10 }
	/^case/ { print "#", $0 }
	END { exit !ok }' "$tmp/compared"
exit $failed
