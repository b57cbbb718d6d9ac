#!/bin/sh
# Certificates for every N (ccc check --certificate), checked by certificate*.py, which share
# nothing with the compiler: KIND.py proves that a certificate keeps its contract for every N,
# KIND_text.py compares it with the text for N up to a bound; both must say ok. Of spoiled ones, and
# those of other texts, one of them must not. certificate_forged_test.sh has more of these.
# usage: certificate_test.sh BUILD [--long]
set -u
. tests/support/lib.sh
build=${1:-build}
ccc=${CCC:-$build/bin/ccc}
if ! command -v python3 >/dev/null 2>&1; then
	echo "skip - certificates: there is no python3"
	exit 0
fi
subjects="chain_reduce direct_scatter"
powers="halving_doubling_allreduce recursive_doubling_allreduce bruck_allgather \
	bruck_all_to_all binomial_gather swing_allreduce binary_tree_allreduce dissemination_barrier"
[ "${2:-}" != --long ] || powers="$powers binomial_broadcast binomial_reduce binomial_scatter \
	bine_allgather bine_allreduce bine_broadcast bine_reduce_scatter double_binary_tree_allreduce"
[ "${2:-}" != --long ] || subjects="ring_allgather ring_reduce_scatter ring_allreduce \
	bidirectional_ring_allreduce direct_allreduce direct_allgather direct_all_to_all \
	direct_gather direct_scatter pairwise_all_to_all pairwise_reduce_scatter one_shot_allreduce \
	fixed_order_allreduce chain_broadcast chain_reduce"

