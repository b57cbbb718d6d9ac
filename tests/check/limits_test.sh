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

# A ring of 34 million messages is too large to be stored: it is streamed, in little memory.
check="$build/bin/ccc check schedules/ring_allreduce.ccs -n 4100"
status "a large ring, streamed" 0 sh -c "ulimit -v 400000 && ulimit -t 60 && exec $check --stream"
says "... is looked at to its end" "$tmp/out" 'messages +33611800 at N = 4100'
mv "$tmp/out" "$tmp/asked"
status "... because it cannot be stored" 0 $check --no-symmetry
says "... which the report says" "$tmp/out" \
	'streamed +at N = 4100: the schedule has more than 67108864 operations \(LIMIT_OPS\)'
sed '/^  streamed /d' "$tmp/out" >"$tmp/same"
holds "... and is the same for the rest" cmp -s "$tmp/asked" "$tmp/same"
status "... one of two Ns" 0 "$build/bin/ccc" check schedules/ring_allreduce.ccs -n 4,4100 \
	--no-symmetry --diagnostics-format=json
says "... as JSON" "$tmp/err" '"steps":\[6,8198\].*"messages":\[null,33611800\]\}$'
status "... not to explain it" 1 "$build/bin/ccc" explain schedules/ring_allreduce.ccs -n 4100
says "... what looks at it is named" "$tmp/err" 'ccc check --stream'
status "... nor where streaming has no answer" 1 $check --no-symmetry --require same-bits=ranks

# What is streamed because it cannot be stored, and is wrong.
{
	sed '$d' schedules/ring_allreduce.ccs
	printf '  if rank == 5 { copy data[N - 1] into data[N - 2] }\n}\n'
} >"$tmp/ring.ccs"
status "a large ring that is wrong" 1 "$build/bin/ccc" check "$tmp/ring.ccs" -n 4100
says "... is reported" "$tmp/err" 'data\[4098\] of rank 5 .*E0405'
# What a loop does, whether it is streamed, and what comes of that.
large() {
	cat >"$tmp/large.ccs" <<END
contract c(inout d[C])
schedule s
  implements c(inout d[2])
{
  for i in 0..$1 { $2 }
}
END
	status "a long loop" 1 sh -c "ulimit -t 60 && exec $build/bin/ccc check $tmp/large.ccs -n 2 $3"
	says "... $4" "$tmp/err" "$4"
}
large 40000000 'if rank == 0 { send d[0] to 1 } send d[1] to 1 - rank recv d[1] from 1 - rank' \
	"" 'E030[12]'
large 40000000 'recv d[0] from 1 - rank send d[0] to 1 - rank' "" 'E0304'
large 20000000 'par { { send d[0] to 1 - rank } { recv d[1] from 1 - rank } }' "" \
	'nor can --stream check it: the schedule has blocks of a par'
large 40000000 'send d[0] to 1 - rank recv d[1] from 1 - rank' "" \
	'deadlock-free, but races and values cannot be checked: connected chunks'
large 4000000000000 'copy d[0] into d[1]' "--stream" 'LIMIT_STREAMED.*E0501'

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
says "... with what there was room for" "$tmp/err" 'the stack has no more room.*\[E0204\]$'
exit $failed
