#!/bin/sh
# Pipelines by way of the command: what ccc says of files, whole, as text and JSON
# (tests/pipe/golden/); pictures, tables, the examples of the codes; what actions and options do not
# go with such a file; texts that are meant to hurt.
# usage: pipe_test.sh BUILD [--bless]      --bless (make bless) renews the goldens
set -u
. tests/support/lib.sh
build=${1:-build}
ccc=$build/bin/ccc
here=tests/pipe hang=schedules/broken/recv_late.csv

compare() { golden $here/golden "$1"; }
bless=
[ "${2:-}" = --bless ] && bless=1

# ---- whole messages ------------------------------------------------------------------------
for f in "$here"/good/*.csv "$here"/diag/*.csv; do
	name=$(basename "$f" .csv)
	"$ccc" check "$f" >"$tmp/said" 2>&1
	compare "$name.txt"
done
for f in "$here"/good/*.csv; do
	name=$(basename "$f" .csv)
	"$ccc" explain "$f" >"$tmp/said" 2>/dev/null
	compare "explain_$name.txt"
done
"$ccc" check $hang --diagnostics-format=json >"$tmp/said" 2>&1
compare recv_late.json
for format in text csv json; do
	"$ccc" table --format=$format $hang "$here"/good/*.csv  \
		"$here"/diag/unknown_action.csv >"$tmp/said" 2>/dev/null
	compare "table.$format"
done
[ "$bless" ] && exit 0

# What the first line says: `# expect: CLASS LINE:COLUMN`. mutants.py compares places.
for f in "$here"/diag/*.csv; do
	expected=$(sed -n 's/^# expect: //p' "$f" | head -1)
	case $expected in
	syntax*) code=E0604 ;;
	order*) code=E0605 ;;
	missing* | twice*) code=E0606 ;;
	placement*) code='E060[56]' ;;
	*) code=none ;;
	esac
	status "$(basename "$f"): $expected" 1 "$ccc" check "$f"
	says "... with its code" "$tmp/err" "^$f:[0-9]+:[0-9]+: error: .*\[$code\]"
done

# ---- what it says of numbers -------------------------------------------------------------------
least() { # least WHAT FILE RANK PAIR EDGE DIRECTED
	"$ccc" check "$2" --diagnostics-format=json >"$tmp/json" 2>&1
	holds "$1" python3 -c '
import json, sys
report = next(d for d in map(json.loads, open(sys.argv[1])) if "pipeline" in d)
want = [None if w == "-" else int(w) for w in sys.argv[2:]]
sys.exit(list(report["min_slots"].values()) != want)' "$tmp/json" "$3" "$4" "$5" "$6"
}
least "the order of pytorch 172668: least slots of four kinds of queues" $hang 2 2 1 0
# `# expect: least RANK PAIR EDGE DIRECTED`, and `; swapped SEND/RECV...`
for f in "$here"/good/*.csv; do
	expected=$(sed -n 's/^# expect: least \([^;]*\).*/\1/p' "$f" | head -1 | sed 's/never/-/g')
	# A circle of computations alone has no text with messages.
	case $f in *circle_of_computations_alone*) continue ;; esac
	# shellcheck disable=SC2086
	least "$(basename "$f"): $expected" "$f" $expected
	case $(head -1 "$f") in
	*swapped*)
		"$ccc" check "$f" 2>"$tmp/err" >"$tmp/out"
		says "... and swapped" "$tmp/err" 'takes the message of .*E0607' ;;
	esac
done
status "$hang is stuck with one message in between" 1 "$ccc" check $hang --slots 1
status "... and not with two" 0 "$ccc" check $hang --slots 2
status "... nor with PyTorch's edges" 0 "$ccc" check $hang --streams=directed
status "... in 32 MiB" 0 "$ccc" check $hang --slots 2 --eager 32M
says "... messages may have 16 MiB" "$tmp/out" 'streams=rank .*larger than 16 MiB$'

for f in $hang schedules/pipelines/1f1b_4x8.csv; do
	"$ccc" check $f --diagnostics-format=sarif >"$tmp/out" 2>"$tmp/sarif"
	holds "SARIF of $f: a pass where it is right" python3 -c '
import json, sys
results = json.load(open(sys.argv[1]))["runs"][0]["results"]
wrong = any(r.get("ruleId") for r in results)
sys.exit([r["kind"] == "pass" for r in results if "kind" in r] != [not wrong])' "$tmp/sarif"
done

# Cures are tried: the text with the moves that are proposed has no deadlock.
"$ccc" check $hang >/dev/null 2>"$tmp/err"
holds "the moves that are proposed cure it" python3 -c '
import re, sys
help = next(l for l in open(sys.argv[1]) if "together cure it" in l)
lines = [l.rstrip("\n").split(",") for l in open(sys.argv[2])]
for what, how, where in re.findall(r"(\w+) \(line \d+, column \d+\) (before|behind) (\w+)", help):
    line = next(l for l in lines if what in l)
    line.remove(what)
    line.insert(line.index(where) + (how == "behind"), what)
