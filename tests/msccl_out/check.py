"""Executes MSCCL XML as its executors do, and says whether it computes its collective.

A checker of its own: it shares nothing with the compiler, and knows files only by what MSCCL and
RCCL make of them. Values are multisets, exactly: a number with eight bits for every chunk of
every rank's input, so that to reduce is to add. Blocks run in a random order, each as far as it
can, with K messages in a FIFO. Accesses of a chunk by two blocks of a GPU have to be in order, by
their steps, waits and messages (vector clocks), one of them at least writing.

usage: check.py [--plan] FILE.xml...      --plan: FILE.json, of --emit=json, has the contract
Prints a line a file: FILE: right in=0|1 out=0|1 slots=A,B, or FILE: wrong: WHY. A and B are the
least slots with a message a step, and a chunk.
"""
import json
import math
import random
import sys
import xml.etree.ElementTree as tree

BITS = 8
RECEIVES, SENDS = {"r", "rcs", "rrc", "rrs", "rrcs"}, {"s", "rcs", "rrs", "rrcs"}
READS, WRITES = {"s", "cpy", "re", "rrc", "rrs", "rrcs"}, {"r", "cpy", "re", "rcs", "rrc", "rrcs"}


class Wrong(Exception):
    pass


def need(condition, *why):
    if not condition:
        raise Wrong(" ".join(str(w) for w in why))


class Step:
    def __init__(self, e, place):
        self.place = place
        self.s, self.n = int(e.get("s")), int(e.get("cnt"))
        self.type = e.get("type")
        self.src = (e.get("srcbuf"), int(e.get("srcoff")))
        self.dst = (e.get("dstbuf"), int(e.get("dstoff")))
        self.dep = (int(e.get("depid")), int(e.get("deps")))
        self.hasdep = e.get("hasdep") == "1"
        self.last = self.s  # in the file; later reductions may join it
        self.more = []  # sources that are reduced with it
        self.waits = []


class Block:
    """Steps as an executor holds them: without nops, reductions of one chunk joined."""

    def __init__(self, gpu, e):
        self.gpu, self.id = gpu, int(e.get("id"))
        self.send, self.recv = int(e.get("send")), int(e.get("recv"))
        self.chan = int(e.get("chan"))
        self.steps, waits, joins = [], [], False
        self.file = [Step(s, f"gpu {gpu} tb {self.id} s {s.get('s')}") for s in e]
        need(len(self.file) <= 256, "gpu", gpu, "tb", self.id, "has over 256 steps")
        for i, s in enumerate(self.file):
            need(s.s == i, s.place, "is not in order")
            if s.dep[0] >= 0:
                waits.append(s.dep)
            if s.type == "nop":
                need(s.dep[0] >= 0 and not s.hasdep, s.place, "waits for nothing")
                continue
            need(1 <= s.n < 72, s.place, "cnt")
            need(not waits or s.dep[0] >= 0, s.place, "is behind nops, and waits for nothing")
            before = self.steps[-1] if self.steps else None
            if joins and s.type == "re" and s.dep[0] < 0 and before.dst == s.dst and before.src[0] == s.src[0]:
                before.more.append(s.src)
                before.n, before.last, before.hasdep = s.n, s.s, s.hasdep
            else:
                s.waits, waits = waits, []
                self.steps.append(s)
            joins = s.type == "re" and not s.hasdep and len(self.steps[-1].more) < 15
        need(not waits, "gpu", gpu, "tb", self.id, "ends with nops")


