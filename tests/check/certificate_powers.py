"""Checks a certificate of `ccc check --certificate` for every N that has powers of two.

usage: certificate_powers.py CERTIFICATE CCC [ccc's arguments, the schedule last], or CERTIFICATE --parts N ...

Relations of natural numbers are automata that read their bits, the lowest first; here they are
partial (what has no way on is not accepted), and least ones are compared. The operations are
compared with `ccc --emit=program` for some N; all else is proved for all N. With --parts it is that
of a callee; its operations are printed for these N, for certificate_grid.py to compare.
"""
import functools, itertools, json, re, sys
from certificate_program import *
ORDER = ["N", "D", "root", "rank", "j", "chunk", "from", "source", "q", "index", "offset", "value", "other"]
def place(letter, own, tracks):
    """The bits of a letter of some tracks where they stand in a letter of more."""
    return sum((letter >> i & 1) << tracks.index(t) for i, t in enumerate(own) if t in tracks)
class Automaton:
    """tracks, for each state {letter: state}, states that accept; made least."""
    def __init__(self, tracks, next, accepts):
        live, more = set(accepts), True
        while more: live |= (more := {s for s, row in enumerate(next) if s not in live and not live.isdisjoint(row.values())})
        kind = {s: int(s in accepts) for s in live}
        while True:
            rows = {s: (kind[s], tuple(sorted((l, kind[t]) for l, t in next[s].items() if t in live))) for s in live}
            names = {row: i for i, row in enumerate(set(rows.values()))}
            done, kind = len(names) == len(set(kind.values())), {s: names[rows[s]] for s in live}
            if done: break
        number = {k: i for i, k in enumerate(sorted(set(kind.values()), key=lambda k: k != kind.get(0)))}
        self.tracks, self.accepts = list(tracks), {number[kind[s]] for s in live if s in accepts and 0 in live}
        self.next = [{}] * max(len(number), 1) if 0 in live else [{}]
        for s in live if 0 in live else ():
            self.next[number[kind[s]]] = {l: number[kind[t]] for l, t in next[s].items() if t in live}
def read(j):
    a = Automaton(j["tracks"], [{int(l): t for l, t in row.items()} for row in j["next"]], set(j["accepts"]))
    say(a.tracks == ordered(a.tracks) and all((s in a.accepts) == (row.get(0) in a.accepts) for s, row in enumerate(a.next)), "tracks in order, zeros at the end")
    return a
def ordered(tracks): return [t for t in ORDER if t in tracks]
def wide(a, tracks):
    """The same set with more tracks, whose numbers may be anything."""
    more, tracks = [t for t in tracks if t not in a.tracks], ordered([*tracks, *a.tracks])
    free = [place(x, more, tracks) for x in range(1 << len(more))]
    return Automaton(tracks, [{place(l, a.tracks, tracks) | f: t for l, t in row.items() for f in free} for row in a.next], a.accepts)
def walk(tracks, start, step, good):
    """The automaton of states that are anything: step(state) -> {letter: state}."""
    number, queue, next = {start: 0}, [start], []
    for s in queue:
        next.append({})
        for l, t in step(s).items():
            if t not in number: queue.append(t)
            next[-1][l] = number.setdefault(t, len(queue) - 1)
    return Automaton(tracks, next, {i for i, s in enumerate(queue) if good(s)})
def both(*all): return functools.reduce(both2, all)
def both2(a, b):
    tracks, shared = ordered(set(a.tracks) | set(b.tracks)), ordered(set(a.tracks) & set(b.tracks))
    la, lb = ({l: (place(l, x.tracks, shared), place(l, x.tracks, tracks)) for row in x.next for l in row} for x in (a, b))
    groups = [{} for row in b.next]
    for g, row in zip(groups, b.next):
        for l, t in row.items(): g.setdefault(lb[l][0], []).append((lb[l][1], t))
    def step(s):
        return {la[l][1] | m: (t, u) for l, t in a.next[s[0]].items() for m, u in groups[s[1]].get(la[l][0], [])}
    return walk(tracks, (0, 0), step, lambda s: s[0] in a.accepts and s[1] in b.accepts)
