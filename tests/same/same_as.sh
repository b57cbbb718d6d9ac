#!/bin/sh
# Whether this build says and does the same as an older one: for the library and random programs,
# what `ccc check` prints, the plan as text (--emit=plan), and the bytes that modules leave in the
# ranks' buffers (results.c). Each compiles and runs its own modules.
#
# Prints how many of each differ, and names them; below, the lines that differ, numbers as #, with how
# often each does: a change that was meant is one or two of these. Ends with 1 if any differs. Not
# part of `make check`, as it needs two builds; --keep: where all texts are left.
# usage: tests/same/same_as.sh [--keep FOLDER] OLD [NEW [PROGRAMS [SEED]]]
#     OLD, NEW: trees that are built (with their build/ inside); NEW: this one; 1000 programs
set -u
if [ "${1:-}" = --keep ]; then
	keep=$2
	shift 2
	mkdir -p "$keep" || exit 2
else
	keep=$(mktemp -d) || exit 2
	trap 'rm -rf "$keep"' EXIT
fi
if [ $# = 0 ] || [ $# -gt 4 ]; then
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")/../.." && pwd)
old=$(cd "$1" && pwd) && new=$(cd "${2:-$here}" && pwd) || exit 2
count=${3:-1000} seed=${4:-1}
export CCS_NVRTC=none CCS_CACHE_DIR= LC_ALL=C

for tree in "$old" "$new"; do
	if ! [ -x "$tree/build/bin/ccc" ] || ! [ -e "$tree/build/lib/libccs.so.0" ]; then
		echo "same_as.sh: $tree is not built: make -C $tree all" >&2
		exit 2
	fi
done
mkdir -p "$keep/texts" "$keep/old" "$keep/new"
support=$here/tests/support
${CC:-cc} -std=c11 -O1 -w -D_GNU_SOURCE -I"$here" -o "$keep/make_texts" "$here/tests/same/texts.c" \
	"$support/random_program.c" "$support/right_program.c" "$support/oracle.c" &&
	"$keep/make_texts" "$keep/texts" "$count" "$seed" >"$keep/list" || exit 2
for file in "$old"/schedules/*.ccs; do
	cp "$file" "$keep/texts"
done
for side in old new; do
	eval "tree=\$$side"
	# shellcheck disable=SC2154
	${CC:-cc} -std=c11 -O1 -w -I"$tree" -o "$keep/results.$side" "$here/tests/same/results.c" \
		"$tree/build/lib/libccs.so.0" -Wl,-rpath,"$tree/build/lib" || exit 2
done

# each NAME RANKS SIDE TREE: all that is asked of one text
each() {
	at=$keep/$3/$1 ccc=$4/build/bin/ccc
	cd "$keep/texts" || exit 2
	"$ccc" check "$1.ccs" -n "$2" >"$at.report" 2>&1
	echo "status $?" >>"$at.report"
	"$ccc" "$1.ccs" -n "$2" --emit=plan >"$at.plan" 2>/dev/null || return 0
	"$ccc" "$1.ccs" -n "$2" --target=cpu -o "$at.so" >"$at.result" 2>&1 &&
		timeout 120 "$keep/results.$3" "$at.so" >"$at.result" 2>&1
	rm -f "$at.so"
}
# Library schedules for all numbers of ranks that both admit.
for file in "$old"/schedules/*.ccs; do
	n=$("$here/tests/admitted.sh" "$old/build/bin/ccc" "$file")
	echo "$(basename "$file" .ccs) ${n#-n }"
done >"$keep/library"
cat "$keep/library" "$keep/list" >"$keep/all"
side_of() {
	while read -r name ranks; do
		each "$name" "$ranks" "$1" "$2"
	done <"$keep/all"
}
side_of old "$old" &
side_of new "$new"
wait

differs=0
for what in report plan result; do
	n=0 same=0
	: >"$keep/$what.names"
	: >"$keep/$what.lines"
	while read -r name _; do
		a=$keep/old/$name.$what b=$keep/new/$name.$what
		[ -e "$a" ] || [ -e "$b" ] || continue
		n=$((n + 1))
		if cmp -s "$a" "$b"; then
			same=$((same + 1))
			continue
		fi
		echo "$name" >>"$keep/$what.names"
		diff "$a" "$b" 2>&1 | sed -n 's/[0-9][0-9]*/#/g; /^[<>]/p' | sort -u >>"$keep/$what.lines"
	done <"$keep/all"
	echo "$what: $same of $n the same"
	[ "$same" = "$n" ] && continue
	differs=1
	echo "  differ: $(head -12 "$keep/$what.names" | tr '\n' ' ')$([ $((n - same)) -gt 12 ] && echo ...)"
	sort "$keep/$what.lines" | uniq -c | sort -rn | head -30 | cut -c1-150
done
exit $differs
