#!/bin/sh
# The diffs of walks/, which CONTRIBUTING.md explains, one after the other on a copy of the tree: it
# builds without a warning, and what each adds works. Takes a build of everything.   usage: walk_test.sh BUILD
set -u
. tests/support/lib.sh
if ! command -v git >/dev/null || ! git rev-parse --git-dir >/dev/null 2>&1; then
	echo "skip - the walks of CONTRIBUTING.md: no git, or no clone"
	exit 0
fi
mkdir "$tmp/tree"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$tmp/tree"
cd "$tmp/tree" || exit 1
export GIT_CEILING_DIRECTORIES="$tmp"	# this tree is no repository, whatever is above it
for what in warning statement operator; do
	status "a new $what is put in" 0 git apply -C1 tests/docs/walks/$what.diff
done
holds "... which are new files, too" test -e tests/check/good/swap.ccs
status "all of it builds" 0 make -j"$(nproc)" BUILD=build WERROR=-Werror all \
	build/tests/check/diag_test build/tests/lower/good_test build/tests/lang/mistakes_test
for suite in "check/diag_test tests/check/diag tests/check/good" "lower/good_test tests/check/good" \
		"lang/mistakes_test tests/lang/mistakes"; do
	# shellcheck disable=SC2086 # words
	status "${suite%% *} sees nothing wrong" 0 build/tests/$suite
	cp "$tmp/out" "$tmp/${suite%%/*}"
done
says "... and the new warning" "$tmp/check" '^ok - .*w0202_never\.ccs'
says "... and the new statement, run" "$tmp/lower" '^ok - .*swap\.ccs'
status "a schedule is compiled" 0 build/bin/ccc schedules/ring_allreduce.ccs -n 3 --target=cpu \
	-o "$tmp/ring.so"
status "... and run with the new operator" 0 build/bin/ccrun -n 3 -o maxnan -d float32,int8 -e 4K \
	"$tmp/ring.so"
says "... which ccrun checks" "$tmp/out" ' maxnan .* 0$'
exit $failed