most=11 # N up to which texts are compared
[ "${2:-}" != --long ] || most=24
proved() { # proved KIND: the certificate at $tmp/c
	python3 -S "tests/check/$1.py" "$tmp/c"
}
is_texts() { # is_texts KIND FILE
	python3 -S "tests/check/$1_text.py" "$tmp/c" --up-to "$most" "$ccc" "$2"
}
# First comes who refuses more: the proof if only the certificate is spoiled.
both_say() { # both_say KIND FILE
	case $2 in
	schedules/*) proved "$1" && is_texts "$1" "$2" ;;
	*) is_texts "$1" "$2" && proved "$1" ;;
	esac 2>&1
}
check() { # check NAME: the certificate at $tmp/c
	both_say certificate "schedules/$1.ccs"
}
# Adds 1 to the constant of the k-th value of a part, over and over; prints what was spoiled.
spoil() { # spoil PART KEY K
	python3 -S - "$tmp/whole" "$tmp/c" "$@" <<'END'
import json, sys
whole, to, part, key, k = sys.argv[1:]
c = json.load(open(whole))
def values(x):
    if isinstance(x, dict):
        for name, v in x.items():
            if name == key:
                for p in v:
                    for s in p["to"]:
                        yield s
            yield from values(v)
    elif isinstance(x, list):
        for v in x:
            yield from values(v)
found = list(values(c[part]))
found[int(k) % len(found)][0] += 1
json.dump(c, open(to, "w"))
END
}
all_hold() { # all_hold CHECK NAME ...
	by=$1
	shift
	for s in "$@"; do
		"$ccc" check --certificate "$tmp/c" "schedules/$s.ccs" >"$tmp/out" 2>&1
		if $by "$s" >"$tmp/said"; then
			ok "$s: its certificate holds"
		else
			not_ok "$s: its certificate holds" "$(cat "$tmp/out" "$tmp/said")"
		fi
	done
}
# shellcheck disable=SC2086
all_hold check $subjects

# Texts in which ranks do different things.
for s in star ring_in_turn lower_first two_chains ring_from_root; do
	text=tests/check/good/hand_$s.ccs
	"$ccc" check --certificate "$tmp/whole" "$text" >/dev/null
	cp "$tmp/whole" "$tmp/c"
	status "$s: its certificate holds" 0 both_say certificate "$text"
	holds "... and has levels" grep -q '"levels"' "$tmp/c"
done

s=ring_allgather
"$ccc" check --certificate "$tmp/whole" schedules/$s.ccs >/dev/null
for what in "holds n 0" "holds first 0" "holds chunk 0" "pairs to_recv 0" \
		"sources pieces 5" "operations peer 0" "operations first 1"; do
	# shellcheck disable=SC2086
	spoil $what
	if check $s >"$tmp/said"; then
		not_ok "spoiled: $what" "it is taken for right"
	else
		says "spoiled: $what" "$tmp/said" '^not proved: '
	fi
done

# Forged by hand: a right certificate so changed that less is left to prove, and texts that are
# wrong for some N, root or contract with the certificates of the right ones.
forge() { # forge NAME 'statements on the certificate c' [TEXT]
	"$ccc" check --certificate "$tmp/whole" "schedules/$1.ccs" >/dev/null
	python3 -S -c "import json, sys
c = json.load(open(sys.argv[1]))
ops = c['operations']
$2
json.dump(c, open(sys.argv[2], 'w'))" "$tmp/whole" "$tmp/c"
	what="forged: $1: $(printf '%s\n' "$2" | head -n 1)"
	if both_say certificate "${3:-schedules/$1.ccs}" >"$tmp/said"; then
		not_ok "$what" "it is taken for right"
	else
		says "$what" "$tmp/said" '^not proved: '
	fi
}
wrong_text() { # wrong_text NAME SED
	sed "$2" "schedules/$1.ccs" >"$tmp/other.ccs"
	if cmp -s "schedules/$1.ccs" "$tmp/other.ccs"; then
		not_ok "$1: another text: $2" "it is the same one"
	fi
	forge "$1" "# $2" "$tmp/other.ccs"
}
forge ring_allgather "c['possible'][0]['if'].append(['>=', [9, -1, 0] + [0] * c['numbers']])"
forge ring_allreduce "for o in ops: o['place'][0]['block'] = True"
star=../tests/check/good/hand_star
forge $star "c['levels'][0]['of'][0]['end'][0]['to'][0][0] -= 9"
forge $star "c['levels'][0]['of'][1]['start'][0]['to'][0][0] -= 9"
forge $star "for x in c['levels'][0]['of']: x['start'] = x['end'] = c['levels'][0]['of'][0]['end']"
forge $star "del c['levels'][0]['of'][2]"
wrong_text ring_allgather 's/0\.\.N-1/0..(N == 7 ? N - 2 : N - 1)/'
wrong_text chain_reduce 's/implements reduce(\(.*\); root = R/implements allreduce(\1/'
wrong_text chain_broadcast 's/root = R/root = 0/'
if [ "${2:-}" = --long ]; then
	forge ring_allgather "# nothing is left of N > 9
def cut(x):
    for v in x.values() if isinstance(x, dict) else x if isinstance(x, list) else (): cut(v)
    if isinstance(x, dict) and 'if' in x: x['if'].append(['>=', [9, -1, 0] + [0] * c['numbers']])
cut(c)"
	forge ring_allgather "del c['pairs'][0]['to_recv'][0]['to']"
	forge ring_allgather "c['buffers'].reverse()"
	forge chain_broadcast "c['contract'] = 'reduce'"
	forge chain_reduce "# the other way round
for x in c['levels'][0]['of']:
    for y in x['start'] + x['end']: y['to'][0][3] *= -1"
	forge direct_allgather "for o in ops: o['place'].sort(key=lambda e: e['kind'] != 'wave')"
	forge direct_allgather "for o in ops: o['place'][-1]['concurrent'] = False"
	wrong_text direct_scatter 's/recv b from R/recv b from (R == 1 ? 0 : R)/'
	wrong_text ring_allgather 's/^  copy a .*/&\n  channel 1 { if rank == 0 { recv b[0] from 1 } }/'
fi
# All ranks receive before they send: that is deadlock, if sends are not said to come first.
cat >"$tmp/dead.ccs" <<'END'
schedule direct_allgather
  implements allgather(in a[1], out b[N])
{
  for s in 1..N { recv b[(rank - s) % N] from (rank - s) % N }
  for s in 1..N { send a to (rank + s) % N }
  copy a into b[rank]
}
END
forge direct_allgather "# a deadlock
def entry(kind, value): return {'kind': kind, 'value': value, 'concurrent': False, 'block': False}
for o in ops:
    o['line'], at = {'send': (5, 1), 'recv': (4, 0), 'copy': (6, 2)}[o['kind']]
    o['place'] = [entry('wave', 0), entry('at', at), entry('trip', 1), entry('at', 0)][:4 if at < 2 else 2]" "$tmp/dead.ccs"

# Proofs with powers of two are automata: one whose state is another's, or that accepts more.
powers_check() { # powers_check NAME: the certificate at $tmp/c
	both_say certificate_powers "schedules/$1.ccs"
}
# shellcheck disable=SC2086
all_hold powers_check $powers ../tests/check/good/hand_fold

s=halving_doubling_allreduce
"$ccc" check --certificate "$tmp/whole" schedules/$s.ccs >/dev/null
spoil_powers() { # spoil_powers 'statements on the certificate c'
	python3 -S -c "import json, sys
c = json.load(open(sys.argv[1]))
up = c['moves'][:2][-1]
$1
json.dump(c, open(sys.argv[2], 'w'))" "$tmp/whole" "$tmp/c"
	if powers_check $s >"$tmp/said"; then
		not_ok "spoiled: $1" "it is taken for right"
	else
		says "spoiled: $1" "$tmp/said" '^not proved: '
	fi
}
spoil_powers "up['body'].pop()"
spoil_powers "up['body'].reverse()"
spoil_powers "up['body'][1]['op'] = 'reduce'"
spoil_powers "up['up'] = False"
spoil_powers "up['last'] = up['first']"
spoil_powers "up['holds'][0] = c['moves'][0]['holds'][0]"
spoil_powers "up['body'][0]['messages'] = up['body'][1]['messages']"
spoil_powers "c['moves'].reverse()"
spoil_powers "c['contract'] = 'broadcast'"
spoil_powers "c['possible']['accepts'] = []"
spoil_powers "c['buffers'][0]['writable'] = False"
spoil_powers "c['buffers'][0]['reversed'] = True"
spoil_powers "up['holds'][0]['accepts'].append(0)"
spoil_powers "del up['holds']"
# A mask of 32 bits is right for so many ranks only: the claim and its certificate both say so.
s=bine_broadcast
sed 's/downward()/0xaaaaaaaa/g; /^fn 0x/d' schedules/$s.ccs >"$tmp/other.ccs"
status "a claim with a bound" 0 "$ccc" check --certificate "$tmp/c" "$tmp/other.ccs"
says "... says it" "$tmp/out" 'proved for every N from 2 to 65536 that'
status "... and its certificate is good" 0 both_say certificate_powers "$tmp/other.ccs"
says "... with the same bound" "$tmp/out" 'broadcast for every N that is a power of two, up to 65536$'
s=binary_tree_allreduce
"$ccc" check --certificate "$tmp/whole" schedules/$s.ccs >/dev/null
spoil_powers "up['holds'][0] = c['moves'][0]['holds'][0]"
spoil_powers "up['body'][-1]['messages'] = up['body'][-2]['messages']"

# Grids: each call and step, and the callees' own certificates.
grids="hierarchical_all_to_all"
[ "${2:-}" != --long ] || grids="$grids hierarchical_allreduce hierarchical_broadcast \
	ring2d_allreduce torus3_allreduce"
grid_check() { # grid_check NAME [FILE]: the certificate at $tmp/c
	both_say certificate_grid "${2:-schedules/$1.ccs}"
}
refused() { # refused WHAT NAME [FILE]
	what=$1
	shift
	if grid_check "$@" >"$tmp/said"; then
		not_ok "$what" "it is taken for right"
	else
		says "$what" "$tmp/said" '^not proved: '
	fi
}
# shellcheck disable=SC2086
all_hold grid_check $grids ../tests/check/good/hand_two_levels ../tests/check/good/hand_grid_rings
# A number of a sum, or an entry less, at random; prints where.
spoil_grid() { # spoil_grid SEED: of $tmp/whole
	python3 -S - "$tmp/whole" "$tmp/c" "$1" <<'END'
import json, random, sys
c = json.load(open(sys.argv[1]))
random.seed(int(sys.argv[3]))
sums, lists = [], []
def look(x, path):
    for k, v in x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ():
        if k == "to" and v: sums.append((random.choice(v), path))
        if k in ("holds", "at", "operations", "moves", "free", "digits") and v: lists.append((v, path + "." + k))
        look(v, path + ".%s" % k)
look(c, "")
what, path = random.choice(random.choice((sums, lists)))
if isinstance(what[0], int) and len(what) > 2: what[0] += random.choice((-1, 1))
else: del what[random.randrange(len(what))]
json.dump(c, open(sys.argv[2], "w"))
print(path)
END
}
seeds="1 2 3 4 5"
[ "${2:-}" != --long ] || seeds=$(seq 60)
for s in $grids; do
	"$ccc" check --certificate "$tmp/whole" "schedules/$s.ccs" >/dev/null
	for seed in $seeds; do
		spoiled=$(spoil_grid "$seed")
		refused "$s: spoiled at $spoiled" "$s"
	done
	seeds="1 2 3 4 5 6"
done
# A certificate is for its own text.
s=hierarchical_all_to_all
"$ccc" check --certificate "$tmp/c" schedules/$s.ccs >/dev/null
for other in 's/let src = (local - s) % G/let src = (local - s - 1) % G/' \
		's/send t\[dst \* G/send t[src * G/' 's/copy a/copy b/' 's/1\.\.G/2..G/' \
		's/where N % G == 0/where N % G == 0 \&\& N > 4/'; do
	sed "$other" schedules/$s.ccs >"$tmp/other.ccs"
	refused "another text: $other" $s "$tmp/other.ccs"
done
"$ccc" check --certificate "$tmp/whole" schedules/$s.ccs >/dev/null
sed "s/\"together\":true/\"together\":false/" "$tmp/whole" >"$tmp/c"
refused "forged: what is together is one after another" $s
sed "s/\"contract\":\"all_to_all\"/\"contract\":\"allreduce\"/" "$tmp/whole" >"$tmp/c"
refused "forged: another contract" $s
s=direct_scatter
"$ccc" check --certificate "$tmp/c" schedules/$s.ccs >/dev/null
# The two look at the same parts of a certificate: each knows one kind.
for kind in certificate_powers certificate_grid; do
	status "a certificate for another program" 1 is_texts $kind schedules/$s.ccs
	says "... is refused" "$tmp/err" '^not proved: a certificate of kind'
	status "... that proves" 1 proved $kind
	says "... is refused too" "$tmp/err" '^not proved: a certificate of kind'
done
sed 's/send a\[[a-z]*/&*0/' schedules/$s.ccs >"$tmp/other.ccs"
if both_say certificate "$tmp/other.ccs" >"$tmp/said"; then
	not_ok "other chunks on the same lines" "it is taken for right"
else
	says "other chunks on the same lines" "$tmp/said" '^not proved: the operations'
fi

if [ "${2:-}" = --long ]; then
	s=double_binary_tree_allreduce
	"$ccc" check --certificate "$tmp/whole" schedules/$s.ccs >/dev/null
	spoil_powers "c['moves'][0]['body'][0]['block'] = 2"
	spoil_powers "c['moves'][-1]['holds'][0] = c['moves'][-2]['holds'][0]"
	spoil_powers "c['moves'][1]['body'].pop()"
fi
s=dissemination_barrier
"$ccc" check --certificate "$tmp/whole" schedules/$s.ccs >/dev/null
spoil_powers "c['moves'][0]['body'][0]['joins'] = False"
spoil_powers "c['moves'][0]['trips'] = c['moves'][0]['first']"
spoil_powers "c['moves'][0]['holds'][0]['accepts'].append(0)"

# Where `where` admits a few N only, these are tried once more.
tried_check() { # tried_check NAME [FILE]: the certificate at $tmp/c
	python3 -S tests/check/certificate_tried.py "$tmp/c" "$ccc" "${2:-schedules/$1.ccs}" 2>&1
}
s=table_ring_allreduce
all_hold tried_check $s
altered() { # altered HOW: the table's text, and the ring's that it calls
	sed "$1" schedules/ring_allreduce.ccs >"$tmp/ring_allreduce.ccs"
	sed "$1" schedules/$s.ccs >"$tmp/other.ccs"
	tried_check $s "$tmp/other.ccs" >"$tmp/said"
}
holds "another order is as good" altered 's/\[0, 3, 2, 1, 5, 6, 7, 4\]/[0, 4, 7, 6, 5, 1, 2, 3]/'
for other in 's/where N == len(order)//;s/where N == 8//' 's/7, 4\]/7]/;s/N == 8/N == 7/' \
		's/reduce data\[(rank - s - 1)/reduce data[(rank - s - 2)/' 's/recv data/reduce data/' \
		's/for s in 0\.\.N-1/for s in 1..N-1/'; do
	if altered "$other"; then
		not_ok "another text: $other" "it is taken for right"
	else
		says "another text: $other" "$tmp/said" '^not proved: '
	fi
done
sed 's/"allreduce"/"reduce_scatter"/' "$tmp/c" >"$tmp/d" && mv "$tmp/d" "$tmp/c"
if tried_check $s >"$tmp/said"; then
	not_ok "another contract" "it is taken for right"
else
	says "another contract" "$tmp/said" '^not proved: '
fi

status "no proof, no certificate" 1 "$ccc" check --certificate "$tmp/none" \
	schedules/pat_allgather.ccs
says "... and why" "$tmp/err" 'there is no certificate: .* both depend on N'
status "a proof that has none" 1 "$ccc" check --certificate "$tmp/none" schedules/halo_exchange.ccs
says "... and why" "$tmp/err" 'there is no certificate: a certificate cannot express'
s=halving_doubling_allreduce
holds "... and no file" test ! -e "$tmp/none"
status "single N have no certificate" 1 "$ccc" check -n 4 --certificate "$tmp/none" schedules/$s.ccs
says "... and the cure" "$tmp/err" 'leave it out'

# Each checker is short enough to be read, with all modules of its own.
for p in $(grep -l '^checked(' tests/check/certificate*.py); do
	lines=$(python3 -S - "$p" <<'END'
import modulefinder, sys
found = modulefinder.ModuleFinder(path=["tests/check"])
found.run_script(sys.argv[1])
print(sum(len(open(m.__file__).readlines()) for m in found.modules.values() if m.__file__))
END
	)
	holds "$(basename "$p"): $lines lines with its modules, of at most 300" test "$lines" -le 300
done

# Where none can come of it, it is not ignored.
status "--certificate beside -o" 2 "$ccc" --certificate "$tmp/none" schedules/$s.ccs -o "$tmp/so"
says "... belongs elsewhere" "$tmp/err" '--certificate belongs to ccc check'
echo 'proc p(d[N]) { copy d[0] into d[0] }' >"$tmp/procs.ccs"
status "a file without schedules" 2 "$ccc" check --certificate "$tmp/none" "$tmp/procs.ccs"
says "... is told" "$tmp/err" 'has no schedule to prove for every N'
echo '<algo/>' >"$tmp/a.xml"
status "MSCCL XML" 2 "$ccc" check --certificate "$tmp/none" "$tmp/a.xml"
says "... is for one N" "$tmp/err" 'for one N'
holds "... and no file" test ! -e "$tmp/none"
exit $failed
