#!/bin/sh
# Runs test suites and counts. A suite is a command that prints, one a line,
#     ok - WHAT        not ok - WHAT        skip - WHAT: WHY
# (other lines are passed on as they are) and exits with 0. A suite that ends
# with another status has failed, whatever it printed; so has one that printed
# no result. The last line is "N passed, N failed, N skipped".
#
# usage: run.sh [-v] SUITE...      -v: also print the ok lines
set -u

# Kernels for GPUs take NVRTC a second each: only the suites that are about them
# compile them (real_nvrtc in support/lib.sh), and nobody writes to the user's cache.
export CCS_TEST_NVRTC="${CCS_NVRTC-}" CCS_NVRTC=none CCS_CACHE_DIR=

verbose=0
[ "${1:-}" = -v ] && { verbose=1; shift; }
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
passed=0 failed=0 skipped=0
for suite in "$@"; do
	name=$(basename "${suite%% *}")
	start=$(date +%s)
	$suite >"$out" 2>&1 </dev/null
	status=$?
	p=$(grep -c '^ok ' "$out")
	f=$(grep -c '^not ok ' "$out")
	s=$(grep -c '^skip ' "$out")
	if [ "$verbose" = 1 ]; then cat "$out"; else grep -v '^ok ' "$out"; fi
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "not ok - $name ended with status $status"
		f=1
	elif [ $((p + f + s)) -eq 0 ]; then
		echo "not ok - $name printed no result"
		f=1
	fi
	echo "# $name: $p passed, $f failed, $s skipped ($(($(date +%s) - start)) s)"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
