#!/bin/sh
# What will be refused because it is too large is refused before it costs much: every
# tests/check/limits/ file, on 16 ranks, within 1 GiB. (The processor's time is limited far
# above what it takes, so that a machine that is busy with other things cannot fail.)
# usage: limits_test.sh BUILD
set -u
build=$1
. tests/support/lib.sh

for file in tests/check/limits/*.ccs; do
	name=${file##*/}
	(ulimit -v 1100000 && ulimit -t 60 && exec "$build/bin/ccc" check "$file" -n 16) \
		>"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	code=$(sed -nE 's/.*error: .*LIMIT_.*\[(E0[0-9]+)\]$/\1/p' "$tmp/err" | sort -u)
	case $got:$code in
	1:E0501 | 1:E0204) ok "$name is refused, $code" ;;
	*) not_ok "$name is refused" "status $got, code ${code:-none}: $(head -3 "$tmp/err")" ;;
	esac
done

# A ring of 46 million messages is too large to be stored, and is streamed in little memory.
status "a large ring is not stored" 1 "$build/bin/ccc" check schedules/ring_allreduce.ccs -n 4800 \
	--no-symmetry
says "... and what looks at it is named" "$tmp/err" 'ccc check --stream'
status "a large ring, streamed" 0 sh -c "ulimit -v 400000 && ulimit -t 60 &&
	exec $build/bin/ccc check schedules/ring_allreduce.ccs -n 4800 --stream"
says "... is looked at to its end" "$tmp/out" 'messages +46070400 at N = 4800'

# However small the stack is, and however deep a text's calls.
cat >"$tmp/deep.ccs" <<'END'
contract n(inout d[C])
fn down(n) = n == 1 ? 0 : down(n - 1)
schedule s
  implements n(inout d[4])
{
  assert down(9999) == 0, "deep"
}
END
status "a small stack" 1 sh -c "ulimit -s 300 && exec $build/bin/ccc check $tmp/deep.ccs -n 2"
says "... with what there was room for" "$tmp/err" 'the stack has no room for more.*\[E0204\]$'
exit $failed
