#!/bin/sh
# MSCCL XML by way of the commands: what ccc says of files, whole, as text and JSON
# (tests/msccl/golden/); modules made of them, checked by ccrun; the examples of the codes; what
# actions and options do not go with such a file; texts that are meant to hurt.
# usage: msccl_test.sh BUILD [--bless]      --bless (make bless) renews the goldens
set -u
. tests/support/lib.sh
build=${1:-build}
ccc=$build/bin/ccc ccrun=$build/bin/ccrun
here=tests/msccl

compare() { golden $here/golden "$1"; }
bless=
[ "${2:-}" = --bless ] && bless=1

# ---- whole messages --------------------------------------------------------------------
for f in good/ring_allreduce good/tree_reduce good/pairs_nop good/custom diag/deadlock_slots \
	 diag/dependency_cycle diag/deadlock_blocks diag/race_blocks diag/race_write diag/no_value \
	 diag/twice diag/two_blocks diag/unequal diag/over_limits diag/doctype \
	 diag/no_attribute diag/single_quotes; do
	options=$(sed -n 's/^\/\/! options: //p' "$here/$f.xml")
	# shellcheck disable=SC2086
	"$ccc" check $here/$f.xml $options >"$tmp/said" 2>&1
	compare "${f#*/}.txt"
done
for f in good/ring_allreduce diag/race_blocks; do
	"$ccc" check $here/$f.xml --diagnostics-format=json >"$tmp/said" 2>&1
	compare "${f#*/}.json"
done
for f in good/ring_allreduce diag/deadlock_slots diag/dependency_cycle diag/unequal diag/race_blocks; do
	"$ccc" explain $here/$f.xml --slots 2 >"$tmp/said" 2>&1
	compare "explain_${f#*/}.txt"
done
[ "$bless" ] && exit 0

# ---- they run ----------------------------------------------------------------------------
for f in "$here"/good/*.xml; do
	name=$(basename "$f" .xml)
	n=$(sed -n 's/.*ngpus="\([0-9]*\)".*/\1/p' "$f")
	status "$name is compiled" 0 "$ccc" "$f" --target=cpu -o "$tmp/$name.so"
	[ "$name" = custom ] && continue # nothing to check
	status "... and right for 4 bytes to 64 KiB" 0 "$ccrun" -n "$n" "$tmp/$name.so" -b 4 -e 64K -f 16 -w 0 --iters 1
	says "... and counted" "$tmp/out" 'wrong elements *: 0 OK'
done
status "its plan names the file's lines" 0 "$ccc" $here/good/ring_allreduce.xml --emit=plan
says "... of steps" "$tmp/out" 'recv-reduce-copy-send .*line 7$'
status "reproducible: the same bytes" 0 "$ccc" $here/good/ring_allreduce.xml --target=cpu -o "$tmp/again.so"
holds "... of the object" cmp "$tmp/again.so" "$tmp/ring_allreduce.so"
status "CUDA source" 0 "$ccc" $here/good/tree_allreduce.xml --emit=cuda

# ---- what does not go with it ------------------------------------------------------------
f=$here/good/ring_allreduce.xml
cp $f "$tmp/CAPITALS.XML"
status "a name in capitals" 0 "$ccc" check "$tmp/CAPITALS.XML"
status "-n of the file's own number" 0 "$ccc" check $f -n 3
status "-n of another" 2 "$ccc" check $f -n 2..4
says "... is told" "$tmp/err" 'file is for 3 GPUs'
status "-D" 2 "$ccc" check $f -D X=1
status "--schedule" 2 "$ccc" check $f --schedule t
status "--certificate" 2 "$ccc" check $f --certificate "$tmp/none"
status "--require of what is so" 0 "$ccc" check $f --require same-bits=ranks
status "--require of what is not" 1 "$ccc" check $f --require same-bits=counts
says "... is E0407" "$tmp/err" 'E0407'
says "... and the result is right" "$tmp/out" 'in place  *computes allreduce, proved'
for action in table fmt; do
	status "$action" 2 "$ccc" $action $f
	says "... says what can be done" "$tmp/err" 'checked, explained, simulated and compiled'