def merge(a, b, good):
    a, b = wide(a, b.tracks), wide(b, a.tracks)
    def step(s):
        x, y = (a.next[s[0]] if s[0] is not None else {}), (b.next[s[1]] if s[1] is not None else {})
        return {l: (x.get(l), y.get(l)) for l in set(x) | set(y)}
    return walk(a.tracks, (0, 0), step, lambda s: good(s[0] in a.accepts, s[1] in b.accepts))
def either(a, b): return merge(a, b, lambda x, y: x or y)
def without(a, b): return merge(a, b, lambda x, y: x and not y)
def empty(a): return not a.accepts
def within(a, b): return empty(without(a, b))
def same(a, b): return within(a, b) and within(b, a)
def some(a, *gone):
    """There are such numbers on the tracks `gone`."""
    keep = [t for t in a.tracks if t not in gone]
    short = {l: place(l, a.tracks, keep) for row in a.next for l in row}
    ends, more = set(a.accepts), True
    while more:
        more = {s for s, row in enumerate(a.next) if s not in ends and any(t in ends and not short[l] for l, t in row.items())}
        ends |= more
    def step(states):
        row = {}
        for s in states:
            for l, t in a.next[s].items(): row.setdefault(short[l], set()).add(t)
        return {l: frozenset(t) for l, t in row.items()}
    return walk(keep, frozenset([0]), step, lambda states: bool(states & ends))
def named(a, **to):
    """Tracks by other names."""
    names = [to.get(t, t) for t in a.tracks]
    return Automaton(ordered(names), [{place(l, names, ordered(names)): t for l, t in row.items()} for row in a.next], a.accepts)
