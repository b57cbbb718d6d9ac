#!/bin/sh
# How deep a text may be nested (MAX_DEPTH): at the limit it is read, and one level more is
# told, whatever it is that nests.   usage: depth_test.sh BUILD
set -u
. tests/support/lib.sh
ccc=${1:-build}/bin/ccc

# text TIMES BEFORE OPEN INNER CLOSE BEHIND: BEFORE, TIMES times OPEN, INNER, as often CLOSE, BEHIND
text() {
	awk -v n="$1" -v before="$2" -v open="$3" -v inner="$4" -v close_="$5" -v behind="$6" 'BEGIN {
		printf "%s", before
		for (i = 0; i < n; i++) printf "%s", open
		printf "%s", inner
		for (i = 0; i < n; i++) printf "%s", close_
		printf "%s", behind
	}'
}
# deep WHAT MOST BEFORE OPEN INNER CLOSE BEHIND: it may be there MOST times
deep() {
	what=$1 most=$2
	shift 2
	text "$most" "$@" >"$tmp/deep.ccs"
	status "$most $what" 0 "$ccc" fmt "$tmp/deep.ccs"
	text $((most + 1)) "$@" >"$tmp/deep.ccs"
	status "$((most + 1)) $what" 1 "$ccc" fmt "$tmp/deep.ccs"
	says "... are told" "$tmp/err" 'nested more than 1000 deep \[E0101\]$'
	holds "... once" test "$(grep -c 'error:' "$tmp/err")" = 1
}
let() { deep "$1" "$2" "let _x = " "$3" "$4" "$5" "
"; }
let "parentheses" 1000 "(" 1 ")"
let "signs" 999 "-" 1 ""
let "negations" 999 "!" 1 ""
let "sums" 999 "" 1 " + 1"
let "conjunctions" 999 "" 1 " && 1"
let "conditions" 999 "1 ? 1 : " 1 ""
let "conditions in the middle" 999 "1 ? " 1 " : 1"
let "calls" 999 "f(" 1 ")"
let "second arguments" 999 "f(1, " 1 ")"
let "entries" 999 "t[" 1 "]"

clause() { deep "$1" "$2" "contract c(in a[C], out b[C])
  ensures $3" "$4" "$5" "$6" "$7
"; }
clause "signs on the left" 997 "b[" "-" 0 "" "] == a[0]@0"
clause "signs in a chunk" 996 "b[i] == a[" "-" 0 "" "]@0"
clause "signs in a rank" 997 "b[i] == a[i]@(" "-" 0 "" ")"
clause "sums of ranks" 996 "b[i] == " "sum(q in 0..N: " "a[i]@0" ")" ""
clause "signs in a sum's end" 997 "b[i] == sum(q in 0.." "-" 0 "" ": a[i]@q)"
clause "signs before a clause" 999 "" "-" 0 "" ": b[i] == a[i]@0"

body() { deep "$1" "$2" "schedule s
  implements c(inout d[1])
{ $3" "$4" "$5" "$6" "$7 }
"; }
body "loops" 999 "" "for i in 0..1 { " "" " }" ""
body "branches" 999 "" "if 1 { " "" " }" ""
body "branches after else" 999 "" "if 1 { } else { " "" " }" ""
body "else ifs" 999 "if 1 { }" " else if 1 { }" "" "" ""
body "channels" 999 "" "channel 1 { " "" " }" ""
body "groups" 999 "" "within group(0, 1, 1) { " "" " }" ""
body "pars" 499 "" "par { { " "" " } }" ""
body "pars over a range" 999 "" "par for i in 0..1 { " "" " }" ""
body "signs in a loop" 999 "for i in " "-" "0" "" "..1 { }"
body "signs in a chunk" 999 "copy d[" "-" "0" "" "] into d"
body "signs for a peer" 999 "send d to " "-" "0" "" ""
exit $failed
