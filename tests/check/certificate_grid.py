"""Checks a certificate of `ccc check --certificate` of a grid: that it keeps its contract for every N, and every way to cut it.

usage: certificate_grid.py CERTIFICATE

Ranks and chunks are digits, below factors of N; a cell is a rank, a chunk and a buffer. What each
call and step makes of the cells is proved for all sizes, from the certificate alone; callees are
proved by their own certificates and checkers. Whether calls, steps and contract are a text's is
certificate_grid_text.py's to say: both must say ok.
"""
import functools, itertools, json, os, subprocess, sys
from certificate_form import *
from certificate_sums import *
def names(letter, n): return [{letter + str(i): 1} for i in range(n)]
def same(a, b): return [eq(x, y) for x, y in zip(a, b)]
def swap(g, put):
    """The constraints with forms put for variables."""
    return [(kind, functools.reduce(lambda s, v: add(s, put.get(v, {v: 1}), f[v]), f, {})) for kind, f in g]
def project(c, gone):
    """The constraints on all other variables; exact, or not at all."""
    for v in gone:
        i = next((i for i, (kind, f) in enumerate(c) if kind == "=" and abs(f.get(v, 0)) == 1), None)
        c = c if i is None else put(c, i, v)
        lo, hi = ([f for _, f in c if f.get(v, 0) * way > 0] for way in (1, -1))
        say(all(k == ">=" for k, f in c if v in f) and (all(f[v] == 1 for f in lo) or all(f[v] == -1 for f in hi)), "an end to " + v)
        c = [x for x in c if v not in x[1]] + [(">=", add(add({}, a, -b[v]), b, a[v])) for a in lo for b in hi]
    return c
def outside(given, choices):
    """What is in none of the choices, in parts."""
    if empty(given) or not choices: return [given]
    out = []
    for c in [c for c in choices[0] if c not in given]:
        for o in opposites(c): out += outside(given + [o], choices[1:])
        given = given + [c]
    return out
