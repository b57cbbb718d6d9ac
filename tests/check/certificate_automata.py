"""Relations of natural numbers as automata that read their bits, the lowest first; partial here
(what has no way on is not accepted), and the least ones, so that equal ones look alike."""
import functools
from certificate_form import say
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
    rows, n = [{int(l): t for l, t in row.items()} for row in j["next"]], len(j["next"])
    say(all(l in range(1 << len(j["tracks"])) and t in range(n) for row in rows for l, t in row.items()) and set(j["accepts"]) <= set(range(n)), "letters and states of an automaton")
    a = Automaton(j["tracks"], rows, set(j["accepts"]))
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
def tuples(a, **fixed):
    """The tuples of numbers where some are given. There must be an end to them."""
    a = both(a, *[total(-v, True, **{t: 1}) for t, v in fixed.items() if t in a.tracks])
    def go(s, at, number):
        say(at < 40, "an end to numbers")
        if a.next[s] == {0: s}: return [number]
        return [x for l, t in a.next[s].items() for x in go(t, at + 1, {k: v | (l >> i & 1) << at for i, (k, v) in enumerate(number.items())})]
    return [] if empty(a) else go(0, 0, dict.fromkeys(a.tracks, 0))