def total(constant, equal, **factor):
    """Where a sum of tracks and a constant is 0, or at least 0."""
    tracks = ordered(factor)
    value = {l: sum(factor[t] * (l >> i & 1) for i, t in enumerate(tracks)) for l in range(1 << len(tracks))}
    def step(rest): return {l: (rest + v) // 2 for l, v in value.items() if not (equal and (rest + v) % 2)}
    return walk(tracks, constant, step, lambda rest: rest == 0 if equal else rest >= 0)
def equals(a, b, k=0): return total(k, True, **{a: 1, b: -1})
def less(a, b): return total(-1, False, **{b: 1, a: -1})
def tuples(a, bits, **fixed):
    """The tuples of numbers below 2^bits, where some are given."""
    def go(s, at, number):
        if at == bits: return [number] if s in a.accepts else []
        ways = [(t, {name: l >> i & 1 for i, name in enumerate(a.tracks)}) for l, t in a.next[s].items()]
        return [x for t, bit in ways if all(bit.get(k, v >> at & 1) == v >> at & 1 for k, v in fixed.items())
                for x in go(t, at + 1, {k: number.get(k, 0) | b << at for k, b in bit.items()})]
    return go(0, 0, {}) if all(v >> bits == 0 for v in fixed.values()) else []
class Proof:
    def __init__(self, c):
        self.c, self.possible = c, read(c["possible"])
        self.buffers = [read(b["chunks"]) for b in c["buffers"]]
        self.given = [b["given"] for b in c["buffers"]]
        say(within(self.possible, less("rank", "N")) and all(not g for g in self.given[1:]), "what is possible")
        self.ranks = some(self.possible, "rank")
        say(same(self.possible, both(self.ranks, less("rank", "N"))), "all ranks or none")
        every = both(total(-2, False, N=1), less("root", "N")) if c["root"] else total(-2, False, N=1)
        few = both(every, total(1 << 16, False, N=-1))
        bounds = [bound for bound in (every, few) if any(same(both(self.ranks, bound), both(x, bound)) for x in (every, Automaton(["N"], [{0: 0, 1: 1}, {0: 1}], {1})))]
        say(bounds, "every N, or every power of two, up to the most that ccc takes")
        self.most = "" if bounds[0] is every else " up to 65536"
    def one(self, a, track, *keys):
        """No two values of a track where the keys agree."""
        a = some(a, *[t for t in a.tracks if t != track and t not in keys])
        twice = both(a, named(a, **{track: "other"}))
        return empty(both(twice, either(less(track, "other"), less("other", track))))
    def inside(self, a, track, buffer):
        return within(a, self.possible) and within(a, named(self.buffers[buffer], chunk=track))
    def message(self, m):
        a, key = read(m["messages"]), ["N", "D", "root", "rank"]
        say(self.inside(a, "chunk", m["buffer"]), "chunks of line %d" % m["line"])
        say(within(a, less("from", "N")) and empty(both(a, equals("from", "rank"))), "peers of line %d" % m["line"])
        say(self.one(a, "from", *key) and self.one(a, "chunk", *key, "offset") and self.one(a, "offset", *key, "chunk"), "one message of line %d" % m["line"])
        return a
    def send(self, m, state):
        a = self.message(m)
        pairs = some(a, "offset", "chunk")
        for b, block in state["sent"].values():
            say(block != m["block"] or empty(both(pairs, some(b, "offset", "chunk"))), "a free FIFO for line %d" % m["line"])
        state["sent"][m["slot"]], state["kept"][m["slot"]] = (a, m["block"]), state["holds"][m["source"]]
    def receive(self, m, state):
        a, (sent, block) = self.message(m), state["sent"].pop(m["slot"], (None, None))
        say(block == m["block"], "a message for line %d" % m["line"])
        sent = named(sent, rank="from", **{"from": "rank", "chunk": "source"})
        say(same(some(a, "chunk"), some(sent, "source")), "messages of line %d" % m["line"])
        cells = some(both(a, sent), "offset")
        there = named(state["kept"][m["slot"]], rank="from", chunk="source")
        self.write(m, state, cells, some(both(cells, there), "from", "source"), ("from", "source"))
    def local(self, m, state):
        a = read(m["cells"])
        say(self.inside(a, "chunk", m["buffer"]) and self.inside(a, "source", m["source"]), "chunks of line %d" % m["line"])
        say(self.one(a, "source", "N", "D", "root", "rank", "chunk"), "copies of line %d" % m["line"])
        if m["buffer"] == m["source"]:
            say(empty(both(some(a, "source"), named(some(a, "chunk"), source="chunk"))), "copies of line %d" % m["line"])
        there = named(state["holds"][m["source"]], chunk="source")
        self.write(m, state, a, some(both(a, there), "source"), ("source",))
    def write(self, m, state, cells, come, origin):
        say(not m["joins"] or (self.c["contract"] == "barrier" and m["buffer"] == m["source"] == 0), "what line %d joins" % m["line"])
        b, written = m["buffer"], some(cells, *origin)
        old = state["holds"][b]
        say(self.c["buffers"][b]["writable"], "that line %d may write" % m["line"])
        say(within(written, some(come, "q", "index")), "values for line %d" % m["line"])
        if m["op"].startswith("reduce"):
            say(within(written, some(old, "q", "index")) and (m["joins"] or empty(both(old, come))), "that line %d counts once" % m["line"])
            state["holds"][b] = either(old, come)
        else:
            state["holds"][b] = either(without(old, written), come)
    def races(self, moves, apart, gone=()):
        """That operations `apart`, of a step or of blocks of a par, touch nothing that one of them writes."""
        def uses(m):
            a = some(read(m["messages" if "messages" in m else "cells"]), *gone)
            if "messages" in m: return [(m["buffer"], some(a, "from", "offset"), m["op"] != "send")]
            return [(m["buffer"], some(a, "source"), True), (m["source"], named(some(a, "chunk"), source="chunk"), False)]
        for m, n in [(m, n) for m, n in itertools.combinations(moves, 2) if apart(m, n)]:
            for (b, x, wx), (d, y, wy) in itertools.product(uses(m), uses(n)):
                say(b != d or not (wx or wy) or empty(both(x, y)), "a race of lines %d and %d" % (m["line"], n["line"]))
    def pars(self, moves):
        """A par is all of the text: its blocks touch nothing that another one writes."""
        def flat(moves): return [x for m in moves for x in (flat(m["body"]) if m["op"] == "loop" else [m])]
        blocks = {m["block"] for m in flat(moves)}
        say(blocks <= {0} or 0 not in blocks, "where a par begins and ends")
        self.races(flat(moves), lambda m, n: m["block"] != n["block"], ["D"])
    def at_twice(self, a): return some(both(named(a, D="value"), total(0, True, value=1, D=-2)), "value")
    def doubled(self, a): return some(both(named(a, D="value"), total(0, True, D=1, value=-2)), "value")
    def heads(self, m):
        """A loop's heads are a chain: each is the last one or begins a trip, that ends at the next one."""
        trips, first, last = read(m["trips"]), read(m["first"]), read(m["last"])
        begins, ends = (trips, self.doubled(trips)) if m["up"] else (self.doubled(trips), trips)
        say(all(self.one(a, "D", "N", "root") for a in (first, last)) and empty(both(first, total(0, True, D=1))) and
            within(either(first, trips), self.ranks) and same(some(first, "D"), some(last, "D")), "heads of a loop")
        say(same(either(begins, last), either(ends, first)) and empty(both(begins, last)) and empty(both(ends, first)), "a loop's trips")
        return trips, first, last
    def agree(self, a, said): # cells of which nothing is said have no value from there on
        return same(both(a, some(said, "q", "index")), said)
    def loop(self, m, state):
        say(not state["sent"], "no message on its way where a loop begins")
        (trips, first, last), holds = self.heads(m), [read(a) for a in m["holds"]]
        twice = [self.at_twice(h) for h in holds]
        before, after = (holds, twice) if m["up"] else (twice, holds)
        none = [Automaton([], [{}], set())] * (len(self.buffers) - len(holds))
        for a, h in zip(state["holds"], holds): say(self.agree(a, both(h, first)), "what is held where a loop begins")
        inner = {"sent": {}, "kept": {}, "holds": [both(h, trips) for h in before] + none}
        self.run(m["body"], inner)
        for a, h in zip(inner["holds"], after):
            say(self.agree(a, both(h, trips)), "what a trip leaves behind")
        left = [some(both(h, last), "D") for h in holds] + none
        state["holds"] = [either(h, without(a, some(first, "D"))) for h, a in zip(left, state["holds"])]
    def run(self, moves, state):
        self.races([m for m in moves if m.get("step") and not m["joins"]], lambda m, n: m["step"] == n["step"])
        for m in moves:
            {"send": self.send, "recv": self.receive, "reduce": self.receive, "loop": self.loop}.get(m["op"], self.local)(m, state)
        say(not state["sent"], "that each message is received")
    def contract(self, holds):
        """Those of the prelude, with blocks of one chunk. Of a barrier, buffer 0 holds whom a rank has heard of."""
        name, N = self.c["contract"], less("q", "N")
        if name == "barrier": return say(within(both(self.possible, N, total(0, True, index=1), total(0, True, chunk=1)), holds[0]), "the contract")
        many, mine = name in ("allgather", "gather", "all_to_all"), name in ("reduce_scatter", "scatter", "all_to_all")
        say(many or mine or name in ("allreduce", "broadcast", "reduce"), "a contract of the prelude")
        root = self.c["root"]
        is_root = (lambda t: equals(t, "root")) if root else (lambda t: total(0, True, **{t: 1}))
        out, other = self.c["given"] - 1, any(b["reversed"] for b in self.c["buffers"][:self.c["given"]])
        say(not (other and (many or mine)) and out == (1 if many or mine else 0) and self.given[0], "buffers of the contract")
        one, full = total(0, True, chunk=1), less("chunk", "N")
        say(not (many or mine) or same(self.buffers[0], full if mine else one) and same(self.buffers[1], full if many else one), "the contract's sizes")
        cells = both(self.possible, self.buffers[out])
        if name in ("reduce", "gather"): cells = both(cells, is_root("rank"))
        rank = equals("q", "chunk") if many else is_root("q") if name in ("broadcast", "scatter") else N
        index = equals("index", "rank") if mine else total(0, True, index=1) if many else equals("index", "chunk")
        say(same(both(holds[out], cells), both(cells, N, rank, index)), "the contract")
    def all(self):
        start = both(self.possible, self.buffers[0], equals("q", "rank"), equals("index", "chunk"))
        none = Automaton([], [{}], set())
        state = {"sent": {}, "kept": {}, "holds": [start if g else none for g in self.given]}
        self.pars(self.c["moves"])
        self.run(self.c["moves"], state)
        self.contract(state["holds"])
def cells(ref): # chunks of a buffer
    name, lo, hi = re.match(r"(\w+)(?:\[(\d+)(?:\.\.(\d+))?\])?$", ref).groups()
    return [(name, i) for i in range(int(lo or 0), int(hi or int(lo or 0) + 1))]
def real_operations(c, ccc, arguments, n, root):
    """Of each rank: sets of operations that start together, as `ccc --emit=program` has them, and sizes; None: N is refused."""
    real, sizes = program(ccc, ["-n", str(n)] + (["-D%s=%d" % (c["root"], root)] if c["root"] else []) + arguments, c["schedule"], cells)
    pairs = lambda peer, x, y=None: list(zip(x, x if y is None else y))
    if real is not None: real = {r: [g for g in ([(*o[:3], pairs(*o[2:])) for o in s if o[2] is not None or o[3]] for s in v) if g] for r, v in real.items()}
    return real, sizes
def made_operations(c, n, root=0):
    """The same, of the certificate's moves, done one after another."""
    made, bits = {}, n.bit_length() + 1
    chunks = [both(read(b["chunks"]), read(c["possible"])) for b in c["buffers"]]
    @functools.cache
    def size(b, d): return max((x["chunk"] + 1 for x in tuples(chunks[b], bits, N=n, root=root, D=d)), default=0)
    def number(b, i, d): # where the bits of a chunk's name are its number's, reversed
        return int(format(i, "0%db" % (size(b, d).bit_length() - 1))[::-1], 2) if c["buffers"][b]["reversed"] else i
    def cell(b, i, d): # scratch buffers lie one after another
        return (c["buffers"][b]["name"], number(b, i, d)) if b < c["given"] else ("scratch", sum(size(x, d) for x in range(c["given"], b)) + number(b, i, d))
    def run(moves, d):
        last = {}
        for m in moves:
            if m["op"] == "loop":
                trips = sorted(x["D"] for x in tuples(read(m["trips"]), bits, N=n, root=root))
                for x in trips if m["up"] else reversed(trips): run(m["body"], x)
                continue
            sets, target = {}, m["source"] if m["op"] == "send" else m["buffer"]
            order = (lambda x: number(target, x["chunk"], d)) if c["buffers"][target]["reversed"] else (lambda x: x.get("offset", 0))
            for x in sorted(tuples(read(m["cells" if "cells" in m else "messages"]), bits, N=n, root=root, D=d), key=order):
                y = cell(target, x["chunk"], d)
                moved = sets.setdefault((x["rank"], x.get("from")), [])
                if not m["joins"]: moved.append((cell(m["source"], x["source"], d) if "cells" in m else y, y))
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
def compare(c, ccc, arguments, n, root):
    (real, sizes), (made, extents) = real_operations(c, ccc, arguments, n, root), made_operations(c, n, root)
    admitted = bool(tuples(both(read(c["possible"])), n.bit_length(), N=n, root=root))
    say(admitted == (real is not None) and (not admitted or list(extents.items()) == list(sizes.items())), "whether N = %d is possible, and its sizes" % n)
    say({r: in_groups(v) for r, v in made.items()} == {r: in_groups(v) for r, v in (real or {}).items()}, "the operations of N = %d" % n)
    if admitted: promised(c, arguments, list(sizes))
def parts(c, sizes):
    """The operations of a callee on one buffer: of each N, and root, the steps of each rank."""
    plain = lambda v: [[(*x[:3], (0, x[3][0][1][1], x[3][-1][1][1] + 1)) for x in group] for group in v]
    made = {n: {root: {r: plain(v) for (r,), v in made_operations(c, n, root)[0].items()} for root in range(n)} for n in sizes}
    return made if c["root"] else {n: v[0] for n, v in made.items()}
def main():
    c, callee = json.load(open(sys.argv[1])), sys.argv[2] == "--parts"
    for n in () if callee else range(2, beyond(sys.argv[3:], 9) + 1):
        for root in {0, 1, n - 1} if c["root"] else {0}: compare(c, sys.argv[2], sys.argv[3:], n, root)
    proof = Proof(c)
    proof.all()
    every = both(less("rank", "N"), less("root", "N")) if c["root"] else less("rank", "N")
    say(not callee or same(proof.possible, every), "that each N >= 1 is possible")
    print(json.dumps(parts(c, map(int, sys.argv[3:]))) if callee else "ok - %s: %s for every N%s" % (c["schedule"], c["contract"], proof.most))
checked(main)
