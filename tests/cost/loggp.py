#!/usr/bin/env python3
"""The time of a call by LogGP, from texts that ccc prints: a referee of `ccc simulate`, with which it
shares no code. All links have one latency and one bandwidth, and carry the messages of one FIFO.

Messages whole: by waves of operations, from `--emit=program`. Tiles: by workers that run one operation
after another, from `--emit=json`, with the costs of operations.

Runs both for each schedule of a folder and some numbers of ranks, and compares. Prints a line for each
difference, then "N alike, M skipped". With --latency the referee has another latency than the machine.
usage: loggp.py CCC FOLDER MACHINES.ccs [--latency=SECONDS] N...
"""

import csv
import json
import multiprocessing
import os
import re
import subprocess
import sys

BYTES, SLOTS, TILE = 720000, 8, 100000
LATENCY, BANDWIDTH = 2e-6, 1e9  # of both machines: flat and costly
STEP, WORKER, REDUCE, CALL = 1e-6, 2e9, 0.5e9, 10e-6  # of costly

OPERATION = re.compile(r"^ *(\d+)? +line \d+(?: of \S+)? +(send|recv|reduce|copy|fresh) +(.*)$")


class Skip(Exception):
    """The referee cannot judge."""


# ---- messages whole ------------------------------------------------------------------------------


def read_program(lines):
    """({buffer: (blocks, chunks)}, {task: [wave of (kind, cells, peer)]})"""
    buffers, tasks, task = {}, {}, None
    for line in lines:
        if line.startswith("program ") and tasks:
            break  # another root's
        head = re.match(r"^rank (\d+)(?:, block ([\d.]+))?$", line)
        buffer = re.match(r"^(\w+): (\d+) blocks? of (\d+) chunks?", line)
        if head:
            task = (int(head[1]), head[2] or "")
            tasks[task] = []
        elif task is None:
            if buffer:
                buffers[buffer[1]] = (int(buffer[2]), int(buffer[3]))
        elif re.match(r"^ +wait ", line):
            # A par that is the whole text: its blocks begin at once, and end last.
            if tasks[task] or not re.search(r"(block [\d.]+, operation \d+|, operation 0)$", line):
                raise Skip("a wait between operations")
        elif line.strip():
            found = OPERATION.match(line)
            if not found:
                raise Skip("a line of another form: " + line.strip())
            number, kind, rest = found.groups()
            ends = re.match(r"^(\S+) (?:to|from) (\d+)", rest)
            if "channel" in rest:
                raise Skip("channels")
            if number:
                tasks[task].append([])
            if ends:
                tasks[task][-1].append((kind, ends[1], int(ends[2])))
    return buffers, tasks


def blocks_of(cells, buffers):
    """The length of cells, in blocks."""
    if not buffers:
        return 0
    name = re.match(r"\w+", cells)[0]
    if name in buffers:
        chunks = buffers[name][1]
    elif len({c for _, c in buffers.values()}) == 1:
        chunks = next(iter(buffers.values()))[1]
    else:
        raise Skip("scratch, of chunks of unknown length")
    last = re.findall(r"\[([^\]]*)\]", cells)
    if not last:
        if name not in buffers:
            raise Skip("all of scratch")
        return buffers[name][0]
    lo, dots, hi = last[-1].partition("..")
    return (int(hi) - int(lo) if dots else 1) / chunks


def whole(text, latency):
    buffers, tasks = read_program(text.split("\n"))
    block = BYTES / max([1] + [blocks for blocks, _ in buffers.values()])
    pairs = {(task[0], o[2], task[1]) for task, waves in tasks.items()
             for wave in waves for o in wave if o[0] == "send"}
    if len({p[:2] for p in pairs}) != len(pairs):
        raise Skip("two FIFOs on a link")
    leaves, free, starts = {}, {}, {}  # messages, by (fifo, number); links; receives
    arrives = {}
    at = {task: [0, 0.0] for task in tasks}  # the wave, and when it starts
    count, waiting, departs = {}, {}, {}

    def begin(task, wave, now):
        """Numbers the ends of messages of a wave that starts."""
        ends = []
        for kind, cells, peer in wave:
            sends = kind == "send"
            fifo = (task[0], peer, task[1]) if sends else (peer, task[0], task[1])
            number = count.get((fifo, sends), 0)
            count[fifo, sends] = number + 1
            ends.append((fifo, number))
            if sends:
                leaves[fifo, number] = (now, blocks_of(cells, buffers) * block / BANDWIDTH)
            else:
                starts[fifo, number] = now
        return ends

    moved = True
    while moved:
        moved = False
        for task, waves in tasks.items():
            while at[task][0] < len(waves):
                if task not in waiting:
                    waiting[task] = begin(task, waves[at[task][0]], at[task][1])
                    moved = True
                if any(end not in arrives for end in waiting[task]):
                    break
                now = max([at[task][1]] + [arrives[end] for end in waiting.pop(task)])
                at[task] = [at[task][0] + 1, now]
                moved = True
        for (fifo, number), (now, takes) in list(leaves.items()):
            freed = (fifo, number - SLOTS)
            if number >= SLOTS and freed not in starts:
                continue
            if number and (fifo, number - 1) not in arrives:
                continue
            del leaves[fifo, number]
            begins = max(now, starts[freed] if number >= SLOTS else 0, free.get(fifo, 0))
            free[fifo] = begins + takes
            arrives[fifo, number] = begins + takes + latency
            moved = True
    if any(at[task][0] < len(waves) for task, waves in tasks.items()):
        raise Skip("it does not end")
    return max(now for _, now in at.values())


