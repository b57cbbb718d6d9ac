"""Checks a certificate of `ccc check --certificate` that has powers of two: that its moves keep its contract for every N.

usage: certificate_powers.py CERTIFICATE [--callee PARTS]

Everything is proved for all N, by automata, from the certificate alone. Whether its moves and its
contract are a text's is certificate_powers_text.py's to say: both must say ok. With --callee it is
that of a callee, which must be possible for each N >= 1, of a buffer of that many chunks: 1 or N.
"""
import itertools
from certificate_automata import *
from certificate_form import *
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
        self.most = ("" if within(every, self.ranks) or within(few, self.ranks) else " that is a power of two") + ("" if bounds[0] is every else ", up to 65536")
        across = max([c["given"]] + [len(m["holds"]) for m in c["moves"] if m["op"] == "loop"]) # others live for a trip only
        for i, a in enumerate(self.buffers):
            below = some(both(named(a, chunk="value"), total(0, False, value=1, chunk=-1)), "value")
            say(within(below, a) and {*a.tracks} <= ({"N", "root", "chunk"} if i < across else {*self.KEY, "chunk"}), "chunks from 0")
        self.form(c["moves"], {"N", "root", "rank"})
    KEY, MOVED = ("N", "D", "root", "rank"), {"messages": {"from", "chunk", "offset"}, "cells": {"chunk", "source"}}
    def form(self, moves, key):
        """Loops are not in loops, and only in them are numbers of D; messages are of sends and receives, cells of all else."""
        for m in moves:
            if m["op"] == "loop":
                say("D" not in key and all({*read(m[x]).tracks} <= {"N", "root", "D"} for x in ("trips", "first", "last")) and
                    all({*read(h).tracks} <= {*self.KEY, "chunk", "q", "index"} for h in m["holds"]), "a loop's numbers")
                self.form(m["body"], key | {"D"})
                continue
            what = "messages" if m["op"] in ("send", "recv", "reduce") else "cells"
            say(m["op"] in ("send", "recv", "reduce", "copy", "reduce into") and {what} == {*m} & {*self.MOVED}, "what line %d does" % m["line"])
            say({*read(m[what]).tracks} <= key | self.MOVED[what] and all(m[x] in range(len(self.buffers)) for x in ("buffer", "source")), "numbers of line %d" % m["line"])
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
        say(m["slot"] not in state["sent"], "a message of its own for line %d" % m["line"])
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
def main(c, arguments):
    proof = Proof(c)
    proof.all()
    every = both(less("rank", "N"), less("root", "N")) if c["root"] else less("rank", "N")
    if arguments: say(same(proof.possible, every) and same(proof.buffers[0], less("chunk", "N") if arguments == ["--callee", "N"] else total(0, True, chunk=1)), "each N >= 1, and %s chunks" % arguments[1:])
    print("ok - %s: %s for every N%s" % (c["schedule"], c["contract"], proof.most))
checked(main, 2)
