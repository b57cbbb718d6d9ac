#!/bin/sh
# Builds the examples and runs each.   usage: examples_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}

status "make examples" 0 make -s BUILD="$build" examples
for p in "$build"/examples/*; do
	[ -f "$p" ] && [ -x "$p" ] || continue
	case $p in *.so|*.o) continue ;; esac
	status "example $(basename "$p")" 0 sh -c "cd '$build/examples' && ./$(basename "$p")"
	holds "... says what it found" test -s "$tmp/out"
done
# What takes any module takes all of the library.
for module in "$build"/tests/modules/*.so; do
	status "check_any $(basename "$module")" 0 "$build/examples/check_any" "$module"
	holds "... has run it" grep -q ' ranks: 0 wrong$' "$tmp/out"
done
exit $failed
