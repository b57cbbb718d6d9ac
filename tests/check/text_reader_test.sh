#!/bin/sh
# The programs that ccc makes of texts, against a second reader of texts that shares nothing with it
# (text_reader.py): the library, the right files of this folder, and both with random changes, for N
# that ranks are run one by one and many at once (compiler/expand/squad.h).
# usage: text_reader_test.sh BUILD [--long]
set -u
ccc=${CCC:-${1:-build}/bin/ccc}
if ! command -v python3 >/dev/null 2>&1; then
	echo "skip - texts, read a second time: there is no python3"
	exit 0
fi
sizes=4,6 count=40
[ "${2:-}" != --long ] || { sizes=2,3,4,5,8,9,16,70 && count=3000; }
status=0
for how in "" "--random $count 1"; do
	# shellcheck disable=SC2086
	python3 -S tests/check/text_reader.py "$ccc" "$sizes" $how schedules/*.ccs tests/check/good/*.ccs || status=1
done
exit $status