class File:
    def __init__(self, path, text=None):
        text = text or open(path, encoding="utf-8").read()
        need(text.startswith("<algo ") and text.endswith("</algo>\n"), "text around <algo>")
        a = tree.fromstring(text)
        self.path, self.coll = path, a.get("coll")
        self.n, self.chunks = int(a.get("ngpus")), int(a.get("nchunksperloop"))
        self.given = a.get("inplace") == "1", a.get("outofplace") == "1"
        need(a.get("proto") in ("Simple", "LL", "LL128"), "proto")
        need(0 == int(a.get("minBytes")) < int(a.get("maxBytes")), "minBytes, maxBytes")
        need([g.get("id") for g in a] == [str(i) for i in range(self.n)], "ids of GPUs")
        self.size = [{b: int(g.get(b + "_chunks")) for b in "ios"} for g in a]
        self.blocks = [[Block(i, t) for t in g] for i, g in enumerate(a)]
        self.all = [b for g in self.blocks for b in g]
        self.check_form(int(a.get("nchannels")))

    def check_form(self, nchannels):
        need(1 <= nchannels <= 32, "channels")
        self.fifos = {}
        for i, b in enumerate(self.all):
            b.row = i
            need(b.id == i - self.all.index(self.blocks[b.gpu][0]), "ids of blocks")
            need(0 <= b.chan < nchannels, "chan")
            for peer, pair, end in (b.send, (b.gpu, b.send), 0), (b.recv, (b.recv, b.gpu), 1):
                if peer >= 0:
                    need(peer != b.gpu and peer < self.n, "peer")
                    ends = self.fifos.setdefault((*pair, b.chan), [None, None])
                    need(ends[end] is None, pair, "channel", b.chan, "has two blocks at one end")
                    ends[end] = b
            for s in b.steps:
                need(s.type not in SENDS or b.send >= 0, s.place, "sends to nobody")
                need(s.type not in RECEIVES or b.recv >= 0, s.place, "receives from nobody")
                for at, used in [(s.src, READS), (s.dst, WRITES)] + [(m, READS) for m in s.more]:
                    need(s.type not in used or 0 <= at[1] <= self.size[b.gpu][at[0]] - s.n, s.place, "is outside")
                for tb, step in s.waits:
                    need(tb < min(128, len(self.blocks[b.gpu])) and tb != b.id, s.place, "depid")
                    of = self.blocks[b.gpu][tb]
                    need(step < len(of.file) and of.file[step].hasdep, s.place, "deps")
        need(all(None not in e for e in self.fifos.values()), "a FIFO has one end")
        for g in self.blocks:
            need(all(sum(b.chan == c for b in g) <= 32 for c in range(nchannels)), "blocks a channel")
            need(2 + self.n + len(g) + sum(len(b.file) for b in g) <= 4096, "elements")

    def at(self, gpu, in_place, at):
        """A chunk, by a name that it has once."""
        buffer, chunk = at
        if in_place and buffer != "s":
            i, o = self.size[gpu]["i"], self.size[gpu]["o"]
            if buffer == "i" and i < o:
                chunk += gpu * i
            if buffer == "o" and o < i:
                chunk += gpu * o
            buffer = "io"
        return gpu, buffer, chunk

    def one(self, gpu, chunk):
        return 1 << BITS * (gpu * max(s["i"] for s in self.size) + chunk)


def run(f, in_place, slots, single, order=None, races=True):
    """All values at the end; or None: it waits for ever."""
    memory, n = {}, len(f.all)
    for g in range(f.n):
        for c in range(f.size[g]["i"]):
            memory[f.at(g, in_place, ("i", c))] = f.one(g, c)
    queues = {k: [] for k in f.fifos}
    at, done = [0] * n, [-1] * n  # step, and chunk of it; last step that is over, as in the file
    part, clocks = [0] * n, [[0] * n for _ in range(n)]
    touched = {}  # chunk: its last writer, and readers since: (block, time)

    def touch(b, where, writes):
        last, readers = touched.get(where, (None, []))
        for row, time in ([last] if last else []) + (readers if writes else []):
            need(clocks[b.row][row] >= time, "race:", b.steps[at[b.row]].place, "and a step of tb", f.all[row].id, "at", *where)
        mine = (b.row, clocks[b.row][b.row])
        touched[where] = (mine, []) if writes else (last, [r for r in readers if r[0] != b.row] + [mine])

    def load(b, buffer, chunk):
        where = f.at(b.gpu, in_place, (buffer, chunk))
        if races:
            touch(b, where, False)
        need(where in memory, b.steps[at[b.row]].place, "reads", *where, "which has no value")
        return memory[where]

    def join(b, clock):
        clocks[b.row] = [max(x, y) for x, y in zip(clocks[b.row], clock)]

    def move(b, s, message, j):
        value = message[j - part[b.row]] if message else 0
        for buffer, chunk in ([s.src] + s.more) if s.type in READS else []:
            value += load(b, buffer, chunk + j)
        where = f.at(b.gpu, in_place, (s.dst[0], s.dst[1] + j))
        if s.type == "re":
            value += load(b, s.dst[0], s.dst[1] + j)
        if s.type in WRITES:
            if races:
                touch(b, where, True)
            memory[where] = value
        return value

    def step(b):
        s, k = b.steps[at[b.row]], b.row
        count = 1 if single else s.n
        into, out = (b.recv, b.gpu, b.chan), (b.gpu, b.send, b.chan)
        if any(done[f.blocks[b.gpu][tb].row] < d for tb, d in s.waits):
            return False
        if s.type in RECEIVES and not queues[into] or s.type in SENDS and len(queues[out]) >= slots:
            return False
        message, clock = queues[into].pop(0) if s.type in RECEIVES else (None, None)
        need(message is None or len(message) == count, s.place, "receives a message of another length")
        if races:
            for tb, d in s.waits if not part[k] else []:
                join(b, ended[f.blocks[b.gpu][tb].row, d])
            if clock:
                join(b, clock)
            clocks[k][k] += 1
        values = [move(b, s, message, j) for j in range(part[k], part[k] + count)]
        if s.type in SENDS:
            queues[out].append((values, list(clocks[k]) if races else None))
        part[k] += count
        if part[k] == s.n:
            if races and s.hasdep:
                ended[k, s.last] = list(clocks[k])
            at[k], part[k], done[k] = at[k] + 1, 0, s.last
        return True

    ended, rows, moved = {}, list(f.all), True
    while moved:
        moved = False
        if order:
            order.shuffle(rows)
        for b in rows:
            while at[b.row] < len(b.steps) and step(b):
                moved = True
    if any(at[b.row] < len(b.steps) for b in f.all):
        return None
    need(not any(queues.values()), "messages are left")
    return memory


