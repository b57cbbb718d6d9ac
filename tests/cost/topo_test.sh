#!/bin/sh
# NCCL's topology XML: the texts that ccc makes of it (tests/cost/topo/golden/), which are canonical and
# machines with the paths that NCCL would take; the examples of the codes; what does not go with it; texts
# that are meant to hurt.
# usage: topo_test.sh BUILD [--bless]      --bless (make bless) renews the goldens
set -u
. tests/support/lib.sh
build=${1:-build}
ccc=$build/bin/ccc
here=tests/cost/topo
bless=
[ "${2:-}" = --bless ] && bless=1

for f in "$here"/good/*.xml; do
	name=$(basename "$f" .xml)
	"$ccc" --emit=ccs "$f" >"$tmp/said" 2>&1
	cp "$tmp/said" "$tmp/$name.ccs"
	golden $here/golden "$name.ccs"
done
[ "$bless" ] && exit 0

# ---- they are machines -------------------------------------------------------------------
for f in "$here"/good/*.xml; do
	name=$(basename "$f" .xml)
	holds "$name is canonical" "$ccc" fmt --check "$tmp/$name.ccs"
	n=$(sed -n 's/.*where N [%=]*=* *\([0-9]*\).*/\1/p' "$tmp/$name.ccs")
	cat >"$tmp/on.ccs" <<END
import "$name.ccs"
import "direct_all_to_all.ccs"
schedule pairs_of implements all_to_all(in a[N], out b[N]) on $name { direct_all_to_all(a, b) }
END
	status "... all $n ranks reach each other" 0 "$ccc" check -I schedules "$tmp/on.ccs" -n "$n"
	if grep -q '^  switch net' "$tmp/$name.ccs"; then
		status "... those of 3 nodes, too" 0 "$ccc" check -I schedules "$tmp/on.ccs" -n $((3 * n))
	fi
done
cp $here/good/pairs.xml "$tmp/8-GPUs A.XML"
status "another name" 0 "$ccc" --emit=ccs "$tmp/8-GPUs A.XML"
says "... becomes one of the language" "$tmp/out" '^topology topology_8_GPUs_A where'
status "-o" 0 "$ccc" --emit=ccs $here/good/pairs.xml -o "$tmp/o.ccs"
holds "... writes the same" cmp "$tmp/o.ccs" "$tmp/pairs.ccs"

# ---- the machines that come with ccs -------------------------------------------------------
for f in schedules/machines/*.ccs; do
	name=$(basename "$f" .ccs)
	holds "$name has a text of at most 45 lines, its sources first" sh -c "test \$(wc -l <$f) -le 45 &&
		head -n 1 $f | grep -q '^// ' && grep -q '^topology $name[ (]' $f"
	cat >"$tmp/on.ccs" <<END
import "machines/$name.ccs"
import "ring_allreduce.ccs"
schedule on_it implements allreduce(inout data[N]) on $name where N >= 8 { ring_allreduce(data) }
END
	[ "$name" = torus2d ] || status "... has a path from each rank to the next" 0 "$ccc" check -I schedules "$tmp/on.ccs" -n 8,16
done

on() { # on WHAT EXPECTED MACHINE N: the bandwidth of an allgather's bound, GB/s
	got=$("$ccc" bound -I schedules --on "$3" -n "$4" allgather --format=csv 2>"$tmp/err" | sed -n '2s/^[^"]*"[^"]*",\([0-9]*\.[0-9][0-9]\).*/\1/p')
	if [ "$got" = "$2" ]; then ok "$1: $2"; else not_ok "$1" "$got, not $2: $(cat "$tmp/err")"; fi
}
on "dgx_a100 of 1 node, as ForestColl has it" 342.85 dgx_a100 8
on "... of 2" 346.66 dgx_a100 16
on "... of 4" 266.66 dgx_a100 32
on "... of 16" 213.33 dgx_a100 128
on "... of 128" 201.57 dgx_a100 1024
on "arguments" 66.66 'hgx_h100(1)' 4
on "a topology of NCCL" 144.00 $here/good/pairs.xml 8
refused() { # refused REGEX WHAT MACHINE
	status "$2" 2 "$ccc" bound -I schedules --on "$3" -n 8 allgather
	says "... says so" "$tmp/err" "$1"
}
refused 'E0608' "--on a topology with a mistake" $here/diag/width_negative.xml
refused 'where. of topology power does not hold' "... for another N" $here/good/power.xml
refused 'E0701' "... that is not there" "$tmp/none.xml"
refused 'E0601' "... that is an algorithm" tests/msccl/good/custom.xml
refused 'unknown name' "a machine that is not there" hgx_h1000

