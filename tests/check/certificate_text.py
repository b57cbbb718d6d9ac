"""Compares a certificate of `ccc check --certificate` with a text: its contract, root, buffers and operations.

usage: certificate_text.py CERTIFICATE [--up-to N] CCC [ccc's arguments, the schedule last], or CERTIFICATE --parts N ...

The operations are compared with `ccc --emit=program` for each N up to 64 (with roots 32), or as said,
and each root; nothing is claimed of the text beyond. That they keep the contract for every N is certificate.py's to
say: both must say ok. With --parts a callee's are printed for these N, for certificate_grid_text.py.
"""
import itertools, json, operator
from certificate_form import *
from certificate_program import *
from certificate_sums import trips_end
def between(conditions, p, i, end):
    """The numbers below `end` for the i-th of p with which all conditions hold: from, to."""
    lo, hi = 0, end
    for kind, s in conditions:
        rest = sum(map(operator.mul, s, p)) - s[i] * p[i]
        for k, c in [(s[i], rest), (-s[i], -rest)][:1 + (kind == "=")]: # k * number + c >= 0
            lo, hi = max(lo, -(c // k)) if k > 0 else lo, min(hi, c // -k + 1) if k < 0 else hi if k or c >= 0 else 0
    return lo, hi
def points(o, d, n, root):
    """Where an operation is: [1, N, root, rank, trips ..., 0], each once."""
    dims, end, found = [3] + [3 + e["value"] for e in o["place"] if e["kind"] == "trip"], trips_end(o, d, n), {}
    for x, outer in itertools.product(o["points"], itertools.product(*[range(n if i == 3 else end) for i in dims[:-1]])):
        p = dict(zip(dims, outer))
        p = [1, n, root] + [p.get(i, 0) for i in range(3, 3 + d)]
        for k in range(*between(x["if"], p, dims[-1], end if dims[1:] else n)): found[(*p[:dims[-1]], k, *p[dims[-1] + 1:])] = 1
    return found
def made_operations(c, n, root=0):
    """Of each rank, and block: steps of (line, kind, peer, (buffer, first, end) ...), by their places."""
    made = {}
    for o in c["operations"]:
        kinds = [e["kind"] for e in o["place"]]
        for p in points(o, c["numbers"], n, root):
            place = [p[3 + e["value"]] if e["kind"] == "trip" else e["value"] * (e["kind"] == "at") for e in o["place"]]
            peer, channel = (value_at(o[x], p)[0] if x in o else None for x in ("peer", "channel"))
            say(not channel, "channel 0 for line %d" % o["line"])
            chunks = [(o[x]["buffer"], value_at(o[x]["first"], p)[0], value_at(o[x]["n"], p)[0]) for x in "xy" if x in o]
            there = (p[3], *[place[i] for i, e in enumerate(o["place"]) if e["block"]])
            made.setdefault(there, []).append((place, place[:kinds.index("wave")], (o["line"], o["kind"].split()[0], peer) + tuple((b, x, x + m) for b, x, m in chunks)))
    return {r: [[x[2] for x in g] for _, g in itertools.groupby(sorted(v, key=lambda x: x[0]), lambda x: x[1])] for r, v in made.items()}
def each(c, ccc, arguments, n):
    """Of each rank, or of each block where a par is all of the text, in order. Scratch buffers lie one after another."""
    texts = programs(ccc, arguments, c, n)
    say(sorted(texts) == list(range(n) if c["root"] else [0]), "that N = %d is possible, with each root" % n)
    for root, (real, sizes) in texts.items():
        say(len({len(r) for r in real}) < 2, "a par all of the text")
        counts = [value_at(b["chunks"], [1, n])[0] for b in c["buffers"]]
        say([(b["name"], k) for b, k in zip(c["buffers"], counts)][:len(sizes)] == list(sizes.items()), "sizes for N = %d" % n)
        names = [(x, 0) for x in sizes] + [("scratch", sum(counts[len(sizes):i])) for i in range(len(sizes), len(counts))]
        name = lambda x: x[:3] + tuple((names[b][0], names[b][1] + lo, names[b][1] + hi) for b, lo, hi in x[3:])
        made = {r: [[name(x) for x in g] for g in v] for r, v in made_operations(c, n, root).items()}
        say(made == real, "the operations of N = %d" % n)
def main(c, arguments):
    if arguments[0] == "--parts": print(json.dumps({n: {r: v for (r,), v in made_operations(c, int(n)).items()} for n in arguments[1:]}))
    else: compare(c, arguments, 32 if c["root"] else 64, each)
checked(main, 1)
