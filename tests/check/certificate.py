"""Checks a certificate of `ccc check --certificate` for every N, with means of its own.

usage: certificate.py CERTIFICATE CCC [ccc's arguments, the schedule last]

Linear constraints over integers are refuted by Fourier-Motzkin elimination with exact integers,
tightened by their greatest common divisors: what is found empty is empty. The operations are
compared with `ccc --emit=program` for some N; that sends and receives are paired rightly, that
no wait is part of a cycle, that nothing races, which write each read sees, what writes hold, and
that this is what the contract asks for, are proved for all N. Forms are dictionaries from
variables to factors, with 1 for the constant; a constraint is (">=" or "=", form).
"""
import itertools, json, math, re, subprocess, sys
def add(a, b, k=1):
    r = dict(a)
    for v, c in b.items():
        r[v] = r.get(v, 0) + k * c
        if r[v] == 0:
            del r[v]
    return r
def number(n): return {1: n} if n else {}
def ge(a, b): return (">=", add(a, b, -1))
def lt(a, b): return (">=", add(add(b, a, -1), {1: -1}))
def eq(a, b): return ("=", add(a, b, -1))
def solve_equal(c):
    """Puts equalities with a factor of 1 or -1 into the others."""
    c = list(c)
    while True:
        for i, (kind, f) in enumerate(c):
            v = next((v for v in f if kind == "=" and v != 1 and abs(f[v]) == 1), None)
            if v is not None: break
        else:
            return c
        rest = c[:i] + c[i + 1:]
        c = [(k, add(g, f, -g[v] * f[v]) if v in g else g) for k, g in rest]