done
status "no such file" 2 "$ccc" check "$tmp/none.xml"
status "-o over the file" 2 "$ccc" $f --target=cpu -o $f
status "a warning switched off" 0 "$ccc" check $here/diag/over_limits.xml -Wno-executor -Werror
status "a warning as an error" 1 "$ccc" check $here/diag/over_limits.xml -Werror=executor
status "--slots decides" 1 "$ccc" check $here/diag/deadlock_slots.xml --slots 2
status "... how many are enough" 0 "$ccc" check $here/diag/deadlock_slots.xml --slots 3

# ---- the texts of --explain --------------------------------------------------------------
for code in E0601 E0602 E0603 W0601 W0602; do
	status "--explain $code" 0 "$ccc" --explain $code
	awk '/^    / { print substr($0, 5) }' "$tmp/out" >"$tmp/example.xml"
	holds "... has lines of at most 80 columns" sh -c "! grep -q '.\{81\}' '$tmp/out'"
	"$ccc" check "$tmp/example.xml" >"$tmp/said" 2>&1
	holds "... its example has it, and nothing else" sh -c \
		"test \"\$(grep -o '\[[EW][0-9][0-9]*' '$tmp/said' | sort -u)\" = '[$code'"
done

# ---- texts that are meant to hurt -----------------------------------------------------------
bomb() { # bomb WHAT CODE: the text on stdin is refused within 200 MiB and 10 s
	cat >"$tmp/bomb.xml"
	status "$1" 1 sh -c "ulimit -v 400000; ulimit -t 10; '$ccc' check '$tmp/bomb.xml' --memory=200"
	says "... is $2" "$tmp/err" "$2"
}
algo='<algo coll="custom" ngpus="1" nchunksperloop="1" inplace="1">'
{
	echo '<!DOCTYPE algo [ <!ENTITY a0 "lol">'
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		j=$((i - 1))
		echo "<!ENTITY a$i \"&a$j;&a$j;&a$j;&a$j;&a$j;&a$j;&a$j;&a$j;&a$j;&a$j;\">"
	done
	echo "]>$algo&a12;</algo>"
} | bomb "a billion laughs" E0601
printf '<!DOCTYPE algo SYSTEM "file:///etc/passwd"><algo/>' | bomb "an external entity" E0601
{ echo "$algo"; awk 'BEGIN { for (i = 0; i < 300000; i++) print "<gpu>" }'; } | bomb "deep nesting" E060
{ printf '%s<gpu id="0"><copy>' "$algo"
  awk 'BEGIN { for (i = 0; i < 300000; i++) print "<copy>" }'; } | bomb "deep nesting of what is ignored" E0601
{ printf '<algo name="'; head -c 20000000 /dev/zero | tr '\0' 'x'; } | bomb "an attribute without an end" E0601
{ printf '<algo '; awk 'BEGIN { for (i = 0; i < 400000; i++) printf "a%d=\"\" ", i }'; } | bomb "attributes without an end" E0601
{ echo "$algo<gpu id=\"0\"><tb>"; awk 'BEGIN { for (i = 0; i < 3000000; i++) print "<step type=\"nop\"/>" }'
  echo "</tb></gpu></algo>"; } | bomb "millions of steps" E0501
echo '<algo coll="allreduce" ngpus="65536" nchunksperloop="1000000000" inplace="1"></algo>' |
	bomb "great numbers" E0602
{ echo '<algo coll="custom" ngpus="1" nchunksperloop="1" inplace="1"><gpu id="0" i_chunks="1" s_chunks="999999999">'
  echo '<tb><step type="cpy" srcbuf="s" srcoff="0" dstbuf="s" dstoff="400000000" cnt="400000000"/></tb></gpu></algo>'; } |
	bomb "a great scratch" E0501
printf '' | bomb "nothing" E0601
printf '\377\376<\0a\0' | bomb "UTF-16, cut short" E0601

exit $failed
