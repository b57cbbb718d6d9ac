"""Checks a certificate of `ccc check --certificate` where `where` admits a few N only.

usage: certificate_tried.py CERTIFICATE CCC [ccc's arguments, the schedule last]

It says which N are possible. That these are few is proved for all N, and compared with those that
ccc refuses; each of them is run with one slot in each FIFO. That decides for all runs: what a rank
can do never depends on the order in which others do theirs, as long as nothing races in a step.
"""
import collections, itertools
from certificate_form import *
from certificate_program import *
from certificate_sums import *
MOST, COMPARED = 32, 32 # N that are run, and N of which it is asked whether ccc refuses them
def operations(ccc, arguments, schedule):
    """Of each rank: its steps; nothing else may be in its text. And the buffers' sizes."""
    steps, sizes = program(ccc, arguments, schedule, chunks)
    say(steps, "that %s is possible" % " ".join(arguments[:2]))
    say(all(len(r) == 1 for r in steps), "a text without blocks of a par")
    return {r: v for (r,), v in steps.items()}, sizes
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
def main(c, arguments):
    ccc, *arguments = arguments
    rank, N = {"rank": 1}, {"N": 1}
    possible = [g for g, _ in pieces(c["possible"], [rank] + [{}] * (c["numbers"] - 1))]
    say(all(empty(g + [ge(N, number(MOST + 1))]) for g in possible), "that few N are possible")
    few = [n for n in range(2, MOST + 1) if value_at(c["possible"], [1, n] + [0] * (1 + c["numbers"])) is not None]
    for n in range(2, beyond(arguments, COMPARED) + 1):
        given = ["-n", str(n)] + arguments
        if n not in few:
            say(program(ccc, given, c["schedule"])[0] is None, "that N = %d is not possible" % n)
            continue
        steps, sizes = operations(ccc, given, c["schedule"])
        promised({**c, "root": ""}, arguments, list(sizes))
        say(not any(races(s) for v in steps.values() for s in v), "that nothing races for N = %d" % n)
        first = list(sizes)[0]
        run = Run(steps, {(r, (first, i)): frozenset([(r, i)]) for r in range(n) for i in range(sizes[first])})
        run.all()
        contract(c["contract"], n, sizes, run.holds)
    print("ok - %s: %s for every N, which is %s" % (c["schedule"], c["contract"], ", ".join(map(str, few))))
checked(main, 4)