# ---- tiles ---------------------------------------------------------------------------------------


def cut(longest):
    """(bytes of a tile, number of tiles): equal tiles, in whole cache lines of 64 bytes."""
    if longest <= TILE:
        return longest, 1
    n = -(-longest // TILE)
    tile = -(-longest / n // 64) * 64
    return tile, int(-(-longest // tile))


def tiles(text, latency):
    plan = json.loads(text)["plans"][0]
    workers, fifos, shapes = plan["workers"], plan["fifos"], plan["shapes"]
    block = BYTES / max([1] + [s["blocks"] for s in shapes])
    length = [block / s["chunks"] for s in shapes for _ in range(s["blocks"] * s["chunks"])]
    if len({(f["src"], f["dst"]) for f in fifos}) != len(fifos):
        raise Skip("two FIFOs on a link")

    def cells(op):
        return [op["len"] + (0 if op["len_same"] else j) for j in range(op["n"])]

    tile, ntiles = cut(max([0] + [length[c] for w in workers for o in w["ops"] for c in cells(o)]))

    def takes(op, number):
        """(bytes of a tile of the operation, time of its worker)"""
        n = sum(min(max(length[c] - number * tile, 0), tile) for c in cells(op))
        rate = max(1 / WORKER, 1 / REDUCE if "reduce" in op["op"] else 0)
        ends = op["in"] is not None or op["out"] is not None
        return n, n * rate + (STEP if ends else 0)

    arrives, back, free = [[] for _ in fifos], [[] for _ in fifos], [0.0] * len(fifos)
    taken = [0] * len(fifos)
    done = [[] for _ in workers]  # the ends of its operations, of all tiles
    moved = True
    while moved:
        moved = False
        for w, worker in enumerate(workers):
            ops = worker["ops"]
            while len(done[w]) < len(ops) * ntiles:
                number, op = len(done[w]) // len(ops), ops[len(done[w]) % len(ops)]
                start = done[w][-1] if done[w] else 0.0
                needs = [(done[x["worker"]], number * len(workers[x["worker"]]["ops"]) + x["ops"] - 1)
                         for x in op["waits"]]
                if op["in"] is not None:
                    needs.append((arrives[op["in"]], taken[op["in"]]))
                if op["out"] is not None and len(arrives[op["out"]]) >= SLOTS:
                    needs.append((back[op["out"]], len(arrives[op["out"]]) - SLOTS))
                if any(len(times) <= k for times, k in needs):
                    break
                start = max([start] + [times[k] for times, k in needs])
                size, time = takes(op, number)
                done[w].append(start + time)
                if op["in"] is not None:
                    taken[op["in"]] += 1
                    back[op["in"]].append(start + time + latency)
                if op["out"] is not None:
                    f = op["out"]
                    free[f] = max(start + STEP, free[f]) + size / BANDWIDTH
                    arrives[f].append(max(free[f], start + time) + latency)
                moved = True
    if any(len(done[w]) < len(worker["ops"]) * ntiles for w, worker in enumerate(workers)):
        raise Skip("it does not end")
    return CALL + max(times[-1] for times in done if times)


# ---- comparing -----------------------------------------------------------------------------------


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout


def judge(case):
    """A difference, or None: they are alike; or False: it is not judged."""
    ccc, file, machines, nranks, latency = case
    for root in (["--root", "0"], []):
        given = [file, "-n", str(nranks)] + root
        rows = list(csv.DictReader(run(ccc, "simulate", *given, "-b", str(BYTES), "--format=csv",
                                       "--tile", "0", "--on", machines + ":flat").splitlines()))
        if rows:
            break
    else:
        return [False]  # `where` does not admit it
    with_tiles = list(csv.DictReader(run(
        ccc, "simulate", *given, "-b", str(BYTES), "--format=csv", "--tile", str(TILE), "--on",
        machines + ":costly").splitlines()))
    verdicts = []
    for what, method, text, row in (
            ("whole", whole, run(ccc, *given, "--emit=program"), rows[0]),
            ("tiles", tiles, run(ccc, *given, "--emit=json"), with_tiles[0])):
        try:
            want = 1e6 * method(text, latency)
            alike = abs(want - float(row["us"])) < 2e-3
            verdicts.append(None if alike else "%s, N = %d, %s: %s, by the referee %.6f" % (
                os.path.basename(file), nranks, what, row["us"], want))
        except Skip as why:
            if os.environ.get("LOGGP_SAYS"):
                print("skip:", os.path.basename(file), nranks, what, why)
            verdicts.append(False)
    return verdicts


def main():
    ccc, folder, machines = sys.argv[1:4]
    numbers = [int(a) for a in sys.argv[4:] if not a.startswith("--")]
    latency = [float(a.split("=")[1]) for a in sys.argv[4:] if a.startswith("--latency=")]
    cases = [(ccc, os.path.join(folder, name), machines, n, (latency or [LATENCY])[0])
             for n in sorted(numbers, reverse=True)
             for name in sorted(os.listdir(folder)) if name.endswith(".ccs")]
    with multiprocessing.Pool() as pool:
        verdicts = [v for some in pool.imap_unordered(judge, cases) for v in some]
    for difference in filter(None, verdicts):
        print(difference)
    print("%d alike, %d skipped" % (verdicts.count(None), verdicts.count(False)))


main()
