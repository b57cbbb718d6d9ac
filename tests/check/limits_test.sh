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
	(ulimit -v 1100000 && ulimit -t 60 && exec "$build/bin/ccc" check "$file" -n 16 --all-ranks) \
		>"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	code=$(sed -nE 's/.*error: .*LIMIT_.*\[(E0[0-9]+)\]$/\1/p' "$tmp/err" | sort -u)
	case $got:$code in
	1:E0501 | 1:E0204) ok "$name is refused, $code" ;;
	*) not_ok "$name is refused" "status $got, code ${code:-none}: $(head -3 "$tmp/err")" ;;
	esac
done

# Where all ranks are too many to be run, a proof for every N decides: in little time and memory.
check="$build/bin/ccc check schedules/one_shot_allreduce.ccs"
status "50 million operations" 0 sh -c "ulimit -v 500000 && ulimit -t 60 && exec $check -n 4096"
says "... are right by the proof for every N" "$tmp/out" 'computes +allreduce, proved for every N >= 2$'
says "... also without slots" "$tmp/out" 'deadlock-free +yes, even with unbuffered sends'
says "... which has no figures" "$tmp/out" \
	'not counted +same bits, volume and steps at N = 4096: .*; --all-ranks runs them$'
status "... also where they are too many to be stored" 0 \
	sh -c "ulimit -v 500000 && ulimit -t 60 && exec $check -n 4,65536"
says "... which it says" "$tmp/out" 'steps at N = 65536: .*LIMIT_'
says "... the other N has its figures" "$tmp/out" 'steps +1 at N = 4$'
status "... as JSON" 0 $check -n 4,4096 --diagnostics-format=json
says "... figures are null" "$tmp/err" '"every_n_of":"every N >= 2".*"min_slots":\[0,0\].*"steps":\[1,null\]'
status "... with a slot" 0 "$build/bin/ccc" check schedules/direct_allreduce.ccs -n 4096
status "... which is a deadlock without" 1 sh -c "ulimit -t 100 && exec $build/bin/ccc check -n 1100 --slots 0 \
	schedules/hierarchical_allreduce.ccs"
says "... and is reported" "$tmp/err" 'deadlock with 0 slots .*E0304'
status "each of many roots" 0 sh -c "ulimit -t 60 && exec $build/bin/ccc check -n 4096 \
	schedules/hierarchical_broadcast.ccs"
says "... is right by that proof" "$tmp/out" 'not counted +same bits, volume and steps at N = 4096'

# What only a run of all ranks can decide is run, and what is too large for that is refused.
sed 's/copy all\[0\] into data/copy all[rank == 5 ? 1 : 0] into data/' schedules/one_shot_allreduce.ccs \
	>"$tmp/shot.ccs"
status "a large text that is wrong" 1 sh -c "ulimit -t 200 && exec $build/bin/ccc check -n 1300 $tmp/shot.ccs"
says "... is reported as ever" "$tmp/err" 'data\[0\] of rank 5 .*\(N = 1300\) \[E040[345]\]'
status "... and one that is too large" 1 sh -c "ulimit -t 60 && exec $build/bin/ccc check -n 65536 $tmp/shot.ccs"
says "... is refused" "$tmp/err" 'LIMIT_.*\[E0501\]$'
says "... because nothing else decides" "$tmp/err" 'note: nor does a proof for every N decide: '
says "... with a cure" "$tmp/err" 'help: ask for smaller N'
status "... as without the proof" 1 $check -n 65536 --all-ranks
says "... which it does not ask for" "$tmp/err" 'LIMIT_.*\[E0501\]$'
status "same bits are asked for" 1 $check -n 65536 --require same-bits=ranks
says "... which no proof has" "$tmp/err" 'LIMIT_.*\[E0501\]$'
status "not to explain it" 1 "$build/bin/ccc" explain schedules/one_shot_allreduce.ccs -n 65536
large() {
	cat >"$tmp/large.ccs" <<END
contract c(inout d[C])
schedule s
  implements c(inout d[2])
{
  for i in 0..$1 { $2 }
}
END
	status "a long loop" 1 sh -c "ulimit -t 60 && exec $build/bin/ccc check $tmp/large.ccs -n 2"
	says "... $3" "$tmp/err" "$3"
}
large 40000000 'recv d[0] from 1 - rank send d[0] to 1 - rank' 'LIMIT_OPS.*E0501'
large 20000000 'par { { send d[0] to 1 - rank } { recv d[1] from 1 - rank } }' 'E0501'
large 4000000000000 'copy d[0] into d[1]' 'LIMIT_OPS.*E0501'

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
  // all ranks run, not one for all
  if rank == 0 { copy a into b[0] } else { copy a into b[rank] }
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

# isl does not count the steps of its scheduler's simplex.
cat >"$tmp/waits.ccs" <<'END'
schedule waits
  implements barrier()
{
  scratch t[1]
  for z in 0..3 {
    if rank == 0 {
      send t[0..0] to   (rank + 1) % N
      recv t[0..0] from (rank - 1) % N
    } else {
      recv t[0..0] from (rank - 1) % N
      send t[0..0] to   (rank + 1) % N
    }
    if rank % 2 == 0 {
      if rank < N - 1 {
        send t[0..0] to   rank + 1
        recv t[0..0] from rank + 1
      }
    } else {
      recv t[0..0] from rank - 1
      send t[0..0] to   rank - 1
    }
  }
}
END
status "an order of many waits" 0 sh -c "ulimit -t 20 && exec $build/bin/ccc check -w $tmp/waits.ccs"

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
