"""Compares a certificate of `ccc check --certificate` that has powers of two with a text: its contract, root, buffers and operations.

usage: certificate_powers_text.py CERTIFICATE [--up-to N] CCC [ccc's arguments, the schedule last], or CERTIFICATE --parts N ...

The operations are compared with `ccc --emit=program` for each N up to 64 (with roots 32), or as said,
and each root; nothing is claimed of the text beyond. That they keep the contract for every N is
certificate_powers.py's to say: both must say ok. With --parts a callee's operations are printed for
these N, for certificate_grid_text.py.
"""
import functools, json
from certificate_automata import *
from certificate_form import *
from certificate_program import *
def real_operations(real):
    """Of each rank: sets of operations that start together, whose chunks are pairs."""
    pairs = lambda peer, x, y=None: list(zip(x, x if y is None else y))
    return {r: [g for g in ([(*o[:3], pairs(*o[2:])) for o in s if o[2] is not None or o[3]] for s in v) if g] for r, v in real.items()}
def made_operations(c, n, root=0):
    """The same, of the certificate's moves, done one after another."""
    made, sent = {}, {} # sent: in which order chunks are on their way
    chunks = [both(read(b["chunks"]), read(c["possible"])) for b in c["buffers"]]
    @functools.cache
    def size(b, d): return max((x["chunk"] + 1 for x in tuples(chunks[b], N=n, root=root, D=d)), default=0)
    def number(b, i, d): # where the bits of a chunk's name are its number's, reversed
        return int(format(i, "0%db" % (size(b, d).bit_length() - 1))[::-1], 2) if c["buffers"][b]["reversed"] else i
    def cell(b, i, d): # scratch buffers lie one after another
        return (c["buffers"][b]["name"], number(b, i, d)) if b < c["given"] else ("scratch", sum(size(x, d) for x in range(c["given"], b)) + number(b, i, d))
    def run(moves, d):
        last = {}
        for m in moves:
            if m["op"] == "loop":
                trips = sorted(x["D"] for x in tuples(read(m["trips"]), N=n, root=root))
                for x in trips if m["up"] else reversed(trips): run(m["body"], x)
                continue
            sets, offsets, target = {}, {}, m["source"] if m["op"] == "send" else m["buffer"]
            order = (lambda x: number(target, x["chunk"], d)) if c["buffers"][target]["reversed"] else (lambda x: x.get("offset", 0))
            for x in sorted(tuples(read(m["cells" if "cells" in m else "messages"]), N=n, root=root, D=d), key=order):
                y = cell(target, x["chunk"], d)
                offsets.setdefault((x["rank"], x.get("from")), []).append(x.get("offset"))
                moved = sets.setdefault((x["rank"], x.get("from")), [])
                if not m["joins"]: moved.append((cell(m["source"], x["source"], d) if "cells" in m else y, y))
            for (r, peer), v in offsets.items():
                if m["op"] == "send": sent[m["slot"], r, peer] = v
                elif "messages" in m: say(sent.pop((m["slot"], peer, r), None) == v, "one order of chunks of line %d" % m["line"])
            for (r, peer), v in sets.items():
                rank = (r, m["block"] - 1) if m["block"] else (r,)
                if not m["step"] or last.get(rank) != m["step"]: made.setdefault(rank, []).append([])
                last[rank] = m["step"]
                made[rank][-1].append((m["line"], "recv" if m["joins"] and m["op"] == "reduce" else m["op"].split()[0], peer, v))
    run(c["moves"], 0)
    return made, {b["name"]: size(i, 0) for i, b in enumerate(c["buffers"][:c["given"]])}
def in_groups(v):
    """Copies of one line, one after another, are as one."""
    out = []
    for group in v:
        if len(group) == 1 and group[0][2] is None and out and len(out[-1]) == 1 and out[-1][0][:3] == group[0][:3]: out[-1] = [(*group[0][:3], sorted(out[-1][0][3] + group[0][3], key=str))]
        else: out.append(sorted(((*x[:3], x[3] if x[2] is not None else sorted(x[3], key=str)) for x in group), key=str))
    return out
def each(c, ccc, arguments, n):
    admitted = bool(tuples(both(read(c["possible"])), N=n, root=0))
    texts = programs(ccc, arguments, c, n, chunks)
    say(sorted(texts) == list(range(n if c["root"] else 1) if admitted else []), "whether N = %d is possible, with each root" % n)
    for root, (real, sizes) in texts.items():
        made, extents = made_operations(c, n, root)
        say(list(extents.items()) == list(sizes.items()), "sizes for N = %d" % n)
        say({r: in_groups(v) for r, v in made.items()} == {r: in_groups(v) for r, v in real_operations(real).items()}, "the operations of N = %d" % n)
def parts(c, sizes):
    """The operations of a callee on one buffer: of each N, and root, the steps of each rank."""
    def part(line, kind, peer, moved):
        lo, hi = moved[0][1][1], moved[-1][1][1] + 1
        say([y for _, (_, y) in moved] == list(range(lo, hi)), "chunks in a row in line %d" % line)
        return line, kind, peer, (0, lo, hi)
    plain = lambda v: [[part(*x) for x in group] for group in v]
    made = {n: {root: {r: plain(v) for (r,), v in made_operations(c, n, root)[0].items()} for root in range(n)} for n in sizes}
    return made if c["root"] else {n: v[0] for n, v in made.items()}
def main(c, arguments):
    if arguments[0] == "--parts": print(json.dumps(parts(c, map(int, arguments[1:]))))
    else: compare(c, arguments, 32 if c["root"] else 64, each)
checked(main, 2)
