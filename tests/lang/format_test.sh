#!/bin/sh
# Formatting: every .ccs in the tree that parses keeps its AST, formatting twice
# changes nothing, the library's own files are in canonical form, and those of
# tests/lang/format are what stands beside them (renewed by make bless).
# usage: format_test.sh BUILD
set -u
ccc=${1:-build}/bin/ccc
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
ast() { "$ccc" --emit=ast "$1" 2>/dev/null | sed 's/ @[0-9:]*$//'; }

# A copy of the tree's texts, in which the formatted ones find their imports.
cp --parents $(find lang schedules examples tests -name '*.ccs') "$tmp"
for f in $(find lang schedules examples tests -name '*.ccs' | sort); do
	"$ccc" fmt "$f" >"$tmp/once.ccs" 2>"$tmp/err"
	case $? in
	0) ;;
	1) grep -q E0101 "$tmp/err" && continue	# does not parse: nothing to format
	   echo "not ok - fmt $f: status 1 without E0101"; failed=1; continue ;;
	*) echo "not ok - fmt $f: $(head -1 "$tmp/err")"; failed=1; continue ;;
	esac
	"$ccc" fmt "$tmp/once.ccs" >"$tmp/twice.ccs" 2>&1
	why=
	cmp -s "$tmp/once.ccs" "$tmp/twice.ccs" || why="formatting twice changes it"
	cp "$tmp/once.ccs" "$tmp/$f"
	ast "$f" >"$tmp/a"
	ast "$tmp/$f" >"$tmp/b"
	cmp -s "$tmp/a" "$tmp/b" || why="the AST changes"
	case $f in
	schedules/*|examples/*|lang/*)
		cmp -s "$f" "$tmp/once.ccs" || why="it is not in canonical form" ;;
	tests/lang/format/*)
		diff "${f%.ccs}.txt" "$tmp/once.ccs" | sed 's/^/# /'
		cmp -s "${f%.ccs}.txt" "$tmp/once.ccs" || why="it is not ${f%.ccs}.txt" ;;
	esac
	if [ -z "$why" ]; then echo "ok - fmt $f"; else
		echo "not ok - fmt $f: $why"; failed=1; fi
done
exit $failed