class Proof:
    def __init__(self, c):
        self.c, self.m, self.buffers = c, len(c["factors"]) + 1, c["buffers"]
        self.factors, self.z = names("F", self.m), self.cell("z")
        say(all(sorted({*b["digits"]} & {*range(self.m)}) == sorted(b["digits"]) for b in self.buffers), "digits of chunks")
        self.root = names("R", self.m) if c["root"] else [{}] * self.m
        self.params = [v for f in self.factors + (self.root if c["root"] else []) for v in f]
        self.base = [ge(f, {1: 1}) for f in self.factors] + self.below(self.root)
        self.holds = [self.base + self.inside(b) + same(self.cell("x"), self.z) for b, x in enumerate(self.buffers) if x["given"]]
    def cell(self, letter): return names("r" + letter, self.m) + names("c" + letter, self.m) + [{"b" + letter: 1}]
    def below(self, digits, used=None):
        return [x for i, d in enumerate(digits) for x in ([ge(d, {}), lt(d, self.factors[i])] if used is None or i in used else [eq(d, {})])]
    def inside(self, b, letter="x"):
        x = self.cell(letter)
        return self.below(x[:self.m]) + self.below(x[self.m:-1], self.buffers[b]["digits"]) + [eq(x[-1], number(b))]
    def pieces(self, list_, point): return pieces(list_, point, self.params)
    def held(self, cell):
        """Where `cell` holds what cell z had at first."""
        return [swap(g, {v: f for x, f in zip(self.cell("x"), cell) for v in x}) for g in self.holds]
    def valued(self): return [project(g, [v for x in self.z for v in x]) for g in self.holds]
    def cells(self, part, point, letter="x"):
        """Where a cell of the rank at a point is one of these chunks."""
        say(part["buffer"] in range(len(self.buffers)) and {*part["free"]} <= {*self.buffers[part["buffer"]]["digits"]}, "digits that are free")
        x, fixed = self.cell(letter), [i for i in self.buffers[part["buffer"]]["digits"] if i not in part["free"]]
        at = self.pieces(part["at"], point)
        say(not any(f for _, to in at for i, f in enumerate(to) if i not in fixed), "digits that are fixed, and all others 0")
        return [g + [eq(x[self.m + i], to[i]) for i in fixed] + self.inside(part["buffer"], letter) for g, to in at]
    def becomes(self, written, new, claimed, line):
        """After a move: a written cell holds the new contents, each other one the old contents, and the certificate claims that."""
        x, z = self.cell("x"), self.z
        kept = [g for h in self.holds for g in outside(h, written) if not empty(g)]
        after = [self.base + g for g, _ in self.pieces(claimed, x + z)]
        own = {v for f in x + z + self.factors + self.root for v in f} | {1}
        made = [project(g, sorted({v for _, f in g for v in f if v not in own})) for g in new if not empty(g)] + kept
        say(all(covered(g, after) for g in made) and all(covered(g, made) for g in after), "what is held after line %d" % line)
        self.holds = after
    def ends(self, move, x, s, b):
        """Where a callee leaves in cell x what cell of digits s, b of its group had: constraints."""
        k, d = move["callee"], move["digit"]
        t, a, n, out = x[d], x[self.m + d], self.factors[d], []
        if k["certificate"] == 2:
            say(k["contract"] in ("allreduce", "broadcast") and len(k["buffers"]) == 1 and bool(k["root"]) == ("root" in move), "a callee's contract")
            root = self.pieces(move["root"], x[:self.m]) if k["contract"] == "broadcast" else [([], None)]
            say(not k["root"] or all(covered(self.base + self.below(x[:self.m]) + g, [[ge(q[0], {}), lt(q[0], n)]]) for g, q in root), "a callee's root")
            return [g + [eq(b, a)] + ([eq(s, q[0])] if q else []) + [ge(s, {}), lt(s, n)] for g, q in root]
        cut = d in move["view"]["free"] # into N parts; else it is one part
        part = lambda had: [eq(b, had)] if cut else [eq(b, a), eq(had, {})]
        names_, point = [*n, "R"], [t] + [{}] * (k["numbers"] - 2) + [a if cut else {}]
        say(k["contract"] == k["root"] == "" and "root" not in move and len(k["buffers"]) == 1, "a callee on one view")
        for kind, j, g, q in [(y["source"][0], int(y["source"][1:]), g, q) for y in k["sources"] if y["read"] == "f0" for g, q in pieces(y["pieces"], point, names_)]:
            if kind == "b": out.append(g + [eq(s, q[0])] + part(q[-1]))
            for c, (lo, many, chunk) in cases(g, *[pieces(k["holds"][j][y], q, names_) for y in ("first", "n", "chunk")]) if kind == "w" else ():
                out += [c + [ge(y, lo[0]), lt(y, add(lo[0], many[0])), ge(s, {}), lt(s, n)] + part(chunk[0]) for y in (s, add(s, n))]
        return out
    def function(self, list_, where, point, line):
        """That these pieces have one value where others have one."""
        given = [g for g, _ in self.pieces(where, point)]
        say(all(whole(self.base + self.below(point[:self.m]) + g, list_, point, self.params) for g in given), "values for all of line %d" % line)
    def call(self, move):
        say(move["digit"] in range(self.m), "a digit of groups")
        d, x, s, b, line = move["digit"], self.cell("x"), names("s", 2), names("p", 2), move["line"]
        def source(i): return [s[i] if j == d else b[i] if j == self.m + d else f for j, f in enumerate(x)]
        view = self.cells(move["view"], x[:self.m])
        for list_ in [move["view"]["at"]] + ([move["root"]] if "root" in move else []): self.function(list_, move["view"]["at"], x[:self.m], line)
        others = [swap(g, {"rx%d" % d: {"other": 1}}) for g in view]
        from_, new = [self.ends(move, x, s[i], b[i]) for i in (0, 1)], []
        for g in [self.base + g for g in view]:
            say(covered(g + [ge({"other": 1}, {}), lt({"other": 1}, self.factors[d])], others), "the same chunks in the groups of line %d" % line)
            say(self.buffers[move["view"]["buffer"]]["writable"] and covered(g, self.valued()), "values for line %d" % line)
            for e in from_[0]:
                say(covered(g + e, [swap(h, {v: w for y, w in zip(x, source(0)) for v in y}) for h in view]), "chunks of line %d" % line)
                new += [g + e + h for h in self.held(source(0))]
                for f, before in itertools.product(from_[1], ([lt(s[0], s[1])], [eq(s[0], s[1]), lt(b[0], b[1])])):
                    if empty(g + e + f + before): continue
                    say(all(empty(g + e + f + before + h + i) for h in self.held(source(0)) for i in self.held(source(1))), "that line %d counts once" % line)
        self.becomes(view, new, move["holds"], line)
    def point(self, o, letter): return names("r" + letter, self.m) + names("l" + letter, o["loops"])
    def met(self, o, point, peer, others):
        """Where another one is the other end of this: (constraints, that, its point)."""
        for x in others:
            if x["loops"] == o["loops"] and x["x"]["free"] == o["x"]["free"]:
                for g, to in self.pieces(x["peer"], peer + point[self.m:]): yield g + same(to, point[:self.m]), x, peer + point[self.m:]
    def messages(self, sends, recvs):
        for o, others in [(o, recvs) for o in sends] + [(o, sends) for o in recvs]:
            p = self.point(o, "x")
            for g, peer in self.pieces(o["peer"], p):
                g, line = self.base + g, o["line"]
                say(covered(g, [self.below(peer)]) and empty(g + same(peer, p)), "peers of line %d" % line)
                say(covered(g, [c for c, _, _ in self.met(o, p, peer, others)]), "messages of line %d" % line)
        for o, x in [pair for ends in (sends, recvs) for pair in itertools.combinations(ends, 2)]:
            p, q = self.point(o, "x"), self.point(x, "y")
            for g, (a, b) in cases(self.base + same(p[:self.m], q), self.pieces(o["peer"], p), self.pieces(x["peer"], q)):
                say(empty(g + same(a, b)), "a FIFO for each of lines %d and %d" % (o["line"], x["line"]))
    def races(self, ops):
        uses = [(o, o[key], key == target(o)) for o in ops for key in "xy" if key in o]
        for (i, (o, a, wa)), (j, (x, b, wb)) in itertools.combinations_with_replacement(enumerate(uses), 2):
            p, q, ways = self.point(o, "x"), self.point(x, "y"), [[]]
            if not (wa or wb) or a["buffer"] != b["buffer"]: continue
            if i == j: ways = [same(p[self.m:k], q[self.m:k]) + [lt(p[k], q[k])] for k in range(self.m, len(p))]
            for parts in itertools.product([self.base + same(self.cell("x"), self.cell("y"))], self.cells(a, p, "x"), self.cells(b, q, "y"), ways):
                say(empty(sum(parts, [])), "a race of lines %d and %d" % (o["line"], x["line"]))
    def step(self, move):
        ops, sends = move["operations"], [o for o in move["operations"] if o["kind"] == "send"]
        say(move["together"] or not any("peer" in o for o in ops), "what comes before line %d" % move["line"])
        for o in ops:
            p, where, keys = self.point(o, "x"), o["x"]["at"], ("x", "peer") if o["kind"] in ("send", "recv", "reduce") else ("x", "y")
            say(o["kind"] in ("send", "recv", "reduce", "copy", "reduce into") and all((k in o) == (k in keys) for k in ("x", "y", "peer")), "what line %d does" % o["line"])
            for list_ in (where, o["peer"] if "peer" in o else o["y"]["at"]): self.function(list_, where, p, o["line"])
            for g, _ in self.pieces(where, p):
                g = self.base + self.below(p[:self.m]) + g
                say(all(covered(g, [[ge(v, {}), lt(v, f)] for f in self.factors]) for v in p[self.m:]), "an end to the loops of line %d" % o["line"])
        self.messages(sends, [o for o in ops if o["kind"] != "send" and "peer" in o])
        self.races(ops)
        written, new, x = [], [], self.cell("x")
        for o in ops:
            p, adds = self.point(o, "x"), o["kind"].startswith("reduce")
            for g in self.cells(o["x"], p) if target(o) != "x" else []:
                say(covered(self.base + g, self.valued()), "values for line %d" % o["line"])
            for g in [self.base + g for g in self.cells(o[target(o)], p)] if target(o) else []:
                say(self.buffers[o[target(o)]["buffer"]]["writable"] and (not adds or covered(g, self.valued())), "that line %d may write" % o["line"])
                written.append(project(g, [v for f in p[self.m:] for v in f]))
                from_ = [(c + d, s["x"], q) for c, peer in self.pieces(o["peer"], p) for d, s, q in self.met(o, p, peer, sends)] if "peer" in o else [([], o["x"], p)]
                say("peer" in o or o["x"]["free"] == o["y"]["free"], "shapes of line %d" % o["line"])
                there = [(g + c + d, q[:self.m] + [x[self.m + i] if i in part["free"] else f for i, f in enumerate(to)] + [number(part["buffer"])])
                         for c, part, q in from_ for d, to in self.pieces(part["at"], q)]
                now = [c + h for c, cell in there if not empty(c) for h in self.held(cell)]
                old = [g + h for h in self.held(x)] if adds else []
                say(all(empty(h + i) for h in now for i in old), "that line %d counts once" % o["line"])
                new += now + old
        self.becomes(written, new, move["holds"], move["line"])
    def contract(self):
        name, m, x, z = self.c["contract"], self.m, self.cell("x"), self.z
        many, mine = name in ("allgather", "gather", "all_to_all"), name in ("reduce_scatter", "scatter", "all_to_all")
        say(many or mine or name in ("allreduce", "broadcast", "reduce"), "a contract of the prelude")
        out, used = int(many or mine), [b["digits"] for b in self.buffers]
        say(all(b["promised"] == (i <= out) for i, b in enumerate(self.buffers)) and self.buffers[0]["given"] and not any(b["given"] for b in self.buffers[1:]), "buffers of the contract")
        say(not out or (not self.c["reversed"] and all((len(u) == m) == whole and len(u) in (0, m) for u, whole in zip(used, (mine, many)))), "the contract's blocks")
        rank = x[m:-1] if many else self.root if name in ("broadcast", "scatter") else z[:m]
        chunk = x[:m] if mine else [{}] * m if many else x[m:-1]
        g = self.base + self.inside(out) + (same(x, self.root) if name in ("reduce", "gather") else [])
        wanted = [g + self.below(z[:m]) + same(z[:m], rank) + same(z[m:], chunk + [{}])]
        say(all(covered(g + h, wanted) for h in self.holds) and all(covered(h, self.holds) for h in wanted), "the contract")
def target(o): return None if o["kind"] == "send" else "x" if "peer" in o else "y"
def callee(c, parts):
    """Has its certificate checked, for a view that is cut into that many parts."""
    by = os.path.join(os.path.dirname(__file__), "certificate_powers.py" if c["certificate"] == 2 else "certificate.py")
    p = subprocess.run([sys.executable, "-S", by, "/dev/stdin", "--callee", parts], input=json.dumps(c), capture_output=True, text=True)
    say(p.returncode == 0, "the callee %s: %s" % (c["schedule"], p.stderr.strip()))
def main(c, arguments):
    proof = Proof(c)
    say(formed(c), "the form of sums")
    for k, n in sorted({(json.dumps(x["callee"]), "N" if x["digit"] in x["view"]["free"] else "1") for x in c["moves"] if "callee" in x}): callee(json.loads(k), n)
    for move in c["moves"]: (proof.call if "callee" in move else proof.step)(move)
    proof.contract()
    print("ok - %s: %s for every N, and every %s" % (c["schedule"], c["contract"], " and ".join(c["factors"])))
checked(main, 3)
