"""Checks a certificate of `ccc check --certificate`: that its operations keep its contract for every N.

usage: certificate.py CERTIFICATE [--callee PARTS]

Everything is proved for all N, with means of its own, from the certificate alone. Whether its
operations and its contract are a text's is certificate_text.py's to say: both must say ok.
With --callee it is a callee's, of N chunks or of 1: what these hold in the end is proved to be as said.
"""
import itertools
from certificate_form import *
from certificate_sums import *
LAST = 1 << 28 # the end is there in the text's numbers
OPERANDS = {**dict.fromkeys(("send", "recv", "reduce"), {"x", "peer", "channel"}), **dict.fromkeys(("copy", "reduce into"), {"x", "y"})}
class Proof:
    def __init__(self, c, parts):
        self.c, self.ops, self.d, self.parts = c, c["operations"], c["numbers"], parts
        self.long = max([len(o["place"]) for o in self.ops], default=0) + 1
    def point(self, name): return [{name + str(i): 1} for i in range(self.d)]
    def event(self, p): return p[:-1] + [{}]
    def here(self, k, p): return [(c, None) for c, _ in pieces(self.ops[k]["points"], p)]
    def time(self, k, p, wave, level=None):
        t = [number(wave) if e["kind"] == "wave" else p[e["value"]] if e["kind"] == "trip"
             else number(e["value"]) for e in self.ops[k]["place"]]
        t += [{}] * (self.long - len(t))
        return t[:level[0]] + [level[1]] + t[level[0]:] if level else t + [{}]
    def before(self, t, u): return [([eq(a, b) for a, b in zip(t[:i], u[:i])] + [lt(t[i], u[i])], None) for i in range(len(t))]
    def not_before(self, t, u): return self.before(u, t) + [([eq(a, b) for a, b in zip(t, u)], None)]
    def segment(self, k): return next((c for c in self.c["levels"] if c["at"] in (-1, self.ops[k]["place"][0]["value"])), None)
    def marks(self, k, wave):
        """The level of its start or end, as pieces; None: it has none."""
        return next((x["end" if wave else "start"] for x in (self.segment(k) or {"of": []})["of"] if x["op"] == k), None)
    def level(self, k, p, wave):
        """(the entry before which it is inserted, the level of its start or end), by cases."""
        return [(g, (self.segment(k)["before"], v[0])) for g, v in pieces(self.marks(k, wave), p)] if self.segment(k) else [([], (self.long, {}))]
    def one(self, k, key, p): return [(g, v[0]) for g, v in pieces(self.ops[k][key], p)]
    def fifo(self, k, p):
        """(sender, receiver, channel, blocks), by cases."""
        send = self.ops[k]["kind"] == "send"
        blocks = [p[e["value"]] if e["kind"] == "trip" else number(e["value"]) for e in self.ops[k]["place"] if e["block"]]
        return [(g, ([p[0], peer] if send else [peer, p[0]]) + [channel] + blocks) for g, (peer, channel) in cases([], self.one(k, "peer", p), self.one(k, "channel", p))]
    def access(self, k, key, p):
        """Chunks of an operand: (buffer, cell), by cases; p's last number is the chunk's."""
        a, e = self.ops[k][key], self.event(p)
        return [(g + [ge(p[-1], {}), lt(p[-1], n[0])], (a["buffer"], p[:1] + [{}] * (self.d - 2) + [add(first[0], p[-1])]))
                for g, (_, first, n) in cases([], self.here(k, e), pieces(a["first"], e), pieces(a["n"], e))]
    def target(self, k): return {"recv": "x", "reduce": "x", "copy": "y", "reduce into": "y"}.get(self.ops[k]["kind"])
    def form(self):
        """One wave in each place, all that is concurrent after it but blocks; levels of statements or of all; plain buffers."""
        say(all(x["before"] > (-1 if x["at"] < 0 else 0) for x in self.c["levels"]) and len({x["at"] < 0 for x in self.c["levels"]}) < 2, "levels")
        p, N, R, least, buffers = self.point("p"), {"N": 1}, {"R": 1}, 1 if self.c["contract"] == "" else 2, self.c["buffers"]
        every = [ge(N, number(least)), ge(p[0], {}), lt(p[0], N)] + [eq(x, {}) for x in p[1:]] + ([ge(R, {}), lt(R, N)] if self.c["root"] else [])
        say(covered(every, [g for g, _ in pieces(self.c["possible"], p)]), "that each N is possible")
        say(all(b["loops"] == 0 and whole(every, b["chunks"], p) and not any(any(x["to"][0][2:]) for x in b["chunks"]) for b in buffers) and
            all(set(f) <= {1, "N"} or covered(every, [[(k, f)]]) for b in buffers for g, _ in pieces(b["chunks"], p) for k, f in g), "as many chunks on all ranks")
        say(all(self.ops[x["send"]]["kind"] == "send" and self.ops[x["recv"]]["kind"] in ("recv", "reduce") and min(x["send"], x["recv"]) >= 0 for x in self.c["pairs"]) and
            all(len(x["to"]) == self.d and (key == "pieces" or not any(x["to"][-1])) for y in self.c["pairs"] + self.c["sources"] for key in ("to_recv", "to_send", "pieces") for x in y.get(key, [])), "pairs and sources")
    def points(self):
        """What each operation is; its ranks, and trips from 0 to an end; each function has one value at each point."""
        p = self.event(self.point("p"))
        for k, o in enumerate(self.ops):
            kinds, trips, parts = [e["kind"] for e in o["place"]], [e["value"] for e in o["place"] if e["kind"] == "trip"], [o[key] for key in "xy" if key in o]
            say(OPERANDS.get(o["kind"]) == set(o) & {"x", "y", "peer", "channel"} and all(x["buffer"] in range(len(self.c["buffers"])) for x in parts), "what line %d does" % o["line"])
            say(kinds[0] == "at" and o["place"][0]["value"] < LAST and kinds.count("wave") == 1 and {*kinds} <= {"at", "trip", "wave"} and
                all(e["concurrent"] == (i > kinds.index("wave") or e["block"]) and type(e["value"]) is int for i, e in enumerate(o["place"])), "the place of line %d" % o["line"])
            say(len({*trips}) == len(trips) and all(0 < v < self.d - 1 for v in trips) and trips_end(o, self.d, 1), "trips of line %d" % o["line"])
            for g, _ in self.here(k, p):
                say(covered(g, [[ge(p[0], {}), lt(p[0], {"N": 1})] + [ge(p[v], {}) if v in trips else eq(p[v], {}) for v in range(1, self.d - 1)]]), "points of line %d" % o["line"])
                for f in [o[key] for key in ("peer", "channel") if key in o] + [x[y] for x in parts for y in ("first", "n")] + [m for w in (0, 1) if (m := self.marks(k, w))]:
                    say(whole(g, f, p), "one value at each point of line %d" % o["line"])
    def places(self):
        """No operation's place begins as another's does, and then ends, or goes on in another way."""
        p, q = self.event(self.point("p")), self.event(self.point("q"))
        for k, j in itertools.combinations(range(len(self.ops)), 2):
            t, u, e, f = self.time(k, p, 0), self.time(j, q, 0), self.ops[k]["place"], self.ops[j]["place"]
            i = next((i for i, (x, y) in enumerate(zip(e, f)) if any((x[w] == y[w]) < 1 for w in ("concurrent", "block")) or (x["kind"] == "wave") != (y["kind"] == "wave")), min(len(e), len(f)))
            say(not list(cases([eq(a, b) for a, b in zip([p[0]] + t[:i], [q[0]] + u[:i])], self.here(k, p), self.here(j, q))), "places of lines %d and %d" % (self.ops[k]["line"], self.ops[j]["line"]))
    def bounds(self):
        for k, o in enumerate(self.ops):
            p = self.point("p")
            for key in [key for key in "xy" if key in o]:
                for g, (cell, n) in cases([], self.access(k, key, p), pieces(self.c["buffers"][o[key]["buffer"]]["chunks"], p)):
                    say(covered(g, [[ge(cell[1][-1], {}), lt(cell[1][-1], n[0])]]), "chunks of line %d" % o["line"])
            if "peer" in o:
                for g, (_, q) in cases([], self.here(k, self.event(p)), self.one(k, "peer", self.event(p))):
                    say(covered(g, [[ge(q, {}), lt(q, {"N": 1})]]) and empty(g + [eq(q, p[0])]), "peers of line %d" % o["line"])
    def met(self, key, k, p):
        """Where an event's other end is: (operation, point), by cases."""
        mine, other = ("send", "recv") if key == "to_recv" else ("recv", "send")
        return [(g, (x[other], self.event(q))) for x in self.c["pairs"] if x[mine] == k for g, q in pieces(x[key], p)]
    def matching(self):
        for k, o in enumerate(self.ops):
            if "peer" not in o: continue
            p, (key, back) = self.event(self.point("p")), ("to_recv", "to_send") if o["kind"] == "send" else ("to_send", "to_recv")
            for g, _ in cases([], self.here(k, p)):
                say(covered(g, [c for c, _ in self.met(key, k, p)]), "an end for line %d" % o["line"])
            for (c, (m, q)), (d, (j, r)) in itertools.combinations(self.met(key, k, p), 2):
                say(empty(c + d) or (m == j and covered(c + d, [[eq(x, y) for x, y in zip(q, r)]])), "one end for line %d" % o["line"])
            for g, (_, (m, q)) in cases([], self.here(k, p), self.met(key, k, p)):
                say(covered(g, [c for c, _ in self.here(m, q)]), "the other end of line %d" % o["line"])
                say(covered(g, [c + [eq(a, b) for a, b in zip(p, r)] for c, (j, r) in self.met(back, m, q) if j == k]), "pairs of line %d" % o["line"])
                for h, (a, b) in cases(g, self.fifo(k, p), self.fifo(m, q)):
                    say(len(a) == len(b) and covered(h, [[eq(x, y) for x, y in zip(a, b)]]), "FIFOs of line %d" % o["line"])
                for h, (a, b) in cases(g, pieces(o["x"]["n"], p), pieces(self.ops[m]["x"]["n"], q)):
                    say(covered(h, [[eq(a[0], b[0])]]), "lengths of line %d" % o["line"])
    def levels(self):
        """Levels do not fall from a start to its end, nor along a rank's own order where the entries before them are equal."""
        p, q, of = self.event(self.point("p")), self.event(self.point("q")), [k for k, o in enumerate(self.ops) if "peer" in o and self.segment(k)]
        for k, j in [(k, j) for k in of for j in of if self.segment(j) is self.segment(k)]:
            own = [(i, c) for i, (c, _) in enumerate(self.before(self.time(k, p, 0), self.time(j, q, 0))) if not all(o["place"][i]["concurrent"] if i < len(o["place"]) else False for o in (self.ops[k], self.ops[j]))]
            steps = [(1, 0, [eq(p[0], q[0])] + c) for i, c in own if i >= self.segment(k)["before"]] + [(0, 1, [eq(a, b) for a, b in zip(p, q)])] * (k == j)
            for w, v, c in steps:
                for g, (_, _, (_, a), (_, b)) in cases(c, self.here(k, p), self.here(j, q), self.level(k, p, w), self.level(j, q, v)):
                    say(empty(g + [lt(b, a)]), "line %d comes before line %d" % (self.ops[j]["line"], self.ops[k]["line"]))
    def order(self):
        p, q, sends = self.event(self.point("p")), self.event(self.point("q")), [k for k, o in enumerate(self.ops) if o["kind"] == "send"]
        for k in sends:
            for g, (_, (m, r)) in cases([], self.here(k, p), self.met("to_recv", k, p)):
                for h, (c, d) in cases(g, self.level(k, p, 0), self.level(m, r, 1)):
                    say(not list(cases(h, self.not_before(self.time(k, p, 0, c), self.time(m, r, 1, d)))), "line %d's messages come before they are sent" % self.ops[m]["line"])
            for j in sends:
                for g, (_, a, _, b) in cases([], self.here(k, p), self.fifo(k, p), self.here(j, q), self.fifo(j, q)):
                    if len(a) != len(b): continue
                    for h, (_, (m, r), (n, s)) in cases(g + [eq(x, y) for x, y in zip(a, b)], self.before(self.time(k, p, 0), self.time(j, q, 0)), self.met("to_recv", k, p), self.met("to_recv", j, q)):
                        say(all(empty(h + c) for c, _ in self.not_before(self.time(m, r, 0), self.time(n, s, 0))), "order of line %d" % self.ops[m]["line"])
                        for x, (c, d) in cases(h, self.level(m, r, 0), self.level(j, q, 1)):
                            say(all(empty(x + y) for y, _ in self.not_before(self.time(m, r, 0, c), self.time(j, q, 1, d))), "a slot for line %d" % self.ops[j]["line"])
    def races(self):
        p, q, uses = self.point("p"), self.point("q"), [(k, key) for k, o in enumerate(self.ops) for key in "xy" if key in o]
        for (k, a), (j, b) in itertools.combinations_with_replacement(uses, 2):
            if (self.target(k) != a and self.target(j) != b) or self.ops[k][a]["buffer"] != self.ops[j][b]["buffer"]: continue
            for i, (e, f) in enumerate(zip(self.ops[k]["place"], self.ops[j]["place"])):
                t, u = self.time(k, p, 0), self.time(j, q, 0)
                same = [eq(x, y) for x, y in zip(t[:i], u[:i])]
                for way in [lt(t[i], u[i]), lt(u[i], t[i])] if e["concurrent"] and f["concurrent"] else []:
                    for g, (x, y) in cases(same + [way], self.access(k, a, p), self.access(j, b, q)):
                        say(empty(g + [eq(c, d) for c, d in zip(x[1], y[1])]), "a race of lines %d and %d" % (self.ops[k]["line"], self.ops[j]["line"]))
    def seen(self, read, p):
        return [(g, (s["source"][0], int(s["source"][1:]), q)) for s in self.c["sources"] if s["read"] == read for g, q in pieces(s["pieces"], p)]
    def sources(self):
        for k, o in enumerate(self.ops):
            p = self.point("p")
            for read, key, kinds in (("x", "x", ("send", "copy", "reduce into")), ("y", self.target(k), ("reduce", "reduce into"))):
                if o["kind"] in kinds: self.sources_of(read + str(k), p, self.access(k, key, p), self.time(k, p, 0))
    def sources_of(self, read, p, cells, time):
        u = self.point("u")
        for g, ((buffer, cell),) in cases([], cells):
            say(covered(g, [c for c, _ in self.seen(read, p)]), "a source for all of " + read)
            for h, ((kind, k, q),) in cases(g, self.seen(read, p)):
                since = self.time(k, q, 1) if kind == "w" else None
                if kind == "w":
                    written = [c + [eq(a, b) for a, b in zip(x[1], cell)] for c, x in self.access(k, self.target(k), q) if x[0] == buffer]
                    say(covered(h, written) and all(empty(h + c) for c, _ in self.not_before(since, time)), "sources of " + read)
                else:
                    say(k == buffer and self.c["buffers"][k]["given"] and covered(h, [[eq(a, b) for a, b in zip(q, cell)]]), "what is given to " + read)
                for j in [j for j in range(len(self.ops)) if self.target(j) and self.ops[j][self.target(j)]["buffer"] == buffer]:
                    between = [self.before(self.time(j, u, 1), time)] + ([self.before(since, self.time(j, u, 1))] if since else [])
                    for x, (w, *_) in cases(h, self.access(j, self.target(j), u), *between):
                        say(empty(x + [eq(a, b) for a, b in zip(w[1], cell)]), "that nothing writes before " + read)
    def holds(self, source, q):
        """Who contributes rank q to what a source holds: (buffer, chunk), by cases."""
        kind, k, p = source
        if kind == "b": return [([eq(q, p[0])], (k, p[-1]))]
        h, out = self.c["holds"][k], []
        for g, (lo, n, chunk) in cases([], pieces(h["first"], p), pieces(h["n"], p), pieces(h["chunk"], p)):
            out += [(g + [ge(x, lo[0]), lt(x, add(lo[0], n[0])), ge(q, {}), lt(q, {"N": 1})], (h["buffer"], chunk[0])) for x in (q, add(q, {"N": 1}))]
        return out
    def within(self, g, a, others): # whether each contribution of `a` is one of the others
        return all(covered(h, [c + [eq(x[1], y[1])] for c, y in others if x[0] == y[0]]) for h, (x,) in cases(g, a))
    def values(self):
        for k in [k for k in range(len(self.ops)) if self.target(k)]:
            o, p, q = self.ops[k], self.point("p"), {"q": 1}
            for g, _ in cases([], self.access(k, self.target(k), p)):
                firsts = [(c + d, s) for c, (m, r) in self.met("to_send", k, self.event(p)) for d, s in self.seen("x%d" % m, r[:-1] + [p[-1]])] if "peer" in o else self.seen("x%d" % k, p)
                seconds = self.seen("y%d" % k, p) if o["kind"].startswith("reduce") else [([], None)]
                mine = self.holds(("w", k, p), q)
                say(covered(g, [c for c, _ in firsts]) and covered(g, [c for c, _ in seconds]), "sources of line %d" % o["line"])
                for h, (a, b) in cases(g, firsts, seconds):
                    a, b = self.holds(a, q), self.holds(b, q) if b else []
                    say(self.within(h, a, mine) and self.within(h, b, mine) and self.within(h, mine, a + b), "what line %d holds" % o["line"])
                    for x, (s, t) in cases(h, a, b):
                        say(s[0] == t[0] and empty(x + [eq(s[1], t[1])]), "that line %d counts once" % o["line"])
    def contract(self):
        name, p, q, N, root = self.c["contract"], self.point("p"), {"q": 1}, {"N": 1}, {"R": 1} if self.c["root"] else {}
        if not name: return say(covered([ge(N, number(1))], [[eq(n[0], self.parts)] + [x for x in g if set(x[1]) <= {1, "N"}] for g, n in pieces(self.c["buffers"][0]["chunks"], p)]), "a callee's chunks") or self.sources_of("f0", p, [(g + [eq(x, {}) for x in p[1:-1]] + [ge(p[-1], {}), lt(p[-1], n[0])], (0, [p[0]] + [{}] * (self.d - 2) + [p[-1]]))
            for g, (_, n) in cases([], pieces(self.c["possible"], self.event(p)), pieces(self.c["buffers"][0]["chunks"], self.event(p)))], [number(LAST)] + [{}] * self.long)
        many, mine = name in ("allgather", "gather", "all_to_all"), name in ("reduce_scatter", "scatter", "all_to_all")
        say(many or mine or name in ("allreduce", "reduce", "broadcast"), "a contract of the prelude")
        out, sums = int(many or mine), [b["chunks"][0]["to"][0] for b in self.c["buffers"]]
        C = sums[1 if many else 0][1] if out else 0
        say(not out or (C > 0 and all(len(b["chunks"]) == 1 for b in self.c["buffers"][:2]) and all(s[:2] == ([0, C] if whole else [C, 0]) and not any(s[2:]) for s, whole in zip(sums, (mine, many)))), "the contract's blocks")
        index = add(p[2], p[1], C) if many else p[2]
        asked = add(p[2], p[0], C) if mine else p[2]
        rank = p[1] if many else root if name in ("broadcast", "scatter") else None
        for g, (_, n) in cases([], pieces(self.c["possible"], p), pieces(self.c["buffers"][out]["chunks"], p)):
            g = g + [ge(x, {}) for x in p[1:3]] + [eq(x, {}) for x in p[3:]] + [lt(index, n[0])]
            g += ([lt(p[1], N), lt(p[2], number(C))] if many else [eq(p[1], {})]) + ([eq(p[0], root)] if name in ("reduce", "gather") else [])
            self.sources_of("f0", p, [(g, (out, [p[0]] + [{}] * (self.d - 2) + [index]))], [number(LAST)] + [{}] * self.long)
            wanted = [([ge(q, {}), lt(q, N)] if rank is None else [eq(q, rank)], (0, asked))]
            for h, (s,) in cases(g, self.seen("f0", p)):
                say(self.within(h, self.holds(s, q), wanted) and self.within(h, wanted, self.holds(s, q)), "the contract")
def main(c, arguments):
    say((len(arguments) == 2) == (c["contract"] == "") and formed(c), "a contract, and sums of integers")
    proof = Proof(c, number(1) if arguments == ["--callee", "1"] else {"N": 1})
    for step in ("form", "points", "places", "bounds", "matching", "levels", "order", "races", "sources", "values", "contract"): getattr(proof, step)()
    print("ok - %s: %s for every N" % (c["schedule"], c["contract"]))
checked(main, 1)
