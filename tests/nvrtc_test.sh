#!/bin/sh
# Kernels of every schedule compile, with nothing to warn of, for each GPU: nvrtc_test.c
# over modules as ccc makes them, with the source in them.
# usage: nvrtc_test.sh BUILD        FULL=1: every type and operator (hours)
set -u
. tests/support/lib.sh
build=${1:-build}
set -- # modules
for f in schedules/*.ccs; do
	so=$tmp/$(basename "$f" .ccs).so
	# shellcheck disable=SC2046
	if ! CCS_NVRTC=none "$build/bin/ccc" "$f" $(tests/admitted.sh "$build/bin/ccc" "$f") \
			-o "$so" 2>"$tmp/err"; then
		not_ok "$f compiles" "$(cat "$tmp/err")"
		continue
	fi
	set -- "$@" "$so"
done
real_nvrtc
"$build/tests/nvrtc_test" ${FULL:+--full} "$@" || failed=1
exit $failed
