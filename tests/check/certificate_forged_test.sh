#!/bin/sh
# Forged certificates, of texts that are wrong or of none: the checkers of certificate_test.sh take
# none of them, or claim nothing of the N for which the text is wrong.
# usage: certificate_forged_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
ccc=${CCC:-$build/bin/ccc}
if ! command -v python3 >/dev/null 2>&1; then
	echo "skip - forged certificates: there is no python3"
	exit 0
fi

# How the checkers refuse the certificate $tmp/c for a text: refused WHY WHAT KIND TEXT [--up-to N]
refused() {
	why=$1 what=$2 by=tests/check/certificate$3 text=$4
	shift 4
	if python3 -S "$by.py" "$tmp/c" >"$tmp/said" 2>&1 &&
		python3 -S "${by}_text.py" "$tmp/c" "$@" "$ccc" "$text" >"$tmp/said" 2>&1; then
		not_ok "$what" "it is taken for right: $(cat "$tmp/said")"
	else
		says "$what" "$tmp/said" "^not proved: .*$why"
	fi
}
honest() { "$ccc" check --certificate "$tmp/c" "schedules/$1.ccs" >/dev/null; }

# ---- texts that are wrong for one N, with the certificate of the right one ------------------------

# other_text WHY NAME KIND SED [--up-to N]
other_text() {
	s=$2 kind=$3 how=$4
	sed "$how" "schedules/$s.ccs" >"$tmp/other.ccs"
	if cmp -s "schedules/$s.ccs" "$tmp/other.ccs"; then
		not_ok "$s: $how" "the text is the same"
	fi
	why=$1
	shift 4
	honest "$s"
	refused "$why" "$s: $how" "$kind" "$tmp/other.ccs" "$@"
}
other_text 'operations of N = 40$' ring_allgather '' 's/0\.\.N-1/0..(N == 5 * 8 ? N - 2 : N - 1)/'
for n in '4 * 3' 0xc 1_2 '(3 << 2)' '(popcount(N) == 2 \&\& N > 10 ? N : 0)' '(9 ^ 5)' \
		'(N % 4 == 0 \&\& N % 3 == 0 ? N : 1)' '(N >> 2) * 4 - (N > 12 ? 8 : 0)'; do
	other_text 'operations of N = (12|8|4)$' ring_allgather '' \
		"s|0..N-1|0..(N == $n ? N - 2 : N - 1)|" --up-to 12
done
other_text 'operations of N = 64$' halving_doubling_allreduce _powers \
	's/0\.\.ilog2(N)/0..ilog2(N) - (N != 8 * 8 ? 0 : 1)/'
other_text 'operations for \[4, 3\]$' hierarchical_all_to_all _grid \
	's/send t\[dst \* G \.\. (dst/send t[(G < 2 * 2 ? dst : src) * G .. ((G < 2 * 2 ? dst : src)/' --up-to 12
other_text 'that N = 13 is possible' ring_allgather '' 's/^  copy a/  assert N != 1 + 3 * 4, "not 13" copy a/' --up-to 16
other_text 'operations of N = 9$' chain_broadcast '' \
	's/rank - R/rank - (N == 3 * 3 \&\& R == 2 + 3 ? 0 : R)/' --up-to 9
# Beyond what is compared nothing is claimed.
honest ring_allgather
sed 's/0\.\.N-1/0..(N == 5 * 8 ? N - 2 : N - 1)/' schedules/ring_allgather.ccs >"$tmp/other.ccs"
status "what is not compared" 0 python3 -S tests/check/certificate_text.py "$tmp/c" --up-to 12 "$ccc" "$tmp/other.ccs"
says "... is not claimed" "$tmp/out" 'for N up to 12 the certificate was compared with this text; beyond that it proves the program'

# ---- texts that seem to promise what the certificate does ------------------------------------------

