"""Checks that a certificate of `ccc check --certificate` is a text's: its contract, root, buffers and operations.

usage: certificate_text.py CERTIFICATE CCC [ccc's arguments, the schedule last], or CERTIFICATE --parts N ...

The operations are compared with `ccc --emit=program` for each N up to one above all numbers that
the text names. That they keep the contract for every N is certificate.py's to say: both must say ok.
With --parts a callee's operations are printed for these N, for certificate_grid_text.py to compare.
"""
import itertools, json
from certificate_form import *
from certificate_program import *
def made_operations(c, n, root=0):
    """Of each rank, and block: steps of (line, kind, peer, (buffer, first, end) ...), by their places."""
    made = {}
    for o in c["operations"]:
        dims, kinds = [0] + [e["value"] for e in o["place"] if e["kind"] == "trip"], [e["kind"] for e in o["place"]]
        for trips in itertools.product(range(n), *[range(max(n, 9))] * (len(dims) - 1)):
            p = [1, n, root] + [dict(zip(dims, trips)).get(i, 0) for i in range(c["numbers"])]
            if value_at(o["points"], p) is None: continue
            place = [p[3 + e["value"]] if e["kind"] == "trip" else e["value"] * (e["kind"] == "at") for e in o["place"]]
            peer, channel = (value_at(o[x], p)[0] if x in o else None for x in ("peer", "channel"))
            say(not channel, "channel 0 for line %d" % o["line"])
            chunks = [(o[x]["buffer"], value_at(o[x]["first"], p)[0], value_at(o[x]["n"], p)[0]) for x in "xy" if x in o]
            there = (trips[0], *[place[i] for i, e in enumerate(o["place"]) if e["block"]])
            made.setdefault(there, []).append((place, place[:kinds.index("wave")], (o["line"], o["kind"].split()[0], peer) + tuple((b, x, x + m) for b, x, m in chunks)))
    return {r: [[x[2] for x in g] for _, g in itertools.groupby(sorted(v, key=lambda x: x[0]), lambda x: x[1])] for r, v in made.items()}
def compare(c, ccc, arguments, n, root):
    """Of each rank, or of each block where a par is all of the text, in order. Scratch buffers lie one after another."""
    real, sizes = program(ccc, ["-n", str(n)] + (["-D%s=%d" % (c["root"], root)] if c["root"] else []) + arguments, c["schedule"])
    say(real is not None and len({len(r) for r in real}) < 2, "that N = %d is possible, and a par all of the text" % n)
    counts = [value_at(b["chunks"], [1, n])[0] for b in c["buffers"]]
    say([(b["name"], k) for b, k in zip(c["buffers"], counts)][:len(sizes)] == list(sizes.items()), "sizes for N = %d" % n)
    promised(c, arguments, list(sizes))
    names = [(x, 0) for x in sizes] + [("scratch", sum(counts[len(sizes):i])) for i in range(len(sizes), len(counts))]
    name = lambda x: x[:3] + tuple((names[b][0], names[b][1] + lo, names[b][1] + hi) for b, lo, hi in x[3:])
    say({r: [[name(x) for x in g] for g in v] for r, v in made_operations(c, n, root).items()} == real, "the operations of N = %d" % n)
def main(c, arguments):
    if arguments[0] == "--parts": return print(json.dumps({n: {r: v for (r,), v in made_operations(c, int(n)).items()} for n in arguments[1:]}))
    ccc, *arguments = arguments
    most = beyond(arguments, 5)
    for n in range(2, most + 1):
        for root in sorted({0, 1, n // 2, n - 1}) if c["root"] else [0]: compare(c, ccc, arguments, n, root)
    print("ok - %s: it is the text's, which is read for N up to %d" % (c["schedule"], most))
checked(main, 1)
