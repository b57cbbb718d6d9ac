#!/usr/bin/env python3
"""Random programs on random machines whose messages share links: `ccc simulate` against SimGrid
(simgrid.cc). A program moves chunks between random ranks, many of them over a third rank; a machine has leaf
switches and a spine of random bandwidths and latencies, and costs of ranks.

SimGrid shares a link fairly, like a fluid; ccc serves tiles in the order of arrival. So a flow that waits for each of
its tiles gets less of a link in ccc.

Prints a line for each case that differs by more than 5 %, and "N within 5 %, the median M %, the worst W %".
usage: contention.py CCC SIMGRID FOLDER CASES [SEED]
"""

import csv
import json
import multiprocessing
import os
import random
import subprocess
import sys

SLOTS = 8
SIZES, TILE = (4 << 20, 16 << 20), 8192  # with few tiles the order in which a link takes them counts


def run(*command, text=None):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=True).stdout


# ---- programs and machines -----------------------------------------------------------------------


def program(rng, nranks):
    """Message j goes from src to dst, by mid if that is a third rank."""
    n = rng.randrange(4, 25)
    body = []
    src, dst = [], []
    for j in range(n):
        a, b = rng.sample(range(nranks), 2)
        via = rng.choice([r for r in range(nranks) if r not in (a, b)]) if rng.random() < 0.4 else None
        src.append(a)
        dst.append(b)
        if via is None:
            body += ["if rank == %d { send a[%d] to %d }" % (a, j, b), "if rank == %d { recv b[%d] from %d }" % (b, j, a)]
        else:
            body += ["if rank == %d { send a[%d] to %d }" % (a, j, via),
                     "if rank == %d { recv t[%d] from %d  send t[%d] to %d }" % (via, j, a, j, b),
                     "if rank == %d { recv b[%d] from %d }" % (b, j, via)]

    return """contract move(in a[%d], out b[%d])
  %s
schedule random implements move(in a[%d], out b[%d]) where N == %d {
  scratch t[%d]
  %s
}
""" % (n, n, "\n  ".join("ensures rank == %d: b[%d] == a[%d]@%d" % (dst[j], j, j, src[j]) for j in range(n)),
       n, n, nranks, n, "\n  ".join(body))


class Machine:
    """Leaves of ranks below one spine; links of the ranks, and of the leaves, of random times."""

    def __init__(self, rng, nranks):
        self.nranks = nranks
        self.group = rng.choice([g for g in (2, 3, 4, 8) if g <= nranks] or [nranks])
        self.leaves = -(-nranks // self.group)
        self.cost = [rng.choice([0, 3e-6]), rng.choice([0, 0.5e-6, 1e-6]), rng.choice([0, 20e9, 60e9]), 0]
        near, far = ((rng.uniform(10, 80) * 1e9, rng.uniform(0.05, 2) * 1e-6) for _ in range(2))
        self.links = {}  # (from, to): (bandwidth, latency)
        for r in range(nranks):
            self.links[r, self.leaf(r)] = self.links[self.leaf(r), r] = near
        for k in range(self.leaves):
            self.links[("leaf", k), ("spine", 0)] = self.links[("spine", 0), ("leaf", k)] = far
        self.number = {pair: i for i, pair in enumerate(self.links)}

    def leaf(self, rank):
        return ("leaf", rank // self.group)

    def path(self, src, dst):
        a, b = self.leaf(src), self.leaf(dst)
        nodes = [src, a, dst] if a == b else [src, a, ("spine", 0), b, dst]
        return list(zip(nodes, nodes[1:]))

    def text(self):
        name = lambda x: str(x) if isinstance(x, int) else "spine" if x[0] == "spine" else "leaf[%d]" % x[1]
        cost = [(k, v) for k, v in zip(("call", "step", "worker", "reduce"), self.cost) if v]
        lines = ["topology machine where N == %d {" % self.nranks, "  switch leaf[%d]" % self.leaves, "  switch spine"]
        if cost:
            lines.append("  cost (%s)" % ", ".join("%s = %.12g" % x for x in cost))
        for (a, b), (bandwidth, latency) in self.links.items():
            lines.append("  link %s -> %s (bandwidth = %.17g, latency = %.17g)" % (
                name(a), name(b), bandwidth, latency))
        return "\n".join(lines + ["}", ""])


# ---- the referee ---------------------------------------------------------------------------------


def question(plan, machine, size, tile_bytes):
    """The input of simgrid.cc."""
    block = size / max([1] + [s["blocks"] for s in plan["shapes"]])
    length = [block / s["chunks"] for s in plan["shapes"] for _ in range(s["blocks"] * s["chunks"])]
    longest, tile, ntiles = max(length), max(length), 1
    if longest > tile_bytes:
        n = -(-longest // tile_bytes)
        tile = -(-longest / n // 64) * 64
        ntiles = int(-(-longest // tile))
    out = ["ranks %d slots %d" % (machine.nranks, SLOTS), "cost %r %r %r %r" % tuple(machine.cost)]
    out += ["link %r" % bandwidth for bandwidth, _ in machine.links.values()]
    for f in plan["fifos"]:
        path = machine.path(f["src"], f["dst"])
        out.append("fifo %d %d %r %d %s" % (
            f["src"], f["dst"], sum(machine.links[x][1] for x in path), len(path),
            " ".join(str(machine.number[x]) for x in path)))
    for worker in plan["workers"]:
        out.append("worker %d" % worker["rank"])
        for op in worker["ops"]:
            cells = [op["len"] + (0 if op["len_same"] else j) for j in range(op["n"])]
            waits = ["%d %d" % (w["worker"], w["ops"]) for w in op["waits"]]
            sizes = [sum(min(max(length[c] - t * tile, 0), tile) for c in cells) for t in range(ntiles)]
            end = lambda f: -1 if f is None else f
            out.append("op %d %d %d %d %s %d %s" % (
                end(op["in"]), end(op["out"]), "reduce" in op["op"], len(waits), " ".join(waits), ntiles,
                " ".join("%r" % x for x in sizes)))
    return "\n".join(out) + "\n"


def judge(case):
    ccc, simgrid, folder, seed = case
    rng = random.Random(seed)
    nranks = rng.randrange(3, 13)
    machine = Machine(rng, nranks)
    name = os.path.join(folder, "random%d.ccs" % seed)
    with open(name, "w", encoding="utf-8") as file:
        file.write(program(rng, nranks) + machine.text())
    size, tile = rng.choice(SIZES), TILE
    rows = list(csv.DictReader(run(ccc, "simulate", name, "-n", str(nranks), "-b", str(size), "--tile", str(tile),
                                   "--format=csv", "--on", name + ":machine").splitlines()))
    plan = json.loads(run(ccc, name, "-n", str(nranks), "--emit=json"))["plans"][0]
    want = 1e6 * float(run(simgrid, text=question(plan, machine, size, tile)))
    os.unlink(name)
    return seed, float(rows[0]["us"]), want


def main():
    ccc, simgrid, folder, cases = sys.argv[1:5]
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    with multiprocessing.Pool() as pool:
        results = pool.map(judge, [(ccc, simgrid, folder, first + i) for i in range(int(cases))], chunksize=1)
    off = sorted(abs(us - want) / want for _, us, want in results)
    for seed, us, want in results:
        if abs(us - want) > 0.05 * want:
            print("case %d: %.3f us, by SimGrid %.3f" % (seed, us, want))
    print("%d within 5 %%, the median %.1f %%, the worst %.1f %%" % (
        sum(x <= 0.05 for x in off), 100 * off[len(off) // 2], 100 * off[-1]))


if __name__ == "__main__":
    main()
