#!/bin/sh
# Pictures of `ccc explain`: each against the text and the JSON of the same run; sizes; what cannot be drawn or
# written.     usage: pictures_test.sh BUILD [RANDOM [N...]]
set -u
. tests/support/lib.sh
build=${1:-build}
ccc=$build/bin/ccc
random=${2:-30}
if [ $# -ge 3 ]; then shift 2; else set -- 3; fi
numbers=$* # one of 3 and 8: by turns
ring=schedules/ring_allreduce.ccs

set --
for file in schedules/*.ccs; do
	for n in $numbers; do
		set -- "$@" "$file -n $n"
	done
	[ "$numbers" = 3 ] || [ "$numbers" = 8 ] && numbers=$((11 - numbers))
done
for file in schedules/broken/*.ccs tests/check/diag/e0[34]*.ccs; do
	! grep -q '^//! options:.*--require' "$file" || continue # of `check`
	set -- "$@" "$file $(sed -n 's/^\/\/! options: //p' "$file")"
done
for file in tests/msccl/good/*.xml tests/msccl/diag/*.xml; do
	set -- "$@" "$file"
done
python3 tests/explain/pictures.py "$ccc" "$random" 1 "$@" || failed=1

is_xml() { python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$1"; }

# ---- where it goes -----------------------------------------------------------------------
for ending in svg html json txt; do
	status "-o x.$ending" 0 "$ccc" explain $ring -n 3 -o "$tmp/x.$ending"
done
holds "... each in its form" sh -c "head -c4 '$tmp/x.svg' | grep -q '<svg' && grep -q '<html' '$tmp/x.html' &&
	grep -q '\"format\":\"ccs-explain\"' '$tmp/x.json' && grep -q '^ring_allreduce: allreduce on 3' '$tmp/x.txt'"
holds "the picture is XML" is_xml "$tmp/x.svg"
status "--format goes before the ending" 0 "$ccc" explain $ring -n 3 --format=json -o "$tmp/y.svg"
holds "... as it says" grep -q '"format":"ccs-explain"' "$tmp/y.svg"
status "an ending that no printer has" 2 "$ccc" explain $ring -n 3 -o "$tmp/x.png"
says "... with a cure" "$tmp/err" 'writes .svg, .html or .htm, .json and .txt; for a file with another ending give --format'
holds "... writes nothing" test ! -e "$tmp/x.png"
for ending in htm SVG Txt; do
	status "-o x.$ending" 0 "$ccc" explain $ring -n 3 -o "$tmp/big.$ending"
done
holds "... each in its form" sh -c "cmp '$tmp/big.SVG' '$tmp/x.svg' && cmp '$tmp/big.htm' '$tmp/x.html' && cmp '$tmp/big.Txt' '$tmp/x.txt'"
status "... but not each name of a form" 2 "$ccc" explain $ring -n 3 -o "$tmp/x.text"
says "... with the endings that there are" "$tmp/err" 'writes .svg, .html or .htm, .json and .txt'
for form in svg html json; do
	status "two numbers of ranks: $form" 2 "$ccc" explain $ring -n 3,4 -o "$tmp/two.$form"
	says "... says so" "$tmp/err" '^ccc: error: -n takes one number of ranks for a picture, a page, a trace or JSON; text takes several \[E0705\]$'
done
holds "... writes nothing" sh -c "! ls '$tmp'/two.* 2>/dev/null"
status "... as text" 0 "$ccc" explain $ring -n 3,4 -o "$tmp/two.txt"
status "a folder that does not exist" 2 "$ccc" explain $ring -n 3 -o "$tmp/none/x.svg"
says "... with the reason" "$tmp/err" 'cannot write .*none/x.svg: No such file or directory'
ln -s none/x.svg "$tmp/link.svg"
status "a link to where no folder is, and a schedule that is wrong" 2 "$ccc" explain schedules/broken/no_wrap.ccs -n 3 -o "$tmp/link.svg"
says "... is refused" "$tmp/err" 'cannot write .*link.svg: No such file or directory'
holds "... before the work is done" sh -c "! grep -q E0306 '$tmp/err'"
ln -s there.svg "$tmp/link2.svg"
status "a link to a file that is not there yet" 0 "$ccc" explain $ring -n 3 -o "$tmp/link2.svg"
holds "... makes that file" sh -c "cmp '$tmp/x.svg' '$tmp/there.svg' && test -L '$tmp/link2.svg'"
status "a full device" 2 "$ccc" explain $ring -n 3 --format=svg -o /dev/full
status "explain --format=csv" 2 "$ccc" explain $ring --format=csv
status "table --format=svg" 2 "$ccc" table $ring --format=svg
status "a chunk that does not exist" 2 "$ccc" explain $ring -n 3 --chunk 'data[3]' -o "$tmp/z.svg"
says "... names those that do" "$tmp/err" "there is no 'data\\[3\\]'; there is data\\[0\\.\\.3\\]"
holds "... writes nothing" test ! -e "$tmp/z.svg"
status "a rank that does not exist" 2 "$ccc" explain $ring -n 3 --rank 3 -o "$tmp/z.svg"
holds "... writes nothing, too" test ! -e "$tmp/z.svg"

# ---- markup in the text ---------------------------------------------------------------------
sed 's|^// Ring.*|// <script>alert(1)</script> \&amp; "quotes"|' $ring >"$tmp/<b>&\"x.ccs"
for form in svg html json; do
	status "markup in a comment and a file's name: $form" 0 "$ccc" explain "$tmp/<b>&\"x.ccs" -n 3 -o "$tmp/m.$form"
done
holds "... is escaped" sh -c "! grep -q '<script>alert' '$tmp/m.html' && ! grep -q '<b>' '$tmp/m.html'"
sed 's/from prev/from next/' "$tmp/<b>&\"x.ccs" >"$tmp/wrong <i>&\"x.ccs"
status "... and of a schedule that is wrong" 1 "$ccc" explain "$tmp/wrong <i>&\"x.ccs" -n 3 -o "$tmp/m.svg"
holds "... is XML" is_xml "$tmp/m.svg"

# ---- text that would turn the direction of its surroundings --------------------------------------------
turn=$(printf '\342\200\256') # U+202E
turned=$tmp/turned$turn.ccs
{ echo "// $turn"; sed 's/from prev/from next/' $ring; } >"$turned"
printf 'import "turned%s.ccs"\n%s' "$turn" 'schedule other implements allreduce(inout data[N]) on ring { ring_allreduce(data) }' >"$tmp/other.ccs"
for form in svg html json text; do
	for file in "$turned" "$tmp/other.ccs"; do
		status "a text and a name that turn others round: $form" 1 "$ccc" explain "$file" -n 3 --format=$form
		holds "... are not put there as they are" sh -c "! grep -q '$turn' '$tmp/out'"
	done
done
"$ccc" explain "$turned" -n 3 --format=svg >"$tmp/out" 2>"$tmp/err"
says "... but as the diagnostics have them" "$tmp/err" 'turned<U\+202E>\.ccs:'
says "... in the picture, too" "$tmp/out" 'turned&lt;U\+202E&gt;\.ccs:'
status "a table with such a file" 1 "$ccc" table "$turned" -n 3
holds "... names the character" sh -c "grep -q '<U+202E>' '$tmp/out' && ! grep -q '$turn' '$tmp/out'"
for form in json sarif; do
	"$ccc" check "$turned" -n 3 --diagnostics-format=$form >"$tmp/out" 2>&1
	holds "diagnostics in $form do not have them raw" sh -c "grep -q E0301 '$tmp/out' && ! grep -q '$turn' '$tmp/out'"
done

# ---- chunks of separate sizes ------------------------------------------------------------------
cat >"$tmp/sized.ccs" <<'EOF'
topology torus(X = 2) where N % X == 0 {}
contract c(inout a[1])
  ensures a[0] == a[0]@rank
schedule s
  implements c(inout a[1] sized S[0][0])
  on torus(2)
  where N % 2 == 0
{
  copy a into a
}
EOF
"$ccc" explain "$tmp/sized.ccs" -n 4 --format=json >"$tmp/out" 2>"$tmp/err"
says "the topology's parameters are listed once" "$tmp/out" '"parameters":\[2\]'

# ---- sizes ---------------------------------------------------------------------------------
"$ccc" explain $ring -n 16 -o "$tmp/16.svg"
holds "the ring on 16 ranks has at most 300 KB" test "$(wc -c <"$tmp/16.svg")" -le 300000
status "halving and doubling on 1,024 ranks" 0 "$ccc" explain schedules/halving_doubling_allreduce.ccs -n 1024 -o "$tmp/map.svg"
holds "... is a map" grep -q 'class="heat"' "$tmp/map.svg"
says "... that says how to narrow it" "$tmp/map.svg" '--rank, --step and --chunk draw a part in full'
status "all to all on 128 ranks" 0 "$ccc" explain schedules/direct_all_to_all.ccs -n 128 -o "$tmp/all.svg"
holds "... is a map of at most 60 KB" test "$(wc -c <"$tmp/all.svg")" -le 60000
says "... in the unit of its head" "$tmp/all.svg" 'each rank sends 0.9922 S'
says "... that its darkest field has" "$tmp/all.svg" 'darkest: 0.992 S'
holds "... its arrows go between ranks that are shown" sh -c "! grep -qE 'class=\"label\"[^>]*>(to|from) ' '$tmp/all.svg'"
holds "... and are all of these" test "$(grep -c 'class="message' "$tmp/all.svg")" = 36
status "... a part of it" 0 "$ccc" explain schedules/halving_doubling_allreduce.ccs -n 1024 --rank 0,512 --chunk 'data[0..4]' -o "$tmp/part.svg"
holds "... is in full" sh -c "! grep -q 'class=\"heat\"' '$tmp/part.svg' && grep -q 'class=\"cell' '$tmp/part.svg'"

cat >"$tmp/early.ccs" <<'EOF'
schedule early implements broadcast(inout d[2]) on ring {
  step { send d[0] to next; recv d[0] from prev }
  step {
    if rank == 1 { recv d[0] from 0; copy d[1] into d[0] }
    if rank == 0 { send d[0] to 1 }
  }
  for s in 0..200 { step { send d[0..2] to next; recv d[0..2] from prev } }
}
EOF
status "a large schedule that goes wrong in an early step" 1 "$ccc" explain "$tmp/early.ccs" -n 40 -o "$tmp/early.svg"
says "... is a map of the steps up to it" "$tmp/early.svg" 'darkest: 0.5 S'

cat >"$tmp/local.ccs" <<'EOF'
schedule local implements any(inout data[40]) {
  for i in 0..20 { copy data[i] into data[i + 20] }
}
EOF
sed -i '1i contract any(inout data[40])' "$tmp/local.ccs"
status "many chunks, and no message" 0 "$ccc" explain "$tmp/local.ccs" -n 2 -o "$tmp/local.svg"
holds "... some of the copies are drawn" test "$(grep -c 'class="message local' "$tmp/local.svg")" -ge 4
says "... with how to see the rest" "$tmp/local.svg" 'No rank sends\. --rank and --chunk draw a part in full'

# ---- a message that no receive takes ----------------------------------------------------------
cat >"$tmp/three.ccs" <<'EOF'
schedule three implements allreduce(inout data[N]) on ring {
  for s in 0..3 { send data[s % N] to next }
  recv data[0] from prev
}
EOF
status "three sends and one receive" 1 "$ccc" explain "$tmp/three.ccs" -n 3
holds "... the second and the third are marked" test "$(grep -c 'data\[[12]\], line 2   <-- E0301' "$tmp/out")" = 6
holds "... and no other" test "$(grep -c '<-- E0301' "$tmp/out")" = 6
status "... with one slot" 1 "$ccc" explain "$tmp/three.ccs" -n 3 --slots 1
holds "... they were not sent" sh -c "! grep -q '<-- E0301' '$tmp/out'"

# ---- two errors, each where it is -----------------------------------------------------------------
cat >"$tmp/both.ccs" <<'EOF'
contract both(inout a[C], inout b[C])
  ensures a[i] == a[i]@0
  ensures b[i] == sum(q in 0..N: b[i]@q)
schedule nothing implements both(inout a[1], inout b[1]) { if rank == 0 { send b to 1 } else { recv b from 0 } }
EOF
status "two clauses that do not hold" 1 "$ccc" explain "$tmp/both.ccs" -n 2 -o "$tmp/both.svg"
says "... each has its error: a" "$tmp/both.svg" 'data-code="E0405" data-rank="1".*>a\[0\] holds 1; promised is 0<'
says "... b" "$tmp/both.svg" 'data-code="E0403" data-rank="0".*>b\[0\] holds 0; promised is 0,1<'
cat >"$tmp/ends.ccs" <<'EOF'
schedule ends implements broadcast(inout data[1]; root = 0) {
  if rank == 0 { for i in 0..3 { send data to 1 } }
  if rank == 1 { recv data from 0; recv data from 2 }
  if rank == 3 { recv data from 1 }
}
EOF
status "ranks that wait for several reasons" 1 "$ccc" explain "$tmp/ends.ccs" -n 4 --slots 1 -o "$tmp/ends.svg"
says "... one whose message is not taken" "$tmp/ends.svg" 'data-code="E0301" data-rank="0" .*waits to send'
says "... one whose message is not sent" "$tmp/ends.svg" 'data-code="E0302" data-rank="3" .*waits to receive'

# ---- help, and cures that were tried ------------------------------------------------------------
cat >"$tmp/other.ccs" <<'EOF'
schedule other implements allreduce(inout data[N]) on ring {
  send data[0] to next
  recv data[0] from next
}
EOF
status "a peer that is another one" 1 "$ccc" explain "$tmp/other.ccs" -n 3 --format=svg
says "... a question is no cure" "$tmp/out" 'class="dim".*>help: .*is this intended'
holds "... and nothing is green" sh -c "! grep -q -e 'class=\"cure' -e Green '$tmp/out'"
status "a cure that was tried" 1 "$ccc" explain schedules/broken/all_send_first.ccs -n 4 --format=svg
says "... is green" "$tmp/out" 'class="cure".*>help: 16 slots or more cure it'
says "... and the legend says so" "$tmp/out" 'Green: a cure that was tried'

# ---- MSCCL XML that stores into the caller's input ----------------------------------------------
status "MSCCL XML with two buffers of one name" 0 "$ccc" explain tests/msccl/diag/overwrites_input.xml --chunk caller.i --chunk i
says "... has two names" "$tmp/out" '^ +caller\.i\[0\]  i\[0\]$'
status "... a chunk that it has not" 2 "$ccc" explain tests/msccl/diag/overwrites_input.xml --chunk 's[0]'
says "... names those that it has" "$tmp/err" 'there is caller\.i\[0\.\.1\], i\[0\.\.1\], o\[0\.\.1\]'

# ---- the documents' pictures -----------------------------------------------------------------
docs/pictures.sh "$ccc" "$tmp/docs"
for part in pictures schedules.md; do
	if diff -r "docs/$part" "$tmp/docs/$part" >"$tmp/diff"; then ok "docs/$part: as make pictures makes it"; else
		not_ok "docs/$part: as make pictures makes it" "$(head -5 "$tmp/diff" | cut -c1-200)"; fi
done
exit $failed