def tight(f):
    d = math.gcd(*[k for v, k in f.items() if v != 1])
    return f if d <= 1 else {v: k // d for v, k in f.items() if k // d}
def empty(constraints):
    """Whether no integers satisfy all of them. False may mean: not found."""
    rows = {}
    for kind, f in solve_equal(constraints):
        if kind == "=" and f.get(1, 0) % (math.gcd(*[k for v, k in f.items() if v != 1]) or 1): return True
        for g in [f, add({}, f, -1)] if kind == "=" else [f]:
            if not keep(rows, tight(g)): return True
    while True:
        names = {v for key in rows for v, _ in key}
        if not names: return False
        def cost(v):
            up = sum(1 for key in rows if dict(key).get(v, 0) > 0)
            return up * (sum(1 for key in rows if v in dict(key)) - up)
        v = min(names, key=lambda v: (cost(v), str(v)))
        forms = [{**dict(key), 1: c} for key, c in rows.items()]
        rows, lo, hi = {}, [f for f in forms if f.get(v, 0) > 0], [f for f in forms if f.get(v, 0) < 0]
        new = [f for f in forms if v not in f] + [add(add({}, a, -b[v]), b, a[v]) for a in lo for b in hi]
        if len(new) > 3000: return False
        if not all(keep(rows, tight(f)) for f in new): return True
def keep(rows, f):
    key = tuple(sorted(((v, k) for v, k in f.items() if v != 1), key=str))
    c = f.get(1, 0)
    if not key: return c >= 0
    rows[key] = min(c, rows.get(key, c))
    return rows.get(tuple((v, -k) for v, k in key), 1 << 60) + rows[key] >= 0
def opposites(c):
    kind, f = c
    less = (">=", add({1: -1}, f, -1))
    return [less] if kind == ">=" else [less, (">=", add(f, {1: -1}))]
def covered(given, choices):
    """Whether one of the choices (lists of constraints) holds wherever all of `given` do."""
    if empty(given): return True
    for i, choice in enumerate(choices):
        if empty(given + choice): continue
        open_ = [o for c in choice for o in opposites(c) if not empty(given + [o])]
        return all(covered(given + [o], choices[i + 1:]) for o in open_)
    return False
def cases(given, *lists):
    """All ways to take one case of each list, where they can be: (constraints, values)."""
    if not lists:
        yield given, []
        return
    for conditions, value in lists[0]:
        both = given + conditions
        if not empty(both):
            for g, values in cases(both, *lists[1:]):
                yield g, [value] + values
def say(ok, what):
    if not ok: sys.exit("not proved: " + what)
def at(s, point):
    f = add(add(number(s[0]), {"N": 1}, s[1]), {"R": 1}, s[2])
    for k, p in zip(s[3:], point):
        f = add(f, p, k)
    return f
def pieces(list_, point): return [([(k, at(s, point)) for k, s in p["if"]], [at(s, point) for s in p["to"]]) for p in list_]
class Proof:
    def __init__(self, c):
        self.c, self.ops, self.d = c, c["operations"], c["numbers"]
        self.long = max([len(o["place"]) for o in self.ops], default=0) + 1
    def point(self, name): return [{name + str(i): 1} for i in range(self.d)]
    def event(self, p): return p[:-1] + [{}]
    def here(self, k, p): return [(c, None) for c, _ in pieces(self.ops[k]["points"], p)]
    def time(self, k, p, wave, clock=None):
        t = [number(wave) if e["kind"] == "wave" else p[e["value"]] if e["kind"] == "trip"
             else number(e["value"]) for e in self.ops[k]["place"]]
        t += [{}] * (self.long - len(t))
        return t[:clock[0]] + [clock[1]] + t[clock[0]:] if clock else t + [{}]
    def before(self, t, u): return [([eq(a, b) for a, b in zip(t[:i], u[:i])] + [lt(t[i], u[i])], None) for i in range(len(t))]
    def not_before(self, t, u): return self.before(u, t) + [([eq(a, b) for a, b in zip(t, u)], None)]
    def clock(self, k, p):
        for c in self.c["clocks"]:
            if c["at"] in (-1, self.ops[k]["place"][0]["value"]):
                return [(g, (c["before"], v[0])) for g, v in pieces(c["clock"], p)]
        return [([], (self.long, {}))]
    def one(self, k, key, p): return [(g, v[0]) for g, v in pieces(self.ops[k][key], p)]
    def fifo(self, k, p):
        """(sender, receiver, channel, blocks), by cases."""
        send, out = self.ops[k]["kind"] == "send", []
        blocks = [p[e["value"]] if e["kind"] == "trip" else number(e["value"])
                  for e in self.ops[k]["place"] if e["block"]]
        for g, (peer, channel) in cases([], self.one(k, "peer", p), self.one(k, "channel", p)):
            out.append((g, ([p[0], peer] if send else [peer, p[0]]) + [channel] + blocks))
        return out
    def access(self, k, key, p):
        """Chunks of an operand: (buffer, cell), by cases; p's last number is the chunk's."""
        a, e = self.ops[k][key], self.event(p)
        loops = self.c["buffers"][a["buffer"]]["loops"]
        out = []
        for g, (_, first, n) in cases([], self.here(k, e), pieces(a["first"], e), pieces(a["n"], e)):
            cell = [p[i] if i <= loops else {} for i in range(self.d - 1)] + [add(first[0], p[-1])]
            out.append((g + [ge(p[-1], {}), lt(p[-1], n[0])], (a["buffer"], cell)))
        return out
    def target(self, k): return {"recv": "x", "reduce": "x", "copy": "y", "reduce into": "y"}.get(self.ops[k]["kind"])
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
        return [(g, (x[other], q)) for x in self.c["pairs"] if x[mine] == k for g, q in pieces(x[key], p)]
    def matching(self):
        for k, o in enumerate(self.ops):
            if "peer" not in o: continue
            key, back = ("to_recv", "to_send") if o["kind"] == "send" else ("to_send", "to_recv")
            p = self.event(self.point("p"))
            for g, _ in cases([], self.here(k, p)):
                say(covered(g, [c for c, _ in self.met(key, k, p)]), "an end for line %d" % o["line"])
            for g, (_, (m, q)) in cases([], self.here(k, p), self.met(key, k, p)):
                say(covered(g, [c for c, _ in self.here(m, q)]), "the other end of line %d" % o["line"])
                say(covered(g, [c + [eq(a, b) for a, b in zip(p, r)] for c, (j, r) in self.met(back, m, q) if j == k]), "pairs of line %d" % o["line"])
                for h, (a, b) in cases(g, self.fifo(k, p), self.fifo(m, q)):
                    say(len(a) == len(b) and covered(h, [[eq(x, y) for x, y in zip(a, b)]]), "FIFOs of line %d" % o["line"])
                for h, (a, b) in cases(g, pieces(o["x"]["n"], p), pieces(self.ops[m]["x"]["n"], q)):
                    say(covered(h, [[eq(a[0], b[0])]]), "lengths of line %d" % o["line"])
    def order(self):
        sends = [k for k, o in enumerate(self.ops) if o["kind"] == "send"]
        p, q = self.event(self.point("p")), self.event(self.point("q"))
        for k in sends:
            for g, (_, (m, r)) in cases([], self.here(k, p), self.met("to_recv", k, p)):
                for h, (c, d) in cases(g, self.clock(k, p), self.clock(m, r)):
                    for x, _ in cases(h, self.not_before(self.time(k, p, 0, c), self.time(m, r, 1, d))):
                        say(False, "line %d's messages come before they are sent" % self.ops[m]["line"])
            for j in sends:
                for g, (_, a, _, b) in cases([], self.here(k, p), self.fifo(k, p), self.here(j, q), self.fifo(j, q)):
                    if len(a) != len(b): continue
                    g = g + [eq(x, y) for x, y in zip(a, b)]
                    for h, (_, (m, r), (n, s)) in cases(g, self.before(self.time(k, p, 0), self.time(j, q, 0)), self.met("to_recv", k, p), self.met("to_recv", j, q)):
                        say(all(empty(h + c) for c, _ in self.not_before(self.time(m, r, 0), self.time(n, s, 0))), "order of line %d" % self.ops[m]["line"])
                        for x, (c, d) in cases(h, self.clock(m, r), self.clock(j, q)):
                            say(all(empty(x + y) for y, _ in self.not_before(self.time(m, r, 0, c), self.time(j, q, 1, d))), "a slot for line %d" % self.ops[j]["line"])
    def races(self):
        uses = [(k, key) for k, o in enumerate(self.ops) for key in "xy" if key in o]
        p, q = self.point("p"), self.point("q")
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
            if o["kind"] in ("send", "copy", "reduce into"):
                self.sources_of("x%d" % k, p, self.access(k, "x", p), self.time(k, p, 0))
            if o["kind"] in ("reduce", "reduce into"):
                self.sources_of("y%d" % k, p, self.access(k, self.target(k), p), self.time(k, p, 0))
    def sources_of(self, read, p, cells, time):
        u = self.point("u")
        for g, ((buffer, cell),) in cases([], cells):
            say(covered(g, [c for c, _ in self.seen(read, p)]), "a source for all of " + read)
            for h, ((kind, k, q),) in cases(g, self.seen(read, p)):
                since = None
                if kind == "w":
                    written = [c + [eq(a, b) for a, b in zip(x[1], cell)] for c, x in self.access(k, self.target(k), q) if x[0] == buffer]
                    since = self.time(k, q, 1)
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
            for around in ({}, {"N": 1}):
                x = add(q, around)
                out.append((g + [ge(x, lo[0]), lt(x, add(lo[0], n[0])), ge(q, {}), lt(q, {"N": 1})], (h["buffer"], chunk[0])))
        return out
    def within(self, g, a, others):
        """Whether each contribution of `a` is one of the others."""
        return all(covered(h, [c + [eq(x[1], y[1])] for c, y in others if x[0] == y[0]]) for h, (x,) in cases(g, a))
    def values(self):
        for k in [k for k in range(len(self.ops)) if self.target(k)]:
            o, p, q = self.ops[k], self.point("p"), {"q": 1}
            here = [self.access(k, self.target(k), p)]
            for g, _ in cases([], *here):
                if o["kind"] in ("recv", "reduce"):
                    firsts = [(c + d, s) for c, (m, r) in self.met("to_send", k, self.event(p)) for d, s in self.seen("x%d" % m, r[:-1] + [p[-1]])]
                else:
                    firsts = self.seen("x%d" % k, p)
                seconds = self.seen("y%d" % k, p) if o["kind"].startswith("reduce") else [([], None)]
                mine = self.holds(("w", k, p), q)
                say(covered(g, [c for c, _ in firsts]) and covered(g, [c for c, _ in seconds]), "sources of line %d" % o["line"])
                for h, (a, b) in cases(g, firsts, seconds):
                    a, b = self.holds(a, q), self.holds(b, q) if b else []
                    say(self.within(h, a, mine) and self.within(h, b, mine) and self.within(h, mine, a + b), "what line %d holds" % o["line"])
                    for x, (s, t) in cases(h, a, b):
                        say(s[0] == t[0] and empty(x + [eq(s[1], t[1])]), "that line %d counts once" % o["line"])
    def contract(self):
        name, p, q, N = self.c["contract"], self.point("p"), {"q": 1}, {"N": 1}
        root = {"R": 1} if self.c["root"] else {}
        out = 1 if len(self.c["buffers"]) > 1 and name in ("allgather", "reduce_scatter", "gather", "scatter", "all_to_all") else 0
        blocks = {"allgather": 1, "gather": 1, "all_to_all": 1, "reduce_scatter": 0, "scatter": 0}
        C = next(s["to"][0][1] for s in self.c["buffers"][blocks[name]]["chunks"]) if name in blocks else 0
        many, mine = name in ("allgather", "gather", "all_to_all"), name in ("reduce_scatter", "scatter", "all_to_all")
        index = add(p[2], p[1], C) if many else p[2]
        asked = add(p[2], p[0], C) if mine else p[2]
        rank = p[1] if many else root if name in ("broadcast", "scatter") else None
        say(name in blocks or name in ("allreduce", "reduce", "broadcast"), "a contract of the prelude")
        for g, (_, n) in cases([], pieces(self.c["possible"], p), pieces(self.c["buffers"][out]["chunks"], p)):
            g = g + [ge(x, {}) for x in p[1:3]] + [eq(x, {}) for x in p[3:]] + [lt(index, n[0])]
            g += [lt(p[1], N), lt(p[2], number(C))] if many else [eq(p[1], {})]
            g += [eq(p[0], root)] if name in ("reduce", "gather") else []
            cell = [p[0]] + [{}] * (self.d - 2) + [index]
            self.sources_of("f0", p, [(g, (out, cell))], [number(1 << 28)] + [{}] * self.long)
            wanted = [([ge(q, {}), lt(q, N)] if rank is None else [eq(q, rank)], (0, asked))]
            for h, (s,) in cases(g, self.seen("f0", p)):
                say(self.within(h, self.holds(s, q), wanted) and self.within(h, wanted, self.holds(s, q)), "the contract")
def real_operations(c, ccc, arguments, n):
    """Of each rank: (line, kind, peer), as `ccc --emit=program` has them."""
    root = ["-D", c["root"] + "=0"] if c["root"] else []
    text = subprocess.run([ccc, "--emit=program", "-n", str(n)] + root + arguments, capture_output=True, text=True, check=True).stdout
    real, rank = {}, None
    for line in text.splitlines():
        rank = int(re.split("[ ,]", line)[1]) if line.startswith("rank") else rank
        m = re.search(r"(?:line |:)(\d+) +(send|recv|reduce|copy) .*?(?:(?:to|from) (\d+))?$", line)
        if m and rank is not None:
            real.setdefault(rank, []).append((int(m[1]), m[2], int(m[3]) if m[3] else None))
    return real
def made_operations(c, n):
    """The same, of the certificate, by its places."""
    made, proof, fixed = {}, Proof(c), [eq({"N": 1}, number(n)), eq({"R": 1}, {})]
    for k, o in enumerate(c["operations"]):
        dims = [0] + [e["value"] for e in o["place"] if e["kind"] == "trip"]
        for numbers in itertools.product(range(n), *[range(max(n, 9))] * (len(dims) - 1)):
            p = [number(dict(zip(dims, numbers)).get(i, 0)) for i in range(c["numbers"])]
            if all(empty(fixed + g) for g, _ in proof.here(k, p)): continue
            peers = [at_n(q, n) for g, q in (proof.one(k, "peer", p) if "peer" in o else []) if not empty(fixed + g)]
            place = [at_n(t, n) for t in proof.time(k, p, 0)]
            made.setdefault(numbers[0], []).append((place, (o["line"], o["kind"].split()[0], peers[0] if peers else None)))
    return {r: [op for _, op in sorted(v, key=lambda x: x[0])] for r, v in made.items()}
def compare(c, ccc, arguments, n):
    """Rank by rank, in order; blocks of a par have none."""
    sort = any(e["block"] for o in c["operations"] for e in o["place"])
    real, made = real_operations(c, ccc, arguments, n), made_operations(c, n)
    say({r: sorted(v, key=str) if sort else v for r, v in made.items()} ==
        {r: sorted(v, key=str) if sort else v for r, v in real.items()}, "the operations of N = %d" % n)
def at_n(f, n): return f.get(1, 0) + n * f.get("N", 0)
def main():
    c = json.load(open(sys.argv[1]))
    for n in (2, 3, 4, 5):
        compare(c, sys.argv[2], sys.argv[3:], n)
    proof = Proof(c)
    for step in ("bounds", "matching", "order", "races", "sources", "values", "contract"):
        getattr(proof, step)()
    print("ok - %s: %s for every N" % (c["schedule"], c["contract"]))
main()
