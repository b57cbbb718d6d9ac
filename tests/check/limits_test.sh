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

# A check without -n ends where so much was counted, at the same N on each machine.
cat >"$tmp/links.ccs" <<'END'
topology many {
  for k in 0..3000000 { link rank -> (rank + 1 + k % (N - 1)) % N }
}
schedule s
  implements allgather(in a[1], out b[N])
  on many
{
  copy a into b[rank]
  for s in 0..N - 1 {
    step {
      send b[(rank - s) % N] to (rank + 1) % N
      recv b[(rank - s - 1) % N] from (rank - 1) % N
    }
  }
}
END
cat >"$tmp/messages.ccs" <<'END'
contract nothing(inout data[C])
schedule s
  implements nothing(inout data[1])
  on ring
{
  scratch t[1]
  for s in 0..1000000 { step { send data to next recv t from prev } }
}
END
cat >"$tmp/chunks.ccs" <<'END'
schedule s
  implements allgather(in a[10000], out b[N][10000])
  on ring
{
  copy a into b[rank]
  for c in 0..10000 {
    for s in 0..N - 1 {
      step {
        send b[(rank - s) % N][c] to next
        recv b[(rank - s - 1) % N][c] from prev
      }
    }
  }
}
END
{
	printf 'let t = ['
	seq -s ' * N % 7, ' 200000 | tr -d '\n'
	printf ']\n'
	sed 's/(rank - s) % N]/(rank - s) % N + 0 * t[s]]/' schedules/ring_allgather.ccs
} >"$tmp/table.ccs"
# ends FILE LAST: the N of its range that is the last one checked
ends() {
	status "$1: without -n" 0 sh -c "ulimit -t 60 && exec $build/bin/ccc check -w $tmp/$1.ccs"
	says "... it ends after N = $2" "$tmp/out" \
		"^  checked for     N = 2(\\.\\.|, )$2; larger ones up to 16 take long: -n asks for them\$"
}
ends links 4
ends messages 3
ends chunks 11
ends table 11
status "... as JSON" 0 "$build/bin/ccc" check -w "$tmp/links.ccs" --diagnostics-format=json
says "... which has the next one" "$tmp/err" '"unchecked_from":5,.*"ranks":\[2,3,4\]'
status "... which -n asks for" 0 "$build/bin/ccc" check -w "$tmp/links.ccs" -n 5
cat "$tmp/links.ccs" >"$tmp/both.ccs"
sed -n '/^schedule/,$p' "$tmp/links.ccs" | sed 's/^schedule s/schedule t/; s/on many/on ring/' >>"$tmp/both.ccs"
status "two schedules" 0 "$build/bin/ccc" check -w "$tmp/both.ccs"
says "... share it" "$tmp/out" "^  checked for     N = 2; larger ones"
says "... and the second is checked for all" "$tmp/out" "^t: allgather, N = 2..16"
cat >"$tmp/calls.ccs" <<'END'
contract nothing(inout data[C])
schedule s
  implements nothing(inout data[2])
{
  for i in 0..6000000 { within group(0, N, 1) { copy data[0] into data[1] } }
}
END
status "a first N that is too much" 1 sh -c "ulimit -t 60 && exec $build/bin/ccc check -w $tmp/calls.ccs"
says "... is told" "$tmp/err" \
	"calls.ccs:2:10: error: s: N = 2 alone takes longer than a check without -n may \\[E0501\\]"
says "... with what to do" "$tmp/err" 'help: `-n 2` checks it, however long that takes'
{
	printf 'schedule s\n  implements allgather(in a[1], out b[N])\n{\n  copy a into b[rank]\n'
	printf '  for s in 0..N - 1 {\n    let x0 = rank\n'
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
		echo "    let x$i = (x$((i - 1)) * $i + s) % (N + $i) % $((3 + 2 * i))"
	done
	printf '    step {\n      send b[(rank - s) %% N] to (rank + 1 + 0 * x14) %% N\n'
	printf '      recv b[(rank - s - 1) %% N] from (rank - 1) %% N\n    }\n  }\n}\n'
} >"$tmp/nested.ccs"
status "values with ever more cases" 0 sh -c "ulimit -t 60 && exec $build/bin/ccc check -w $tmp/nested.ccs"
says "... are looked at no further" "$tmp/out" \
	'proved for N = 2..16 \(not for every N: line 9: a value with too many cases\)'

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