# ---- what does not go with it ------------------------------------------------------------
f=$here/good/pairs.xml
for words in "--emit=plan" "explain" "fmt" "table" "check -n 4" "check -D X=1" "--emit=csv"; do
	# shellcheck disable=SC2086 # words
	status "$words" 2 "$ccc" $words $f
	says "... says why" "$tmp/err" 'a topology of NCCL|only of a pipeline'
done
status "-o over the file" 2 "$ccc" --emit=ccs $f -o $f
status "no topology from a schedule" 2 "$ccc" --emit=ccs schedules/ring_allreduce.ccs
says "... says how to print one" "$tmp/err" 'ccc fmt'
status "... nor from an algorithm" 2 "$ccc" --emit=ccs tests/msccl/good/custom.xml
status "a warning as an error" 1 "$ccc" --emit=ccs $here/diag/width_zero.xml -Werror
holds "... and no text" test ! -s "$tmp/out"
status "a warning switched off" 0 "$ccc" check $here/diag/width_zero.xml -Wno-topology -Werror

# ---- the texts of --explain --------------------------------------------------------------
for code in E0608 W0603; do
	status "--explain $code" 0 "$ccc" --explain $code
	awk '/^    / { print substr($0, 5) }' "$tmp/out" >"$tmp/example.xml"
	holds "... has lines of at most 80 columns" sh -c "! grep -q '.\{81\}' '$tmp/out'"
	"$ccc" check "$tmp/example.xml" >"$tmp/said" 2>&1
	holds "... its example has it, and nothing else" sh -c \
		"test \"\$(grep -o '\[[EW][0-9][0-9]*' '$tmp/said' | sort -u)\" = '[$code'"
done

# ---- texts that are meant to hurt -----------------------------------------------------------
bomb() { # bomb WHAT STATUS CODE: the text on stdin ends within 200 MiB and 20 s
	cat >"$tmp/bomb.xml"
	status "$1" "$2" sh -c "ulimit -v 400000; ulimit -t 20; '$ccc' --emit=ccs '$tmp/bomb.xml' --memory=200"
	says "... is $3" "$tmp/err" "$3"
}
cpu='<system version="1"><cpu numaid="0" arch="x86_64">'
pci='<pci busid="%d" link_speed="8.0 GT/s PCIe" link_width="16">'
{ echo '<!DOCTYPE system [ <!ENTITY a "lol"> <!ENTITY b "&a;&a;&a;&a;"> ]>'; echo "$cpu&b;</cpu></system>"; } |
	bomb "entities" 1 E0601
{ echo "$cpu"; awk -v p="$pci\n" 'BEGIN { for (i = 0; i < 300000; i++) printf p, i }'; } |
	bomb "deep nesting" 1 E0601
{ echo "$cpu"; awk 'BEGIN { for (i = 0; i < 300000; i++) print "<what>" }'; } |
	bomb "deep nesting of what is ignored" 1 E0601
{ echo "$cpu"; awk -v p="$pci</pci>\n" 'BEGIN { for (i = 0; i < 300000; i++) printf p, i }'; } |
	bomb "many devices" 1 E0601
{ echo "$cpu"
  awk -v p="$pci<gpu sm=\"90\" rank=\"%d\"/></pci>\n" 'BEGIN { for (i = 0; i < 2000; i++) printf p, i, i }'
  echo '</cpu></system>'; } | bomb "many GPUs" 1 E0608
{ echo "$cpu"
  awk 'BEGIN { printf "<pci busid=\"1\" link_speed=\"8 GT/s\" link_width=\"16\"><gpu rank=\"0\" sm=\"90\">"
	       for (i = 0; i < 300000; i++) printf "<nvlink target=\"1\" count=\"1\" tclass=\"0x030000\"/>"
	       print "</gpu></pci></cpu></system>" }'; } | bomb "many links" 1 E0601
{ echo '<system version="1">'
  awk -v p="$pci<gpu sm=\"90\" rank=\"%d\"/></pci></cpu>\n" 'BEGIN { for (i = 0; i < 1000; i++) {
	  printf "<cpu numaid=\"%d\" arch=\"arm64\">", i; printf p, i, i } }'
  echo '</system>'; } | bomb "many CPUs, each with links to all others" 1 E0501
{ echo "$cpu"; awk 'BEGIN { for (i = 0; i < 200000; i++) printf "<x%d a=\"1\"/>", i }'; echo '</cpu></system>'; } |
	bomb "many names that are not known" 1 E0601
printf '' | bomb "nothing" 1 E0601
printf '<system' | bomb "half a tag" 1 E0601

exit $failed