# seems WHAT: the text $tmp/other.ccs, with the certificate of ring_allgather
seems() {
	status "$1: it is a schedule" 0 "$ccc" -n 4 --emit=program "$tmp/other.ccs"
	refused 'that the text promises the contract' "$1" '' "$tmp/other.ccs" --up-to 5
}
body='on ring { copy a into b[rank] for s in 0..N-1 { step { send b[(rank - s) % N] to next recv b[(rank - s - 1) % N] from prev } } }'
own='ensures b[i] == a[0]@i'
honest ring_allgather
echo "/* schedule ring_allgather implements allgather(in a[1], out b[N]) */ contract mine(in a[1], out b[N]) $own
schedule ring_allgather implements mine(in a[1], out b[N]) $body" >"$tmp/other.ccs"
seems "a schedule in a comment"
echo "contract/**/allgather(in a[1], out b[N]) $own
schedule ring_allgather implements allgather(in a[1], out b[N]) $body" >"$tmp/other.ccs"
seems "a contract behind a comment"
echo "contract allgather(in a[1], out b[N]) $own" >"$tmp/own.ccs"
printf '%s\n' 'import "o\x77n.ccs"' "schedule ring_allgather implements allgather(in a[1], out b[N]) $body" >"$tmp/other.ccs"
seems "a contract of an import that is written otherwise"
echo "schedule ring_allgather implements allgather(in a[1], out b[N]) $body
proc p() { assert true, \"//\" } contract allgather(in a[1], out b[N]) $own" >"$tmp/other.ccs"
seems "a contract behind // in a string"

# ---- certificates whose program is not what is proved ----------------------------------------------

# forged WHY NAME KIND 'statements on the certificate c' [TEXT]
forged() {
	"$ccc" check --certificate "$tmp/whole" "schedules/$2.ccs" >/dev/null
	python3 -S - "$tmp/whole" "$tmp/c" "$4" <<'END' || not_ok "$4" "it cannot be forged so"
import copy, json, sys
c = json.load(open(sys.argv[1]))
ops, moves = c.get("operations"), c.get("moves")
def at(value, kind="at", concurrent=False): return {"kind": kind, "value": value, "concurrent": concurrent, "block": False}
def number(n): return [{"if": [], "to": [[n] + [0] * (2 + c["numbers"])]}]
exec(sys.argv[3])
json.dump(c, open(sys.argv[2], "w"))
END
	refused "$1" "$2: $(printf '%s\n' "$4" | head -n 1)" "$3" "${5:-schedules/$2.ccs}" --up-to 5
}
# All ranks send both ways and receive nothing: "send " is no send, but a receive.
cat >"$tmp/sends.ccs" <<'END'
schedule direct_allgather
  implements allgather(in a[1], out b[N])
{
  step {
    for s in 1..N {
      send a                 to (rank + s) % N
      send b[(rank - s) % N] to (rank - s) % N
    }
  }
  copy a into b[rank]
}
END
forged 'pairs and sources' direct_allgather '' "ops[0]['line'], ops[1]['line'], ops[1]['kind'] = 6, 7, 'send x'; ops[2]['line'] = 10" "$tmp/sends.ccs"
# Spoilt at the end, after all that is looked at.
sed 's/^  ring_gather_parts(b)/&\n  copy a into b[0]/' schedules/ring_allgather.ccs >"$tmp/other.ccs"
forged 'place of line 20' ring_allgather '' "o = copy.deepcopy(ops[0]); o['line'], o['y']['first'][0]['to'] = 20, [[0] * 7]
o['place'] = [at(1 << 28), at(0, 'wave')]
ops.append(o); c['holds'].append(c['holds'][0]); c['sources'].append({**c['sources'][0], 'read': 'x3'})
c['sources'] += [{**x, 'read': 'x%d' % (len(ops) - 1)} for x in c['sources'] if x['read'] == 'x0']" "$tmp/other.ccs"
for how in "'first'" "'n'"; do
	forged 'one value at each point of line 13' direct_allgather '' "# pieces of $how leave out a point
ops[2]['y'][$how][0]['if'].append(['>=', [9, -1, 0, 0, 0, 0, 0]])"
done
forged 'one value at each point of line 9' direct_allgather '' "ops[0]['peer'].pop()"
forged 'one value at each point of line 9' direct_allgather '' "ops[0]['channel'] = []"
forged 'one value at each point of line 13' direct_allgather '' "ops[2]['y']['first'].append(number(0)[0])"
forged 'one value at each point' chain_reduce '' "c['levels'][0]['of'][0]['end'].pop()"
forged 'pairs and sources' direct_allgather '' "c['pairs'][0]['recv'] = 0"
forged 'pairs and sources' direct_allgather '' "c['pairs'].append({**c['pairs'][0], 'recv': -2})"
forged 'pairs and sources' direct_allgather '' "c['sources'][-1]['pieces'][0]['to'].pop()"
forged 'sums of integers' direct_allgather '' "ops[0]['points'][0]['if'][2][0] = '>'"
forged 'sums of integers' direct_allgather '' "ops[0]['points'][0]['if'][2][1][0] = float('nan')"
forged 'sums of integers' direct_allgather '' "ops[0]['points'][0]['if'][2][1][0] = 0.5"
forged 'an end to the loops of line 9' direct_allgather '' "# a loop without an end
del ops[0]['points'][0]['if'][5]"
forged 'points of line 9' direct_allgather '' "# ... or a beginning
del ops[0]['points'][0]['if'][4]"
forged 'points of line 9' direct_allgather '' "# a rank that is none
del ops[0]['points'][0]['if'][3]"
forged 'points of line 9' direct_allgather '' "# operations that differ in nothing
del ops[0]['points'][0]['if'][1]"
forged 'places of lines 9 and 13' direct_allgather '' "ops[2]['place'] = [at(0), at(0, 'wave')]"
forged 'places of lines 9 and 13' direct_allgather '' "ops[2]['place'] = [at(0), at(2), at(0, 'wave')]"
forged 'the place of line 13' direct_allgather '' "ops[2]['place'].insert(1, at(7, 'other'))"
forged 'trips of line 9' direct_allgather '' "ops[0]['place'][3]['value'] = 0"
forged 'what line 13 does' direct_allgather '' "ops[2]['y']['buffer'] = -1"
forged 'what line 13 does' direct_allgather '' "ops[2]['peer'] = number(0)"
forged 'as many chunks on all ranks' direct_allreduce '' "b = c['buffers'][0]['chunks']
b[0]['if'].append(['=', [0, 0, 0, 1, 0, 0, 0]])
b.append({'if': [['>=', [-1, 0, 0, 1, 0, 0, 0]]], 'to': [[1, 0, 0, 0, 0, 0, 0]]})"

# Automata.
forged 'letters and states' halving_doubling_allreduce _powers "moves[0]['body'][0]['messages']['next'][0]['999'] = 0"
forged 'letters and states' halving_doubling_allreduce _powers "c['possible']['accepts'].append(-1)"
# A message that nothing receives, in the place of one that is received.
sed 's/^  if extra     { send/  if stands_in { send data to rank + p } if extra { send/' \
	schedules/recursive_doubling_allreduce.ccs >"$tmp/other.ccs"
forged 'a message of its own' recursive_doubling_allreduce _powers "sends = [m for m in moves if m['op'] == 'send']
moves.insert(0, {**sends[-1], 'slot': sends[0]['slot'], 'line': sends[0]['line']})" "$tmp/other.ccs"
forged 'chunks from 0' recursive_doubling_allreduce _powers "# chunk 1 without chunk 0
c['buffers'][0]['chunks'] = {'tracks': ['chunk'], 'next': [{'1': 1}, {'0': 1}], 'accepts': [1]}"
forged 'what line [0-9]* does' halving_doubling_allreduce _powers "m = moves[0]['body'][1]; m['op'], m['cells'] = 'recv x', m.pop('messages')"
forged 'numbers of line' recursive_doubling_allreduce _powers "# a trip outside of loops
a = next(m for m in moves if m['op'] == 'send')['messages']; loop = next(m for m in moves if m['op'] == 'loop')
next(m for m in moves if m['op'] == 'send')['messages'] = loop['body'][0]['messages']"
forged 'numbers of line' halving_doubling_allreduce _powers "moves[0]['body'][0]['buffer'] = -1"
forged "a loop's numbers" halving_doubling_allreduce _powers "moves[0]['body'].append(moves[1])"

# Grids.
forged 'the callee ring_allreduce' hierarchical_allreduce _grid "# a callee's parts of a view that is not cut
moves[1]['view']['free'] = []"
forged "a callee's chunks" hierarchical_allreduce _grid "moves[1]['callee']['buffers'][0]['chunks'][0]['to'] = [[0, 2, 0, 0, 0, 0, 0]]"
forged 'what line [0-9]* does' hierarchical_all_to_all _grid "o = next(o for m in moves for o in m.get('operations', []) if 'peer' in o); o['kind'] += ' x'"
forged 'values for all of line' hierarchical_all_to_all _grid "o = next(o for m in moves for o in m.get('operations', []) if 'peer' in o); o['peer'] *= 2"
forged 'digits that are free' hierarchical_all_to_all _grid "moves[0]['operations'][0]['y']['buffer'] -= len(c['buffers'])"
forged "a callee|callee's" hierarchical_broadcast _grid "m = next(m for m in moves if 'root' in m); m['root'] = [{**x, 'to': [[x['to'][0][0] + 1, *x['to'][0][1:]]]} for x in m['root']]"
levels=../tests/check/good/hand_two_levels
forged 'what is held after line 8' $levels _grid "# some nodes' first ranks without the groups of all
moves[1]['view']['at'][0]['if'].append(['>=', [3, 0, -1] + [0] * 2])"
forged "a callee's chunks" $levels _grid "# a callee of more parts
moves[1]['callee']['buffers'][0]['chunks'][0]['to'] = [[2] + [0] * 6]"
exit $failed
