"""Constraints on sums of integers, refuted by Fourier-Motzkin elimination with exact integers,
tightened by their greatest common divisors: what is found empty is empty. Forms are dictionaries
from variables to factors, with 1 for the constant; a constraint is (">=" or "=", form)."""
import itertools, math
from certificate_form import say
def add(a, b, k=1): return {v: c for v in {**a, **b} if (c := a.get(v, 0) + k * b.get(v, 0))}
def number(n): return {1: n} if n else {}
def ge(a, b): return (">=", add(a, b, -1))
def lt(a, b): return (">=", add(add(b, a, -1), {1: -1}))
def eq(a, b): return ("=", add(a, b, -1))
def put(c, i, v):
    """Without the i-th constraint, an equality that says what v is."""
    return [(k, add(g, c[i][1], -g[v] * c[i][1][v]) if v in g else g) for k, g in c[:i] + c[i + 1:]]
def solve_equal(c):
    """Puts equalities with a factor of 1 or -1 into the others."""
    while True:
        i, v = next(((i, v) for i, (kind, f) in enumerate(c) for v in f if kind == "=" and v != 1 and abs(f[v]) == 1), (0, None))
        if v is None: return c
        c = put(c, i, v)
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
        up, down = {}, {}
        for key in rows:
            for v, k in key: (up if k > 0 else down)[v] = (up if k > 0 else down).get(v, 0) + 1
        if not up and not down: return False
        v = min({**up, **down}, key=lambda v: (up.get(v, 0) * down.get(v, 0), v))
        forms = [({**dict(key), 1: c}, key) for key, c in rows.items() if any(v == w for w, _ in key)]
        for _, key in forms: del rows[key]
        lo, hi = [f for f, _ in forms if f[v] > 0], [f for f, _ in forms if f[v] < 0]
        if len(lo) * len(hi) + len(rows) > 3000: return False
        if not all(keep(rows, tight(add(add({}, a, -b[v]), b, a[v]))) for a in lo for b in hi): return True
def keep(rows, f):
    key = tuple(sorted((v, k) for v, k in f.items() if v != 1))
    c = f.get(1, 0)
    if not key: return c >= 0
    rows[key] = min(c, rows.get(key, c))
    return rows.get(tuple((v, -k) for v, k in key), 1 << 60) + rows[key] >= 0
def opposites(c): return [(">=", add({1: -1}, c[1], -1))] + ([] if c[0] == ">=" else [(">=", add(c[1], {1: -1}))])
def covered(given, choices):
    """Whether one of the choices (lists of constraints) holds wherever all of `given` do."""
    if empty(given): return True
    near = [c for c in ([x for x in choice if x not in given] for choice in choices) if not empty(given + c)]
    if not near: return False
    open_ = [[c for c in choice if any(not empty(given + [o]) for o in opposites(c))] for choice in near]
    i = min(range(len(near)), key=lambda i: len(open_[i]))
    return all(covered(given + open_[i][:k] + [o], near[:i] + near[i + 1:]) for k, c in enumerate(open_[i]) for o in opposites(c))
def cases(given, *lists):
    """All ways to take one case of each list, where they can be: (constraints, values)."""
    if not lists: yield given, []
    for conditions, value in lists[0] if lists else ():
        if empty(given + conditions): continue
        for g, values in cases(given + conditions, *lists[1:]): yield g, [value] + values
def at(s, point, names=("N", "R")):
    """A sum of the parameters that have these names, and of a point's numbers."""
    f = number(s[0])
    for k, p in zip(s[1:], [{v: 1} for v in names] + list(point)): f = add(f, p, k)
    return f
def pieces(list_, point, names=("N", "R")): return [([(k, at(s, point, names)) for k, s in p["if"]], [at(s, point, names) for s in p["to"]]) for p in list_]
def whole(given, list_, point, names=("N", "R")):
    """Whether these pieces have one value where `given` does, and nowhere two."""
    g = [c for c, _ in pieces(list_, point, names)]
    return covered(given, g) and all(empty(a + b) for a, b in itertools.combinations(g, 2))
def formed(x):
    """Whether each piece has conditions of the two kinds, and sums of integers."""
    if not isinstance(x, (dict, list)): return True
    if not isinstance(x, dict) or "if" not in x: return all(map(formed, x.values() if isinstance(x, dict) else x))
    return all(k in ("=", ">=") for k, _ in x["if"]) and all(type(v) is int for s in x["to"] + [s for _, s in x["if"]] for v in s)
def trips_end(o, d, n):
    """Where an operation's trips end for n ranks: at k * N, or more."""
    p, trips = [{"p%d" % i: 1} for i in range(d)], [e["value"] for e in o["place"] if e["kind"] == "trip"]
    for k, more in (0, 9), (1, 0), (1, 9), (2, 9), (4, 9):
        end = add(number(more), {"N": k} if k else {})
        if all(empty(g + [ge({"N": 1}, {1: 1}), ge(p[v], end)]) for g, _ in pieces(o["points"], p) for v in trips): return k * n + more
    say(False, "an end to the loops of line %d" % o["line"])
