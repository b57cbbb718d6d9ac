"""Checks a certificate of `ccc check --certificate` where `where` admits a few N only.

usage: certificate_tried.py CERTIFICATE [--up-to N] CCC [ccc's arguments, the schedule last]

It says which N are possible. That these are few is proved for all N, and for N up to 64, or as said,
ccc must refuse all others; each of them is run with one slot in each FIFO. That decides for all runs: what a rank
can do never depends on the order in which others do theirs, as long as nothing races in a step.
"""
import collections, itertools
from certificate_form import *
from certificate_program import *
from certificate_sums import *
MOST = 32 # ranks that are run
def races(step):
    """Whether an operation touches a chunk that another one of its step writes."""
    def uses(op): return [(c, kind) for part, kind in zip(op[3:], ("w" if op[1] in ("recv", "reduce") and op[2] is not None else "r", "w")) for c in part]
    return any(c == d and "w" in (x, y) for a, b in itertools.combinations(step, 2) for c, x in uses(a) for d, y in uses(b))
class Run:
    def __init__(self, steps, holds):
        self.steps, self.holds = {r: [list(s) for s in v] for r, v in steps.items()}, holds
        self.fifos = collections.defaultdict(list)
    def read(self, rank, cells, line):
        say(all((rank, c) in self.holds for c in cells), "values for line %d" % line)
        return [self.holds[rank, c] for c in cells]
    def write(self, rank, cells, values, adds, line):
        say(len(cells) == len(values), "lengths of line %d" % line)
        old = self.read(rank, cells, line) if adds else [frozenset()] * len(cells)
        say(not any(a & b for a, b in zip(old, values)), "that line %d counts once" % line)
        for c, a, b in zip(cells, old, values): self.holds[rank, c] = a | b
    def done(self, rank, op):
        """Does an operation, if it can be done now."""
        line, kind, peer, x, *y = op
        if peer is None:
            self.write(rank, y[0], self.read(rank, x, line), kind == "reduce", line)
            return True
        fifo = self.fifos[(rank, peer) if kind == "send" else (peer, rank)]
        if bool(fifo) == (kind == "send"): return False
        if kind == "send": fifo.append(self.read(rank, x, line))
        else: self.write(rank, x, fifo.pop(), kind == "reduce", line)
        return True
    def advance(self, rank):
        """What a rank can do of its step: of each FIFO's operations, the first."""
        step, waits, left = self.steps[rank][0], set(), []
        for op in step:
            end = (op[1] == "send", op[2])
            if (op[2] is not None and end in waits) or not self.done(rank, op):
                waits.add(end)
                left.append(op)
        self.steps[rank][0] = left
        if not left: self.steps[rank].pop(0)
        return len(left) < len(step)
    def all(self):
        while any([self.advance(r) for r, v in self.steps.items() if v]): pass
        say(not any(self.steps.values()) and not any(self.fifos.values()), "that the run ends")
def contract(name, n, sizes, holds):
    """That a contract of the prelude, of the first buffers of a schedule, is kept; the root is 0."""
    first, last = list(sizes)[0], list(sizes)[-1]
    many, mine = name in ("allgather", "gather", "all_to_all"), name in ("reduce_scatter", "scatter", "all_to_all")
    say(many or mine or name in ("allreduce", "broadcast", "reduce"), "a contract of the prelude")
    say(len(sizes) == 1 + (many or mine), "buffers of the contract")
    block = sizes[last] // n if many else sizes[last]
    for rank, i in itertools.product([0] if name in ("reduce", "gather") else range(n), range(sizes[last])):
        ranks = [i // block] if many else [0] if name in ("broadcast", "scatter") else range(n)
        chunk = (i % block if many else i) + (rank * block if mine else 0)
        say(holds.get((rank, (last, i))) == frozenset((q, chunk) for q in ranks), "the contract for N = %d" % n)
def each(c, ccc, arguments, n):
    texts, admitted = programs(ccc, arguments, c, n, chunks), value_at(c["possible"], [1, n] + [0] * (1 + c["numbers"])) is not None
    say(admitted == bool(texts), "whether N = %d is possible" % n)
    for steps, sizes in texts.values():
        say(all(len(r) == 1 for r in steps), "a text without blocks of a par")
        steps, first = {r: v for (r,), v in steps.items()}, list(sizes)[0]
        say(not any(races(s) for v in steps.values() for s in v), "that nothing races for N = %d" % n)
        run = Run(steps, {(r, (first, i)): frozenset([(r, i)]) for r in range(n) for i in range(sizes[first])})
        run.all()
        contract(c["contract"], n, sizes, run.holds)
def main(c, arguments):
    possible = [g for g, _ in pieces(c["possible"], [{"rank": 1}] + [{}] * (c["numbers"] - 1))]
    say(formed(c) and all(empty(g + [ge({"N": 1}, number(MOST + 1))]) for g in possible), "that few N are possible")
    few = [str(n) for n in range(2, MOST + 1) if value_at(c["possible"], [1, n] + [0] * (1 + c["numbers"])) is not None]
    compare({**c, "root": ""}, arguments, 64, each, "", "this text is possible for %s only, and keeps %s; beyond that it was not looked at" % (", ".join(few), c["contract"]))
checked(main, 4)
