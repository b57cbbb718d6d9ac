#!/bin/sh
# --emit=msccl-xml: what is written computes its collective, by a checker of its own (check.py),
# which notices mistakes that are put in (mutants.py); and what cannot be written says why.
# usage: export_test.sh BUILD [RANDOM [N...]]   RANDOM: so many programs; N: 4 is one of them
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd) || exit 1
ccc=$build/bin/ccc
random=${2:-40}
[ $# -gt 2 ] && shift 2 || set -- 2 3 4 5 8
if ! command -v python3 >/dev/null; then
	echo "skip - MSCCL XML that is written: there is no python3 to check it"
	exit 0
fi

# write TEXT-OR-FILE.ccs NAME OPTION...: $tmp/NAME.xml, and what was said in NAME.err
write() (
	source=$1 name=$2
	shift 2
	"$ccc" "$source" "$@" --emit=msccl-xml -o "$tmp/$name.xml" 2>"$tmp/$name.err"
)
# right WHAT LEAST FILE...: the checker says so of all, and they are as many at least
right() {
	what=$1 least=$2
	shift 2
	python3 tests/msccl_out/check.py "$@" >"$tmp/said" 2>&1
	bad=$(grep -v ': right ' "$tmp/said")
	good=$(grep -c ': right ' "$tmp/said")
	if [ -z "$bad" ] && [ "$good" -ge "$least" ]; then ok "$what: $good"; else
		not_ok "$what" "$good are right, of $least; $bad"; fi
}

# ---- the library, with each protocol, and on replicas -------------------------------------
refused=
mkdir "$tmp/simple" "$tmp/ll" "$tmp/plan"
for file in schedules/*.ccs; do
	name=$(basename "$file" .ccs) root=
	grep -q 'root = R' "$file" && root='-D R=0'
	for n; do
		# shellcheck disable=SC2086
		write "$file" simple/$name.$n -n $n $root || {
			grep -q E0205 "$tmp/simple/$name.$n.err" || refused="$refused $name"
			continue
		}
		# shellcheck disable=SC2086
		[ $((n % 4)) != 0 ] || write "$file" ll/$name.$n -n $n $root --protocols=ll/2 || refused="$refused $name"
	done
done
rm -f "$tmp"/simple/halo_exchange.*.xml "$tmp"/ll/halo_exchange.*.xml # custom: by its plan, below
only=$(printf '%s\n' $refused | sort -u | tr '\n' ' ')
holds "all of the library can be written but the barrier: $only" test "$only" = 'dissemination_barrier '
right "the library, Simple" $((25 * $#)) "$tmp"/simple/*.xml
holds "... with as many slots as Simple has" sh -c "! grep -E 'slots=.*[03-9]' '$tmp/said'"
holds "... and nothing is said of slots" sh -c "! grep -h slot '$tmp'/simple/*.err"
right "the library, LL, on two replicas" 60 "$tmp"/ll/*.xml
write schedules/ring_allreduce.ccs again -n 4
holds "the same bytes each time" cmp "$tmp/again.xml" "$tmp/simple/ring_allreduce.4.xml"

# ---- contracts of one's own, by their plans -----------------------------------------------
custom() ( # custom NAME RANKS OPTION...: of $tmp/plan/NAME.ccs
	name=$1 n=$2
	shift 2
	write "$tmp/plan/$name.ccs" "plan/$name" -n "$n" "$@" &&
		"$ccc" "$tmp/plan/$name.ccs" -n "$n" -w --emit=json -o "$tmp/plan/$name.json"
)
"$build/tests/msccl_out/random_test" "$tmp/plan" "$random" 1 >"$tmp/list"
while read -r i n; do
	case $((i % 3)) in 0) how=ll ;; 1) how=simple ;; 2) how=simple/2 ;; esac
	custom $i $n --protocols=$how || echo "$i: $(cat "$tmp/plan/$i.err")" >>"$tmp/bad"
done <"$tmp/list"
holds "random programs can be written" test ! -s "$tmp/bad"
for file in tests/check/good/*.ccs; do # those that are for other N, or do nothing, are refused
	name=$(basename "$file" .ccs)
	cp "$file" "$tmp/plan/good_$name.ccs"
	custom "good_$name" 4 2>/dev/null && continue
	grep -qE 'E0[23]0|E0501|no schedule' "$tmp/plan/good_$name.err" || cat "$tmp/plan/good_$name.err" >>"$tmp/bad"
done
holds "good files can be written, or it is said why not" test ! -s "$tmp/bad"
cp schedules/halo_exchange.ccs "$tmp/plan/halo.ccs"
holds "a halo exchange" custom halo 6

# Reductions that executors would join, of unequal counts; what overlaps; chunks of two sizes;
# messages that are cut.
cat >"$tmp/plan/joined.ccs" <<'END'
contract joined(in a[C], out b[C])
  ensures b[0] == sum(q in 0..4: a[q == 0 ? 0 : q == 1 ? 2 : q == 2 ? 4 : 5]@rank)
  ensures b[1] == sum(q in 0..2: a[q == 0 ? 1 : 3]@rank)
  ensures b[2] == a[0]@((rank + 1) % N)
  ensures b[3] == a[2]@rank
schedule joined
  implements joined(in a[6], out b[6])
{
  scratch t[6]
  copy a into t
  copy a[0..2] into b[0..2]
  reduce t[2..4] into b[0..2]
  reduce t[4] into b[0]
  reduce t[5] into b[0]
  step {
    send t[0] to (rank + 1) % N
    recv b[2] from (rank - 1) % N
  }
  copy t[2] into b[3]
}
END
sed -i 's/a\[0\]@((rank + 1) % N)/a[0]@((rank + N - 1) % N)/' "$tmp/plan/joined.ccs"
holds "reductions of unequal counts" custom joined 3
holds "... are kept apart" grep -qE 'type="re".*cnt="2".*hasdep="1"' "$tmp/plan/joined.xml"
cat >"$tmp/plan/pairs.ccs" <<'END'
contract pairs(in a[C], out b[C])
  ensures b[0] == sum(q in 0..3: a[2 * q]@rank)
  ensures b[1] == sum(q in 0..3: a[2 * q + 1]@rank)
schedule pairs
  implements pairs(in a[6], out b[6])
{
  copy a[0..2] into b[0..2]
  reduce a[2..4] into b[0..2]
  reduce a[4..6] into b[0..2]
}
END
holds "reductions of equal counts, where input and output may be one" custom pairs 3
holds "... are kept apart" grep -qE 'type="re".*cnt="2".*hasdep="1"' "$tmp/plan/pairs.xml"
cat >"$tmp/plan/overlap.ccs" <<'END'
contract rotate(inout d[C])
  ensures d[i] == d[(i + 1) % 5]@((rank + N - 1) % N)
schedule overlap
  implements rotate(inout d[5])
{
  scratch t[5]
  step { send d to (rank + 1) % N  recv t from (rank - 1) % N }
  copy t into d
  copy d[0] into t[0]
  copy d[1..5] into d[0..4]
  copy t[0] into d[4]
}
END
holds "a copy that overlaps itself" custom overlap 3
holds "... goes by way of scratch" grep -qE 'type="cpy" srcbuf="s".*dstbuf="o" dstoff="0" cnt="4"' "$tmp/plan/overlap.xml"
cat >"$tmp/plan/sizes.ccs" <<'END'
contract sizes(in a[A], in b[B], out c[A], out e[B])
  ensures c[i] == a[i]@((rank + 1) % N)
  ensures e[i] == sum(q in 0..N: b[i]@q)
schedule sizes
  implements sizes(in a[2], in b[3], out c[2], out e[3])
{
  step { send a to (rank - 1) % N  recv c from (rank + 1) % N }
  copy b into e
  for s in 1..N {
    step { send b to (rank + s) % N  reduce e from (rank - s) % N }
  }
}
END
holds "chunks of two sizes" custom sizes 3 --protocols=ll/3
holds "... are several of the file's" grep -q 'nchunksperloop="36"' "$tmp/plan/sizes.xml"
cat >"$tmp/plan/long.ccs" <<'END'
contract pass(in a[C], out b[C])
  ensures b[i] == a[i]@((rank + N - 1) % N)
schedule long
  implements pass(in a[200], out b[200])
{
  step { send a to (rank + 1) % N  recv b from (rank - 1) % N }
}
END
holds "a message of 200 chunks" custom long 3
holds "... is cut" test "$(grep -c 'type="s".* cnt="71"' "$tmp/plan/long.xml")" = 6
right "random programs, good files, and what is hard" $((random + 30)) --plan "$tmp"/plan/*.xml

# ---- read back, where this ccc reads such files: the same verdicts ---------------------------
if [ -d compiler/msccl ]; then
	python3 tests/msccl_out/check.py "$tmp"/simple/*.[48].xml >"$tmp/said" 2>&1
	for file in "$tmp"/simple/*.[48].xml; do
		"$ccc" check "$file" --diagnostics-format=json >/dev/null 2>"$tmp/report" || cat "$tmp/report" >>"$tmp/bad"
		# (without slots a rendezvous is enough)
		sed -nE 's/.*"in_place":([a-z]+),"out_of_place":true.*"min_slots_step":([0-9]+),"min_slots_chunk":([0-9]+).*/\1 out=1 slots=\2,\3/p' \
			"$tmp/report" | sed -e 's/true/right in=1/' -e 's/null/right in=0/' -e 's/=0,/=1,/' -e 's/,0$/,1/' -e "s,^,$file: ,"
	done >"$tmp/read"
	holds "read back, files are right" test ! -s "$tmp/bad"
	holds "... with the checker's verdicts" cmp "$tmp/said" "$tmp/read"
else
	echo "skip - MSCCL XML is read back: this ccc does not read it"
fi

# ---- mistakes are noticed ---------------------------------------------------------------------
python3 tests/msccl_out/mutants.py "$tmp"/simple/*.4.xml >"$tmp/mutants" 2>&1
noticed() { sed -n "s/^$1: \([0-9]*\) noticed, $2 not:.*/\1/p" "$tmp/mutants"; }
for kind in chunk channel; do
	n=$(noticed $kind 0)
	holds "mutants: every $kind that is wrong is noticed ($n)" test "${n:-0}" -ge 250
done
# (messages stand for the rest)
n=$(noticed wait '[0-9]*')
holds "mutants: waits that are missing are noticed ($(cut -d: -f1-2 "$tmp/mutants" | head -1))" test "${n:-0}" -ge 120

# ---- what cannot be written ------------------------------------------------------------------
refuses() { # refuses WHAT PATTERN FILE OPTION...
	what=$1 pattern=$2
	shift 2
	status "$what" 1 "$ccc" "$@" -w --emit=msccl-xml -o "$tmp/none.xml"
	says "... says so" "$tmp/err" "$pattern.*E0501"
	says "... and what to do" "$tmp/err" 'help: '
	holds "... and nothing is written" test ! -e "$tmp/none.xml"
}
one=schedules/ring_allreduce.ccs
refuses "a barrier" 'messages only carry data' schedules/dissemination_barrier.ccs -n 4
refuses "a root that is chosen at the call" 'caller chooses its root' schedules/binomial_reduce.ccs -n 4
refuses "two numbers of ranks" '-n has 2' $one -n 2,4
printf 'contract nothing(inout d[C])\nschedule idle implements nothing(inout d[1]) { }\n' >"$tmp/idle.ccs"
refuses "a schedule that does nothing" 'no operations' "$tmp/idle.ccs" -n 4
refuses "one rank" 'no peers' schedules/one_shot_allreduce.ccs -n 1
refuses "two protocols" 'has 2 rows' $one -n 4 --protocols=64K:ll,simple
refuses "sized chunks" 'sized' tests/cpu/layouts/exchange_sized.ccs -n 3
refuses "rows" 'by column' tests/cpu/layouts/gather_columns.ccs -n 3
refuses "many steps" 'MSCCL_MAX_NUM_STEPS' $one -n 200
refuses "many channels" 'MAXCHANNELS' $one -n 4 --protocols=simple/33
refuses "many blocks that are waited for" 'dependentBid|MAX_SUBS' schedules/direct_allreduce.ccs -n 140
refuses "many elements" 'MAX_NODES' $one -n 64 --protocols=simple/32
cat >"$tmp/deep.ccs" <<'END'
contract late(in a[7][C], out b[14][C])
  ensures rank == 1: b[q][i] == a[q / 2][i]@0
schedule deep
  implements late(in a[7][1], out b[14][1])
{
  scratch t[1]
  if rank == 0 {
    for i in 0..6 { copy a[i] into t  send t to 1 }
    copy a[6] into t
    channel 1 { send t to 1 }
  }
  if rank == 1 {
    channel 1 { recv t from 0 }
    copy t into b[12]
    copy t into b[13]
    for i in 0..6 {
      recv t from 0
      copy t into b[2 * i]
      copy t into b[2 * i + 1]
    }
  }
}
END
sed 's/a\[7/a[11/; s/b\[14/b[22/; s/6/10/g; s/12/20/; s/13/21/' "$tmp/deep.ccs" >"$tmp/deeper.ccs"
refuses "what takes more slots than there are" 'more than 8 slots' "$tmp/deeper.ccs" -n 2 --slots 16

# ---- what depends on the executor ------------------------------------------------------------
status "a schedule that takes six slots" 0 "$ccc" "$tmp/deep.ccs" -n 2 --emit=msccl-xml -o "$tmp/deep.xml"
says "... waits for ever with Simple's" "$tmp/err" 'warning: the file waits forever if Simple has fewer than 6 slots.*W0601'
says "... not with LL's" "$tmp/err" 'help: --protocols=ll has 8'
rm -f "$tmp/deep.xml"
status "... with -Werror" 1 "$ccc" "$tmp/deep.ccs" -n 2 -Werror --emit=msccl-xml -o "$tmp/deep.xml"
holds "... is not written" test ! -e "$tmp/deep.xml"
status "... which it is given" 0 "$ccc" "$tmp/deep.ccs" -n 2 --protocols=ll --emit=msccl-xml -o "$tmp/deep.xml"
holds "... and nothing is said of slots" sh -c "! grep slots '$tmp/err'"
cat >"$tmp/plan/two.ccs" <<'END'
contract two(in a[C], out b[C], out d[C])
  ensures b[i] == a[i]@((rank + 1) % N)
  ensures d[i] == a[i]@((rank - 1) % N)
schedule two
  implements two(in a[1], out b[1], out d[1])
{
  step { send a to (rank + 1) % N  recv d from (rank - 1) % N }
  step { send a to (rank - 1) % N  recv b from (rank + 1) % N }
}
END
holds "two buffers that are written" custom two 3

# What ccc itself would refuse in a file it has warned of when it wrote that.
: >"$tmp/bad"
warned=0
for file in "$tmp"/*/*.xml; do
	grep -q 'warning: .*W0601' "${file%.xml}.err" && warned=$((warned + 1)) && continue
	"$ccc" check -w "$file" >"$tmp/said" 2>&1 || echo "$file: $(grep -m1 error: "$tmp/said")" >>"$tmp/bad"
done
holds "what was written without a warning ccc takes: $(head -5 "$tmp/bad")" test ! -s "$tmp/bad"
holds "... as it does not all" test "$warned" -gt 0
status "one root" 0 "$ccc" schedules/binomial_scatter.ccs -D R=1 -n 4 --emit=msccl-xml
says "... is not what executors look at" "$tmp/err" 'ignore the root of a call'
says "... and they count chunks of a scatter otherwise" "$tmp/err" 'nchunksperloop to 1'
exit $failed
