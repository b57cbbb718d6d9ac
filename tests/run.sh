#!/bin/sh
# Runs test suites side by side and counts. A suite is a command that prints, one a line,
#     ok - WHAT        not ok - WHAT        skip - WHAT: WHY
# (other lines are passed on as they are) and exits with 0. TAP's way to skip, "# SKIP" behind a
# result, means the same: cmocka 1.1 writes "not ok 2 # SKIP name" for a test that it skipped.
# A suite that ends with another status has failed, whatever it printed; so has one that
# printed no result. Its last line here tells how long it took, and how long processors worked for it
# and for what it started. The last line of all is "N passed, N failed, N skipped".
#
# A suite may begin with a number, about the seconds that it takes: those that take
# longest begin first; or with ~, if it does little but wait: those begin at once, beside
# the others.
#
# usage: run.sh [-v] [-j N] [-s N] [-r N] SUITE...
#     -v: also print the ok lines
#     -j: so many at a time (one a core), beside those that wait
#     -s: more skips than N are a failure, and so is a suite in which nothing passed
#     -r: if at most N suites fail, each is run again by itself when all are over; the second
#         result counts, and a line names each suite that failed only the first time
set -u

# Kernels for GPUs take NVRTC a second each: only the suites that are about them
# compile them (real_nvrtc in support/lib.sh), and nobody writes to the user's cache.
export CCS_TEST_NVRTC="${CCS_TEST_NVRTC-${CCS_NVRTC-}}" CCS_NVRTC=none CCS_CACHE_DIR=

# Of what `times` has printed: of all processes that the shell has waited for.
cpu_seconds() {
	sed -n '2s/[ms]/ /gp' "$1" | awk '{ printf "%.0f", 60 * $1 + $2 + 60 * $3 + $4 }'
}

# On a terminal: how many suites are done, in a line that is written over; takes it away.
say_progress() {
	[ -z "$CCS_RUN_TERMINAL" ] || printf '\r\033[K%d of %d suites done, %d failed' \
		"$(wc -l <"$CCS_RUN/counts")" "$CCS_RUN_SUITES" \
		"$(awk '$2 { n++ } END { print n + 0 }' "$CCS_RUN/counts")" >&2
}
erase_progress() { [ -z "$CCS_RUN_TERMINAL" ] || printf '\r\033[K' >&2; }

# One suite; what it printed is passed on when it is over.
one() {
	suite=${1#"${1%%[!0-9~ ]*}"}
	name=$(basename "${suite%% *}")
	out=$(mktemp "$CCS_RUN/out.XXXXXX") || exit 1
	# A suite's own counts, for coverage.sh.
	[ -z "${CCS_COVERAGE-}" ] || export GCOV_PREFIX="$CCS_COVERAGE/${suite%% *}"
	start=$(date +%s)
	$suite >"$out" 2>&1 </dev/null
	status=$?
	times >"$out.cpu"
	cpu=$(cpu_seconds "$out.cpu")
	sed -E -i -e 's/^(not )?ok( [0-9]+)?( -)? ([^#0-9 ][^#]*[^# ]) *# *SKIP */skip - \4: /' \
		-e 's/^(not )?ok( [0-9]+)?( -)? *# *SKIP */skip - /' "$out"
	p=$(grep -c '^ok ' "$out")
	f=$(grep -c '^not ok ' "$out")
	s=$(grep -c '^skip ' "$out")
	if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "not ok - $name ended with status $status" >>"$out"
		f=1
	elif [ $((p + f + s)) -eq 0 ]; then
		echo "not ok - $name printed no result" >>"$out"
		f=1
	elif [ -n "$CCS_RUN_SKIPS" ] && [ $((p + f)) -eq 0 ]; then
		echo "not ok - $name skipped all" >>"$out"
		f=1
	fi
	echo "# $name: $p passed, $f failed, $s skipped ($(($(date +%s) - start)) s, CPU $cpu s)" >>"$out"
	(
		flock 9
		erase_progress
		if [ "$CCS_RUN_VERBOSE" = 1 ]; then cat "$out"; else grep -v '^ok ' "$out"; fi
		echo "$p $f $s $cpu $1" >>"$CCS_RUN/counts"
		say_progress
	) 9>"$CCS_RUN/lock"
}
[ "${1:-}" = --one ] && { one "$2"; exit 0; }

# A python3 may be a script that looks for an interpreter, as pyenv's, which takes twice as long as what
# most suites start with it: they start that interpreter.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) &&
	[ "$python" != "$(command -v python3)" ] && PATH=${python%/*}:$PATH

export CCS_RUN_VERBOSE=0 CCS_RUN_SKIPS= CCS_RUN_TERMINAL=
[ ! -t 2 ] || [ "${TERM:-dumb}" = dumb ] || CCS_RUN_TERMINAL=1
jobs=$(nproc) again=0
while :; do
	case ${1:-} in
	-v) CCS_RUN_VERBOSE=1; shift ;;
	-j) jobs=$2; shift 2 ;;
	-s) CCS_RUN_SKIPS=$2; shift 2 ;;
	-r) again=$2; shift 2 ;;
	*) break ;;
	esac
done
CCS_RUN=$(mktemp -d) || exit 1
export CCS_RUN CCS_RUN_SUITES=$#
: >"$CCS_RUN/counts"
trap 'erase_progress; rm -rf "$CCS_RUN"' EXIT
trap 'exit 130' INT TERM
begun=$(date +%s)
# side_by_side N: the suites of stdin, so many at a time (0: all)
side_by_side() { tr '\n' '\0' | xargs -0 -r -P "$1" -n 1 "$0" --one; }
say_progress
# One pipeline, through which nothing goes: an interrupt ends both halves.
exec 3>&1
printf '%s\n' "$@" | grep '^~' | side_by_side 0 >&3 |
	{ printf '%s\n' "$@" | grep -v '^~' | sort -s -k 1,1nr | side_by_side "$jobs"; }
erase_progress
if [ "$(awk '$2 { n++ } END { print n + 0 }' "$CCS_RUN/counts")" -le "$again" ]; then
	awk '$2' "$CCS_RUN/counts" | cut -d ' ' -f 5- >"$CCS_RUN/failed"
	sed -i '/^[0-9]* 0 /!d' "$CCS_RUN/counts"
	while IFS= read -r suite <&4; do
		echo "# again, by itself: $suite"
		"$0" --one "$suite"
		tail -n 1 "$CCS_RUN/counts" | grep -q '^[0-9]* 0 ' && echo "# unsteady: $suite failed, and passed when run again"
	done 4<"$CCS_RUN/failed"
fi
awk '{ cpu += $4 } END { printf "# %d suites in %d s, CPU %d s\n", n, s, cpu }' \
	n=$# s=$(($(date +%s) - begun)) "$CCS_RUN/counts"
awk '{ p += $1; f += $2; s += $3 }
     END {
	if (most != "" && s > most) {
		printf "not ok - %d skipped, and at most %d may be\n", s, most
		f++
	}
	printf "%d passed, %d failed, %d skipped\n", p, f, s
	exit !(NR == n && !f && p)
     }' n=$# most="$CCS_RUN_SKIPS" "$CCS_RUN/counts"