def promised(f):
    """Of rank and chunk of the output: what it ends with, where the collective says it."""
    n, c, both = f.n, f.chunks, range(f.chunks)
    part = c // n

    def total(chunk):
        return sum(f.one(q, chunk) for q in range(n))

    ranks = range(n)
    return {
        "allreduce": lambda: {(r, i): total(i) for r in ranks for i in both},
        "allgather": lambda: {(r, i): f.one(i // part, i % part) for r in ranks for i in both},
        "reducescatter": lambda: {(r, i): total(r * part + i) for r in ranks for i in range(part)},
        "alltoall": lambda: {(r, i): f.one(i // part, r * part + i % part) for r in ranks for i in both},
        "broadcast": lambda: {(r, i): f.one(0, i) for r in ranks for i in both},
        "reduce": lambda: {(0, i): total(i) for i in both},
        "gather": lambda: {(0, i): f.one(i // c, i % c) for i in range(n * c)},
        "scatter": lambda: {(r, i): f.one(0, r * part + i) for r in ranks for i in range(part)},
    }[f.coll]()


def promised_by_plan(f):
    """The same as the plan of the schedule has it: cells, of blocks of so many chunks."""
    module = json.load(open(f.path[:-3] + "json", encoding="utf-8"))
    plan, buffers, cells, base = module["plans"][0], module["buffers"], {}, {"in": 0, "out": 0}
    cut = math.lcm(*[s["chunks"] for s in plan["shapes"]])
    total = sum(s["blocks"] * cut for b, s in zip(buffers, plan["shapes"]) if b["direction"] != "out")
    times = max(1, f.size[0]["i"] // total)  # replicas
    for b, s in zip(buffers, plan["shapes"]):
        for way in ["in"] * (b["direction"] != "out") + ["out"] * (b["direction"] != "in"):
            for i in range(s["blocks"] * s["chunks"]):
                width = cut // s["chunks"]
                first = base[way] + i // s["chunks"] * cut * times + i % s["chunks"] * width
                cells[way, s["cell"] + i] = [first + r * cut + j for r in range(times) for j in range(width)]
            base[way] += s["blocks"] * cut * times
    wanted = {}
    for i, row in enumerate(plan["expect"]):
        if row is None:
            continue
        rank, cell = divmod(i, plan["cells"])
        for k, chunk in enumerate(cells["out", cell]):
            at, value = row, 0
            while True:
                s = plan["sums"][at]
                value += s["times"] * sum(f.one(q, cells["in", s["cell"]][k]) for q in range(s["first"], s["first"] + s["n"]))
                at += 1
                if s["last"]:
                    break
            wanted[rank, chunk] = value
    return wanted


def least_slots(f, single):
    return next((k for k in range(1, 9) if run(f, False, k, single, races=False) is not None), 0)


def check(path, by_plan=False, text=None):
    f, order = File(path, text), random.Random(path)
    wanted = promised_by_plan(f) if by_plan else promised(f)
    need(f.given[1] and (wanted or by_plan), "it is for no calls, or promises nothing")
    for in_place in [False] + [True] * f.given[0]:
        for single in False, True:
            end = run(f, in_place, 8, single, order)
            need(end is not None, "it waits for ever with 8 slots")
            for (rank, chunk), value in wanted.items():
                need(end.get(f.at(rank, in_place, ("o", chunk))) == value, "in place:" if in_place else "out of place:", "rank", rank, "chunk", chunk, "is wrong")
    return "right in=%d out=%d slots=%d,%d" % (*f.given, least_slots(f, False), least_slots(f, True))


def main():
    by_plan = "--plan" in sys.argv
    for path in sys.argv[1 + by_plan:]:
        try:
            print(f"{path}: {check(path, by_plan)}")
        except Wrong as why:
            print(f"{path}: wrong: {why}")


if __name__ == "__main__":
    main()
