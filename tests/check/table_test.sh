#!/bin/sh
# `ccc table`: the reports of several schedules side by side, as text, CSV and JSON; wrong
# files among them; and what it says of the library.     usage: table_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
ccc=$build/bin/ccc
lib=schedules
ring=$lib/ring_allreduce.ccs

# refuses NAME TEXT ARGUMENTS: status 2, and one line, TEXT
refuses() {
	name=$1 text=$2
	shift 2
	status "$name" 2 "$ccc" "$@"
	holds "... in these words" test "$(grep '^ccc:' "$tmp/err")" = "$text"
}

# ---- the command line -------------------------------------------------------------------
refuses "--format without table" "ccc: error: --format belongs to ccc table, simulate, bound and explain [E0705]" check $ring --format=csv
refuses "table --schedule" "ccc: error: --schedule cannot be combined with table, which shows all schedules [E0705]" \
	table $ring --schedule ring_allreduce
refuses "table --emit" "ccc: error: --emit cannot be combined with check, explain, simulate, bound, table, fmt or lsp [E0705]" table $ring --emit=plan
refuses "table without a file" "ccc: error: no schedule file is given; see ccc --help [E0705]" table
status "table --format=xml" 2 "$ccc" table $ring --format=xml
says "... has what there is" "$tmp/err" 'text, csv, json, svg, html, trace and tuning'
status "-D of a parameter that no file has" 2 "$ccc" table $lib/ring2d_allreduce.ccs \
	$lib/binary_tree_allreduce.ccs -n 4 -D XX=2
says "... names the nearest" "$tmp/err" "none of the schedules has a parameter 'XX'; did you mean 'X'"
holds "... and prints nothing" test ! -s "$tmp/out"
status "-D of one that some have" 0 "$ccc" table $ring $lib/ring2d_allreduce.ccs -n 6 -D X=3 --format=csv
holds "... sets it there" sh -c "\"$ccc\" table $lib/ring2d_allreduce.ccs -n 6 -D X=1 --format=csv | cut -d, -f6 |
	tr '\n' ' ' | grep -qx 'steps 10 ' && grep -q '^allreduce,6,ring2d_allreduce,.*,proved,6,' '$tmp/out'"

# ---- text -------------------------------------------------------------------------------
status "table" 0 "$ccc" table -n 3,4 $ring $lib/one_shot_allreduce.ccs $lib/swing_allreduce.ccs \
	$lib/dissemination_barrier.ccs $lib/halo_exchange.ccs
says "... a contract and an N" "$tmp/out" '^allreduce, N = 3$'
says "... a schedule's figures" "$tmp/out" '^  ring_allreduce +6 +1\.50 S +1\.50 S +0  ranks$'
says "... who is not for an N" "$tmp/out" '^  not for this N: swing_allreduce$'
says "... without data" "$tmp/out" '^  dissemination_barrier +2 +- +- +0  -$'
says "... the file of a contract that is not the prelude's" "$tmp/out" \
	'^halo \(schedules/halo_exchange\.ccs\), N = 4$'
holds "... the fewest steps first" test \
	"$(awk '/^allreduce, N = 4/ { n = NR } n && NR > n + 1 && NR < n + 5 { print $1 }' "$tmp/out" | tr '\n' ' ')" \
	= "one_shot_allreduce swing_allreduce ring_allreduce "
# The manual page shows what is printed.
sed -n '/^\.SH "THE TABLE"/,/^\.fi/p' docs/ccc.1 | sed 's/\\-/-/g' >"$tmp/page"
sed -n 's/^\$ ccc //p' "$tmp/page" | sed "s|[a-z_]*\.ccs|$lib/&|g" >"$tmp/command"
sed '1,/^\$ ccc /d; /^\.fi/d' "$tmp/page" >"$tmp/want"
holds "ccc(1) has an example" test -s "$tmp/command"
# shellcheck disable=SC2046
"$ccc" $(cat "$tmp/command") >"$tmp/out" 2>&1
holds "... which is so" cmp -s "$tmp/out" "$tmp/want"
status "table without -n" 0 "$ccc" table $ring
holds "... has four numbers of ranks" test \
	"$(grep -o 'N = [0-9]*' "$tmp/out" | tr '\n' ' ')" = "N = 2 N = 4 N = 8 N = 16 "
status "table of no schedule" 0 "$ccc" table /dev/null
holds "... is empty" test ! -s "$tmp/out"
status "table of stdin" 0 sh -c "'$ccc' table -n 3 - <$ring"
says "... has it" "$tmp/out" '^  ring_allreduce +4 '

# ---- the figures are the report's ---------------------------------------------------------
report='.*"min_slots":\[([^]]*)\].*"same_bits":\[([^]]*)\],"same_bits_counts":\[([^]]*)\],"steps":\[([^]]*)\],'
report=$report'"sent_per_rank":\[([^]]*)\],"sent_bound":\[([^]]*)\].*'
for f in $ring $lib/bruck_all_to_all.ccs $lib/binomial_gather.ccs $lib/direct_allreduce.ccs tests/check/turns.ccs; do
	"$ccc" check "$f" -n 5 --diagnostics-format=json 2>"$tmp/json" >/dev/null
	status "table of ${f##*/}" 0 "$ccc" table "$f" -n 5 --format=csv
	holds "... has its report's figures" test "$(sed -n 2p "$tmp/out" | cut -d, -f6- | tr -d ' ')" = \
		"$(sed -E "s/$report/\\4,\\5,\\6,\\1,\\2,\\3/; s/\\.0,/,/g" "$tmp/json")"
done
says "... other bits on other ranks" "$tmp/out" ',false,true$'