open(sys.argv[3], "w").writelines(",".join(l) + "\n" for l in lines)' "$tmp/err" $hang "$tmp/cured.csv"
status "... as their text shows" 0 "$ccc" check "$tmp/cured.csv"

printf '0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n' >"$tmp/alone.csv"
status "computations alone get messages" 0 "$ccc" "$tmp/alone.csv" --emit=csv -o "$tmp/full.csv"
status "... and the text with them is right" 0 "$ccc" check "$tmp/full.csv"
status "... which is written as it is" 0 "$ccc" "$tmp/full.csv" --emit=csv -o "$tmp/again.csv"
holds "... byte by byte" cmp "$tmp/full.csv" "$tmp/again.csv"
printf '0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n' >"$tmp/circle.csv"
status "computations that wait for each other" 1 "$ccc" check "$tmp/circle.csv"
says "... are a deadlock" "$tmp/err" 'deadlock: ranks 0, 1 wait for each other \[E0304\]'
says "... with a move that cures it" "$tmp/err" 'help: 1B0 \(line 2, column 9\) before 1F1 cures it$'
printf '0F0,0B0,0F1,0B1\n1F0,1B0,1F1,1B1\n' >"$tmp/moved.csv"
status "... as its text shows" 0 "$ccc" check "$tmp/moved.csv"
status "the circle is drawn" 1 "$ccc" explain "$tmp/circle.csv" -o "$tmp/circle.svg"
holds "... whole" python3 -c '
import sys, xml.etree.ElementTree as T
stuck = [e.get("data-action") for e in T.parse(sys.argv[1]).iter() if e.get("class") == "stuck"]
sys.exit(stuck != ["0B0", "1F1"])' "$tmp/circle.svg"
holds "... with the heads of its arrows" test "$(grep -c '<path class="wait" marker-end="url(#a10)"' "$tmp/circle.svg")" = 2

# ---- pictures ------------------------------------------------------------------------------------
status "a picture" 1 "$ccc" explain $hang -o "$tmp/x.svg"
holds "... with the cycle" python3 -c '
import sys, xml.etree.ElementTree as T
stuck = [e for e in T.parse(sys.argv[1]).iter() if e.get("class") == "stuck"]
sys.exit([(e.get("data-rank"), e.get("data-action"), e.get("data-line"), e.get("data-column")) for e in stuck] !=
         [("0", "0SEND_F1", "3", "18"), ("1", "1SEND_F0", "4", "14")])' "$tmp/x.svg"
status "a picture of all" 0 "$ccc" explain $hang --slots 2 -o "$tmp/y.svg"
holds "... has each computation at its place and time" python3 -c '
import sys, xml.etree.ElementTree as T
seen = {}
for e in T.parse(sys.argv[1]).iter():
    if e.get("class") == "action":
        name, rank, start, end = e.get("data-action"), int(e.get("data-rank")), int(e.get("data-start")), int(e.get("data-end"))
        text = open(sys.argv[2]).read().split("\n")[int(e.get("data-line")) - 1][int(e.get("data-column")) - 1:]
        assert text.split(",")[0] == name and end - start == (2 if "B" in name else 1), name
        seen[name] = (rank, start, end)
assert len(seen) == 2 * 4 * 4
for name, (rank, start, end) in seen.items():
    stage, kind, mb = int(name[0]), name[1], name[2]
    before = f"{stage - 1}F{mb}" if kind == "F" else f"{stage + 1}B{mb}" if stage < 3 else f"{stage}F{mb}"
    assert before not in seen or seen[before][2] <= start, name' "$tmp/y.svg" $hang
status "a page" 1 "$ccc" explain $hang -o "$tmp/x.html"
holds "... with the picture" grep -q '<svg ' "$tmp/x.html"
status "a page of times" 0 "$ccc" simulate schedules/pipelines/1f1b_4x8.csv --format=html
holds "... names each computation once in its text" python3 -c '
import re, sys
text = open(sys.argv[1]).read().split("<pre>")[1].split("\n\n")[1]
names = re.findall(r"\d+[FB]\d+", text)
sys.exit(len(names) != 2 * 4 * 8 or len(set(names)) != len(names))' "$tmp/out"
status "one rank of it" 0 "$ccc" explain $hang --slots 2 --rank 1 --format=svg
holds "... and no other" sh -c "! grep -q 'data-rank=\"0\"' '$tmp/out'"
status "a rank that there is not" 2 "$ccc" explain $hang --rank 7
says "... is answered" "$tmp/err" 'there are ranks 0 to 1'
status "JSON of a picture" 2 "$ccc" explain $hang -o "$tmp/x.json"
says "... is answered" "$tmp/err" 'drawn as text, svg and html'
holds "... and nothing is written" test ! -e "$tmp/x.json"
strange=$tmp/'a<b>&"c.csv'
cp $hang "$strange"
status "a name that holds markup" 1 "$ccc" explain "$strange" --format=html
holds "... is escaped" sh -c "! grep -q 'a<b>' '$tmp/out' && grep -q 'a&lt;b&gt;&amp;&quot;c' '$tmp/out'"

# ---- what does not go with it ---------------------------------------------------------------------
cp "$tmp/full.csv" "$tmp/CAPITALS.CSV"
status "a name in capitals" 0 "$ccc" check "$tmp/CAPITALS.CSV"
for options in "-n 2" "-D X=1" "--root 0" "--schedule x" "--require same-bits=ranks" "--certificate $tmp/none"; do
	# shellcheck disable=SC2086
	status "$options" 2 "$ccc" check $hang $options
	says "... is answered" "$tmp/err" 'a pipeline (has|takes|is|needs|computes)'
done
status "a module" 2 "$ccc" $hang -o "$tmp/x.so"
says "... is answered" "$tmp/err" 'can be checked, explained, simulated, compared'
status "fmt" 2 "$ccc" fmt $hang
status "a schedule beside it" 2 "$ccc" table $hang schedules/ring_allreduce.ccs
says "... is answered" "$tmp/err" 'schedules, or pipelines'
status "no such file" 2 "$ccc" check "$tmp/none.csv"
status "-o over the file" 2 "$ccc" "$tmp/full.csv" --emit=csv -o "$tmp/full.csv"
for bytes in "" 4Q -1 5T 99999999999G; do
	status "--eager '$bytes'" 2 "$ccc" check $hang --eager "$bytes"
done
status "--streams of no kind" 2 "$ccc" check $hang --streams=pairs
says "... names the nearest" "$tmp/err" 'pair'

# ---- the texts of --explain --------------------------------------------------------------------------
for code in E0604 E0605 E0606 E0607; do
	status "--explain $code" 0 "$ccc" --explain $code
	awk '/^    / { print substr($0, 5) }' "$tmp/out" >"$tmp/example.csv"
	"$ccc" check "$tmp/example.csv" >"$tmp/said" 2>&1
	holds "... its example has it, and nothing else" sh -c \
		"test \"\$(grep -o '\[[EW][0-9][0-9]*' '$tmp/said' | sort -u)\" = '[$code'"
done

# ---- texts that are meant to hurt -------------------------------------------------------------------
status "a pipeline in a file of another name" 1 sh -c "echo 0F0 | '$ccc' check -"
says "... is named" "$tmp/err" "ends in .csv"

hurts() { # hurts WHAT CODE: the text on stdin is refused within 1 GB and 20 s
	cat >"$tmp/hurts.csv"
	status "$1" 1 sh -c "ulimit -v 1500000; ulimit -t 20; '$ccc' check '$tmp/hurts.csv' --memory=1000"
	says "... is $2" "$tmp/err" "$2"
}
printf '' | hurts "nothing" E0604
printf '\n\n\n' | hurts "empty lines" E0604
printf '0F0\0,1F0\n' | hurts "a NUL" E0604
printf '0F0\n1F0\377\n' | hurts "a byte that is not UTF-8" E0604
printf '\376\377\0000\000F' | hurts "UTF-16" E0604
printf '0F0,99999999999999999999F0\n' | hurts "a large number" E0604
printf '65535F1000000\n' | hurts "a stage and a microbatch that are far away" E0606
printf '0F1000000\n' | hurts "a microbatch without those before it" E0606
printf '(0F0;1F0;2F0)OVERLAP_F_B\n' | hurts "three computations at once" E0604
printf '(0SEND_F0;\n' | hurts "a bracket without its end" E0604
printf '((0SEND_F0))BATCH\n' | hurts "brackets in brackets" E0604
python3 -c 'print("(" * 3000000)' | hurts "many brackets" E0604
python3 -c 'print("0F0;" * 1000000)' | hurts "no commas" E0604
python3 -c 'print("0F0\n" * 70000)' | hurts "more lines than ranks" E0604
python3 -c 'print(",".join(f"0F{i}" for i in range(300000)) + ",0F7")' | hurts "a second one of many" E0606
head -c 100000000 /dev/zero | tr '\0' 'x' | hurts "100 MB of an action" E0604
head -c 100000000 /dev/zero | tr '\0' ',' | hurts "100 MB of idle time" E0604
yes 0F0, | head -c 100000000 | tr -d '\n' | hurts "100 MB of one action" 'E0501|E0606'
python3 -c '
n = 400000
print(",".join(f"0F{i}" for i in range(n)) + ",(" + ";".join(f"0SEND_F{i}" for i in range(n)) + ")BATCH")
print("(" + ";".join(f"1RECV_F{i}" for i in range(n)) + ")BATCH," + ",".join(f"1F{i}" for i in range(n)))' >"$tmp/batch.csv"
status "400,000 messages in one BATCH" 0 sh -c "ulimit -t 40; '$ccc' check '$tmp/batch.csv'"

exit $failed
