#!/bin/bash
# How tests/run.sh counts what passed, failed or was skipped, in each form that suites write; and that
# each suite is run.
set -u
. "${BASH_SOURCE%/*}/../support/lib.sh"

# counts WHAT LAST-LINE STATUS [OPTION...], the suite as a script on standard input
counts() {
	local rc last title=$1 wanted=$2 status=$3
	shift 3
	{ echo '#!/bin/sh'; cat; } >"$tmp/suite"
	chmod +x "$tmp/suite"
	tests/run.sh "$@" "$tmp/suite" >"$tmp/log" 2>&1
	rc=$?
	last=$(tail -n 1 "$tmp/log")
	if [ "$last" = "$wanted" ] && [ $rc = "$status" ]; then ok "$title"; else
		not_ok "$title" "wanted status $status, \"$wanted\"; got $rc, \"$last\""
	fi
}

counts "what passed and what was skipped" "2 passed, 0 failed, 1 skipped" 0 <<'S'
echo 'ok - one'; echo 'ok 2 - two'; echo 'skip - three: no GPU'
S
counts "a failure" "1 passed, 1 failed, 0 skipped" 1 <<'S'
echo 'ok - one'; echo 'not ok - two'
S
counts "a test that cmocka skipped has not failed" "2 passed, 0 failed, 1 skipped" 0 <<'S'
echo 'ok 1 - avx2'; echo 'not ok 2 # SKIP avx512'; echo 'ok 3 - chosen'
S
counts "a name, a number sign and a reason" "1 passed, 0 failed, 2 skipped" 0 <<'S'
echo 'ok 1 - bug #12'; echo 'ok 2 - avx512 # SKIP no such processor'; echo 'ok # SKIP'
S
counts "a status without a failure is one" "1 passed, 1 failed, 0 skipped" 1 <<'S'
echo 'ok - one'; exit 3
S
counts "a suite without a result has failed" "0 passed, 1 failed, 0 skipped" 1 <<'S'
echo hello
S
counts "only skipped" "0 passed, 0 failed, 1 skipped" 1 <<'S'
echo 'not ok 1 # SKIP all'
S
counts "no more skips than there may be" "1 passed, 0 failed, 1 skipped" 0 -s 1 <<'S'
echo 'ok - one'; echo 'skip - two: no GPU'
S
counts "... one more" "1 passed, 1 failed, 2 skipped" 1 -s 1 <<'S'
echo 'ok - one'; echo 'skip - two: no GPU'; echo 'skip - three: no GPU'
S
counts "... and a suite that skips all" "0 passed, 1 failed, 1 skipped" 1 -s 1 <<'S'
echo 'skip - one: no PyTorch'
S
once='[ ! -e "$0.once" ] || { rm "$0.once"; echo "not ok - one"; exit 1; }; echo "ok - one"'
touch "$tmp/suite.once"
counts "a suite that fails by chance, run again" "1 passed, 0 failed, 0 skipped" 0 -r 1 <<<"$once"
says "... aloud" "$tmp/log" '^# unsteady: .*/suite failed, and passed when run again$'
counts "one that always fails" "0 passed, 1 failed, 0 skipped" 1 -r 1 <<'S'
echo 'not ok - one'
S
touch "$tmp/suite.once"
counts "more failures than are run again" "0 passed, 1 failed, 0 skipped" 1 -r 0 <<<"$once"

# How far it has come, on a terminal alone.
printf '#!/bin/sh\necho "ok - one"\n' >"$tmp/right"
printf '#!/bin/sh\necho "not ok - two"\n' >"$tmp/wrong"
chmod +x "$tmp/right" "$tmp/wrong"
holds "on a terminal it says how many suites are done" on_terminal \
	'(?s)\r\x1b\[K1 of 2 suites done, 0 failed\r\x1b\[K.*\r\x1b\[K2 of 2 suites done, 1 failed\r\x1b\[K.*1 passed, 1 failed' \
	tests/run.sh -j 1 "2 $tmp/right" "1 $tmp/wrong"
tests/run.sh "$tmp/right" "$tmp/wrong" >"$tmp/log" 2>&1
if grep -q "$(printf '\033')" "$tmp/log"; then not_ok "... and elsewhere it does not" "$(cat -v "$tmp/log")"; else
	ok "... and elsewhere it does not"
fi
printf 'all: %s\n%s:\n\t@echo cc -c -o $@\n' "a.o b.o" "a.o b.o" >"$tmp/makefile"
holds "so does make demo, of files that are compiled" on_terminal \
	'(?s)\r\x1b\[Kbuilding: 1 of 2 files\r\x1b\[Kbuilding: 2 of 2 files\r\x1b\[K$' \
	tests/building.sh make -f "$tmp/makefile" all
status "... which elsewhere has make's own lines, and its exit status" 2 \
	tests/building.sh make -f "$tmp/makefile" all none
says "... as they are" "$tmp/out" '^cc -c -o a\.o$'

# Each suite is in a list of tests.mk, or another suite runs it.
awk '/^SUITES_/ { on = 1 } /^NEEDS_/ { on = 0 } on' tests/tests.mk >"$tmp/lists"
missing=
for suite in tests/*/*_test.sh tests/*/*_test.c; do
	name=$(basename "${suite%.*}")
	grep -lE "/$name\b|run $name\b" "$tmp/lists" tests/*/*.sh | grep -qvxF "$suite" || missing="$missing $suite"
done
if [ -z "$missing" ]; then ok "each suite is run"; else not_ok "each suite is run" "$missing"; fi

missing=$(tests/mutants/mutants.py --names)
if [ -z "$missing" ]; then ok "what make mutants names is there"; else not_ok "what make mutants names is there" "$missing"; fi

# The real cmocka, and a real test that a processor skips: see unit_reduce_test.c.
if printf '%s\n' '#include <stdarg.h>' '#include <stddef.h>' '#include <setjmp.h>' '#include <stdint.h>' \
		'#include <cmocka.h>' 'static void one(void **s) { (void)s; }' \
		'static void two(void **s) { (void)s; skip(); }' \
		'int main(void) { const struct CMUnitTest t[] = { cmocka_unit_test(one), cmocka_unit_test(two) };' \
		'cmocka_set_message_output(CM_OUTPUT_TAP); return cmocka_run_group_tests(t, NULL, NULL); }' \
		>"$tmp/t.c" && ${CC:-cc} -o "$tmp/cm" "$tmp/t.c" -lcmocka 2>"$tmp/log"; then
	counts "this machine's cmocka" "1 passed, 0 failed, 1 skipped" 0 <<S
exec $tmp/cm
S
else
	echo "skip - this machine's cmocka: $(head -n 1 "$tmp/log")"
fi
exit $failed