# ---- what is wrong stands in it, and keeps nothing else out ---------------------------------
status "a wrong schedule" 1 "$ccc" table -n 3 schedules/broken/counted_twice.ccs $ring
says "... is told" "$tmp/err" 'counted_twice\.ccs:16:7: error: .*E0404'
says "... is in the table" "$tmp/out" '^  counted_twice \(allreduce\), schedules/broken/counted_twice\.ccs$'
says "... beside the other" "$tmp/out" '^  ring_allreduce +4 '
bad=tests/check/diag/e0101_missing_brace.ccs
status "a text that does not parse" 1 "$ccc" table -n 3 $ring $bad
says "... is in the table" "$tmp/out" "^  $bad\$"
status "a file that is not there" 2 "$ccc" table -n 3 "$tmp/nowhere.ccs" $ring --format=csv
csv "... is in the table" -1 status=wrong file=~nowhere.ccs contract= ranks= steps=
csv "... behind the other" 1 contract=allreduce ranks=3 schedule=ring_allreduce file=$ring \
	status=proved steps=4 sent_per_rank=1.33333333333 sent_bound=1.33333333333 min_slots=0 same_bits=true same_bits_counts=false
status "-Werror" 1 "$ccc" table -n 3 -Werror tests/check/diag/w0401_overwritten.ccs --format=csv
holds "... proves, and refuses" test "$(cut -d, -f5 "$tmp/out" | sort -u | tr '\n' ' ')" = "proved status wrong "
status "too little memory" 1 "$ccc" table $ring --memory 1 -n 512 --all-ranks
says "... is E0501" "$tmp/err" 'E0501'
says "... and in the table" "$tmp/out" '^  schedules/ring_allreduce\.ccs$'

# ---- for programs -------------------------------------------------------------------------
odd="$tmp/a, \"b\"$(printf '\377')"
mkdir "$odd"
cp $ring "$odd/ring.ccs"
status "two schedules of one name" 0 "$ccc" table -n 3 $ring "$odd/ring.ccs"
says "... have their files" "$tmp/out" '^  ring_allreduce \(schedules/ring_allreduce\.ccs\) +4 '
status "CSV with an odd name" 0 "$ccc" table -n 3 "$odd/ring.ccs" --format=csv
csv "... which is quoted" 1 'file=~a, "b"'
status "JSON" 2 "$ccc" table -n 2,3 "$odd/ring.ccs" "$tmp/nowhere.ccs" $lib/swing_allreduce.ccs --format=json
json "... has rows" 'rows.#=5' 'rows.0.contract="allreduce"' rows.0.ranks=2 'rows.0.status="proved"' \
	rows.0.steps=2 rows.0.sent_per_rank=1.0 rows.0.sent_bound=1.0 rows.0.min_slots=0 rows.0.same_bits=true rows.0.same_bits_counts=true
json "... with odd names" 'rows.0.file=~a, "b"'
json "... what is not for an N" 'rows.3.schedule="swing_allreduce"' rows.3.ranks=3 \
	'rows.3.status="not_admitted"' rows.3.steps=null rows.3.sent_per_rank=null rows.3.min_slots=null
json "... and what is wrong" 'rows.4.status="wrong"' rows.4.ranks=null rows.4.contract=null rows.4.schedule=null

# ---- -o -------------------------------------------------------------------------------------
status "table -o" 0 "$ccc" table -n 3 $ring $lib/ring_allgather.ccs -o "$tmp/table"
"$ccc" table -n 3 $ring $lib/ring_allgather.ccs >"$tmp/want"
holds "... has the same" cmp -s "$tmp/table" "$tmp/want"
cp $lib/ring_allgather.ccs "$tmp/mine.ccs"
status "table -o of a source, the second" 2 "$ccc" table -n 3 $ring "$tmp/mine.ccs" -o "$tmp/mine.ccs"
says "... is refused" "$tmp/err" 'cannot write .*mine\.ccs'
holds "... which stays" cmp -s $lib/ring_allgather.ccs "$tmp/mine.ccs"
status "table -o of a directory" 2 "$ccc" table -n 3 $ring $lib/ring_allgather.ccs -o "$tmp"
holds "... is told once" test "$(grep -c 'cannot write' "$tmp/err")" = 1
if [ -c /dev/full ]; then
	status "table on a full disk" 2 sh -c "'$ccc' table $ring -n 3 >/dev/full"
	says "... says so" "$tmp/err" 'cannot write'
fi

# ---- the library ----------------------------------------------------------------------------
status "the library's table" 0 "$ccc" table -n 2..9 --format=csv $lib/*.ccs
for contract in allreduce allgather reduce_scatter broadcast reduce gather scatter all_to_all barrier; do
	holds "$contract has a schedule for every N" test -n "$(awk -F, -v c=$contract \
		'$1 == c && $5 == "proved" { n[$3]++ } END { for (s in n) if (n[s] == 8) print s }' "$tmp/out")"
done
# What docs/library.md calls the least is the lower bound, for every N; and the other way round.
grep -oE '^\| \[[a-z0-9_]+\]\(\.\./schedules/.*\|.*, least' docs/library.md | sed 's/^| \[\([a-z0-9_]*\).*/\1/' >"$tmp/least"
awk -F, '$5 == "proved" && $8 != "" { all[$3]; if ($7 - $8 > 1e-9) more[$3] }
	END { for (s in all) if (!(s in more)) print s }' "$tmp/out" | sort >"$tmp/at_bound"
sort "$tmp/least" >"$tmp/said"
holds "docs/library.md says of which schedules the volume is the least" cmp -s "$tmp/at_bound" "$tmp/said"
diff "$tmp/at_bound" "$tmp/said" | sed 's/^/# /'
exit $failed
