"""Compares a certificate of `ccc check --certificate` of a grid with a text: its contract, root, buffers and operations.

usage: certificate_grid_text.py CERTIFICATE [--up-to N] CCC [ccc's arguments, the schedule last]

The operations of calls and steps are compared with `ccc --emit=program` for each N up to 32 (with
two factors and more, or roots, 12), or as said, each way to cut it by factors up to N, and each
root; those of callees are printed by their own programs. Nothing is claimed of the text beyond. That
they keep the contract for all sizes is certificate_grid.py's to say: both must say ok.
"""
import functools, itertools, json, math, os, subprocess, sys
from certificate_form import *
from certificate_program import *
def operations(c, most):
    """A callee's, for groups of up to `most`."""
    by = os.path.join(os.path.dirname(__file__), "certificate_powers_text.py" if c["certificate"] == 2 else "certificate_text.py")
    p = subprocess.run([sys.executable, "-S", by, "/dev/stdin", "--parts", *map(str, range(1, most + 1))], input=json.dumps(c), capture_output=True, text=True)
    say(p.returncode == 0, "the callee %s: %s" % (c["schedule"], p.stderr.strip()))
    return json.loads(p.stdout)
class Sizes: # the moves for one way to cut N
    def __init__(self, c, sizes, root, callees):
        self.c, self.sizes, self.callees = c, sizes, callees
        self.parameters = [1, *sizes] + (self.digits(root) if c["root"] else [])
    def digits(self, rank): return [rank // math.prod(self.sizes[:i]) % f for i, f in enumerate(self.sizes)]
    def rank(self, digits): return sum(d * self.weight(range(len(self.sizes)), i, False) for i, d in enumerate(digits))
    def weight(self, used, i, reversed_): return math.prod(self.sizes[j] for j in used if (j > i if reversed_ else j < i))
    def at(self, list_, point): return value_at(list_, self.parameters + point)
    def chunks(self, part, point, lo=0, hi=1, digit=None):
        b, at = self.c["buffers"][part["buffer"]], self.at(part["at"], point)
        low = sorted(b["digits"], reverse=self.c["reversed"])
        say({*part["free"]} == {*low[:len(part["free"])]} and (digit not in part["free"] or digit == low[len(part["free"]) - 1]), "chunks in a row")
        one = math.prod(self.sizes[i] for i in part["free"] if i != digit)
        first = sum(d * self.weight(b["digits"], i, self.c["reversed"]) for i, d in enumerate(at) if i in b["digits"])
        scratch = 0 if b["promised"] else sum(self.size(x) for x in self.c["buffers"][:part["buffer"]] if not x["promised"])
        return b["name"] if b["promised"] else "scratch", scratch + first + lo * one, scratch + first + hi * one
    def size(self, b): return math.prod(self.sizes[i] for i in b["digits"])
    def call(self, move, r):
        if self.at(move["view"]["at"], r) is None: return []
        d, callee = move["digit"], self.callees[json.dumps(move["callee"])][str(self.sizes[move["digit"]])]
        if "root" in move: callee = callee[str(self.at(move["root"], r)[0])]
        peer = lambda q: q if q is None else self.rank(r[:d] + [q] + r[d + 1:])
        return [[(line, kind, peer(q)) + tuple(self.chunks(move["view"], r, lo, hi, d) for _, lo, hi in x) for line, kind, q, *x in step] for step in callee.get(str(r[d]), [])]
    def step(self, move, r):
        points = [(o, r + list(trips)) for o in move["operations"] for trips in itertools.product(range(max(self.sizes)), repeat=o["loops"])]
        out = [(o["line"], o["kind"].split()[0], self.rank(self.at(o["peer"], p)) if "peer" in o else None) + tuple(self.chunks(o[key], p) for key in "xy" if key in o)
               for o, p in points if self.at(o["x"]["at"], p) is not None]
        return [out] if move["together"] and out else [[x] for x in out]
    def compare(self, real, counts):
        made = {(r,): [s for move in self.c["moves"] for s in (self.call if "callee" in move else self.step)(move, self.digits(r))] for r in range(math.prod(self.sizes))}
        say(list(counts.items()) == [(b["name"], self.size(b)) for b in self.c["buffers"] if b["promised"]], "buffers for " + str(self.sizes))
        made, real = ({r: [sorted(s, key=lambda o: o[:2]) for s in v] for r, v in x.items() if v} for x in (made, real))
        say(made == real, "the operations for " + str(self.sizes))
def each(c, ccc, arguments, n):
    for factors in itertools.product(range(1, n + 1), repeat=len(c["factors"])):
        texts = programs(ccc, ["-D%s=%d" % x for x in zip(c["factors"], factors)] + arguments, c, n)
        rest, other = divmod(n, math.prod(factors))
        say(sorted(texts) == ([] if other else list(range(n if c["root"] else 1))), "whether N = %d can be cut by %s, with each root" % (n, factors))
        for root, (real, counts) in texts.items(): Sizes(c, [*factors, rest], root, callees(c, n)).compare(real, counts)
@functools.cache
def operations_of(k, most): return operations(json.loads(k), most)
def callees(c, n):
    """Their operations, for groups of up to the next power of two."""
    return {k: operations_of(k, 1 << n.bit_length()) for k in {json.dumps(x["callee"]) for x in c["moves"] if "callee" in x}}
def main(c, arguments):
    compare(c, arguments, 12 if c["root"] or len(c["factors"]) > 1 else 32, each, ", and each way to cut it by %s up to N," % " and ".join(c["factors"]))
checked(main, 3)
