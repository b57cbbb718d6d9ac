#!/usr/bin/env python3
"""The time of a call by LogGP without overheads, from the text of `ccc --emit=program`: a referee of
`ccc simulate`, with which it shares no code. All links have one latency and one bandwidth, and carry
the messages of one FIFO.

Prints "MICROSECONDS", or "skip: REASON" for a program that it cannot judge.
usage: ccc FILE -n N --emit=program | loggp.py BYTES LATENCY BANDWIDTH SLOTS
"""

import re
import sys

OPERATION = re.compile(r"^ *(\d+)? +line \d+(?: of \S+)? +(send|recv|reduce|copy|fresh) +(.*)$")


def skip(why):
    print("skip:", why)
    sys.exit(0)


def read(lines):
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
                skip("a wait between operations")
        elif line.strip():
            found = OPERATION.match(line)
            if not found:
                skip("a line of another form: " + line.strip())
            number, kind, rest = found.groups()
            ends = re.match(r"^(\S+) (?:to|from) (\d+)", rest)
            if "channel" in rest:
                skip("channels")
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
        skip("scratch, of chunks of unknown length")
    last = re.findall(r"\[([^\]]*)\]", cells)
    if not last:
        return buffers[name][0] if name in buffers else skip("all of scratch")
    lo, dots, hi = last[-1].partition("..")
    n = int(hi) - int(lo) if dots else 1
    return n / chunks


def main():
    size, latency, bandwidth, slots = (float(a) for a in sys.argv[1:5])
    buffers, tasks = read(sys.stdin.read().split("\n"))
    block = size / max([1] + [blocks for blocks, _ in buffers.values()])
    pairs = {(task[0], o[2], task[1]) for task, waves in tasks.items()
             for wave in waves for o in wave if o[0] == "send"}
    if len({p[:2] for p in pairs}) != len(pairs):
        skip("two FIFOs on a link")
    leaves, free, starts = {}, {}, {}  # messages, by (fifo, number); links; receives
    arrives = {}
    at = {task: [0, 0.0] for task in tasks}  # the wave, and when it starts
    begun, count = set(), {}

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
                leaves[fifo, number] = (now, blocks_of(cells, buffers) * block / bandwidth)
            else:
                starts[fifo, number] = now
        return ends

    waiting = {}
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
        for (fifo, number), (now, takes) in leaves.items():
            freed = (fifo, number - int(slots))
            if (fifo, number) in arrives or (number >= slots and freed not in starts):
                continue
            if number and (fifo, number - 1) not in arrives:
                continue
            begins = max(now, starts[freed] if number >= slots else 0, free.get(fifo, 0))
            free[fifo] = begins + takes
            arrives[fifo, number] = begins + takes + latency
            moved = True
    if any(at[task][0] < len(waves) for task, waves in tasks.items()):
        skip("it does not end")
    print("%.6f" % (1e6 * max(now for _, now in at.values())))


main()
