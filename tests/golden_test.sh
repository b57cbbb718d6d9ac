#!/bin/sh
# Whole messages and reports, compared byte for byte with tests/golden/.
# usage: golden_test.sh BUILD [--bless]      --bless (make bless) renews them
set -u
. tests/support/lib.sh
ccc=${1:-build}/bin/ccc

compare() { # compare NAME
	if [ "$bless" = 1 ]; then
		mkdir -p tests/golden
		cp "$tmp/said" "tests/golden/$1"
		ok "blessed $1"
	elif cmp -s "$tmp/said" "tests/golden/$1"; then
		ok "golden $1"
	else
		not_ok "golden $1" "$(diff -u "tests/golden/$1" "$tmp/said" 2>&1)"
	fi
}
bless=0
[ "${2:-}" = --bless ] && bless=1

for f in schedules/broken/*.ccs; do
	# The file's first line may ask for options: "// options: ..."
	opt=$(sed -n 's/^\/\/! options: //p' "$f")
	# shellcheck disable=SC2086
	"$ccc" check "$f" $opt >"$tmp/said" 2>&1
	compare "$(basename "$f" .ccs).txt"
	# shellcheck disable=SC2086
	"$ccc" check "$f" $opt --diagnostics-format=json >"$tmp/said" 2>&1
	compare "$(basename "$f" .ccs).json"
done
for f in ring_allreduce double_binary_tree_allreduce bruck_all_to_all; do
	"$ccc" check schedules/$f.ccs >"$tmp/said" 2>&1
	compare "report-$f.txt"
done
"$ccc" schedules/ring_allreduce.ccs -n 3 --emit=plan >"$tmp/said" 2>&1
compare "plan-ring_allreduce-3.txt"
"$ccc" schedules/ring_allreduce.ccs -n 3 --emit=program >"$tmp/said" 2>&1
compare "program-ring_allreduce-3.txt"
"$ccc" schedules/ring_allreduce.ccs -n 4 --emit=header >"$tmp/said" 2>&1
compare "header-ring_allreduce.txt"
"$ccc" explain schedules/ring_allreduce.ccs -n 3 >"$tmp/said" 2>&1
compare "explain-ring_allreduce-3.txt"
"$ccc" --explain E0304 >"$tmp/said" 2>&1
compare "explain-E0304.txt"
exit $failed
