"""The model of `ccc explain --format=json`, for the tests of its printers: the files that there are, and the
value of each chunk at each step, played by the text of docs/explain.schema.json alone; and random programs."""
import glob
import json
import os
import random
import re
import subprocess

CCC = os.environ.get("CCC", "build/bin/ccc")
LIBRARY = sorted(glob.glob("schedules/*.ccs"))
BROKEN = sorted(glob.glob("schedules/broken/*.ccs"))
XML = sorted(glob.glob("tests/msccl/good/*.xml"))


class NotAdmitted(Exception):
    """A schedule's `where` refuses the number of ranks, or the file has no program to explain."""


def explain(*args, form="json"):
    p = subprocess.run([CCC, "explain", *args, "--format=" + form], capture_output=True)
    if not p.stdout and p.returncode == 1:
        raise NotAdmitted(p.stderr.decode(errors="replace"))
    if p.returncode > 1 or not p.stdout:
        raise RuntimeError(f"ccc explain {' '.join(args)}: status {p.returncode}, {p.stderr[:500]!r}")
    return p.stdout.decode()


def model(*args):
    return json.loads(explain(*args))


def random_files(folder, number, seed):
    """The arguments of random programs, half of them with a mistake."""
    rng = random.Random(seed)
    for i in range(number):
        source, n = random_text(rng, i % 2)
        name = os.path.join(folder, f"random{i}.ccs")
        with open(name, "w", encoding="utf-8") as f:
            f.write(source)
        yield name, "-n", str(n), "--slots", str(rng.choice([0, 1, 8]))


def states(m):
    """[(step, {(rank, chunk): holds})]: at the start, and behind each step that has a move. Of the ranks that are shown."""
    now = {(r, c): holds for r, row in enumerate(m["start"]) if row is not None for c, holds in enumerate(row)}
    found, skipped = [(None, dict(now))], list(m["skipped"])
    for step in sorted({move["step"] for move in m["moves"]}):
        while skipped and skipped[0]["step"] <= step:
            s = skipped.pop(0)
            now[s["rank"], s["chunk"]] = s["holds"]
            if step == min(move["step"] for move in m["moves"]):
                found[0] = (None, dict(now))
        for move in m["moves"]:
            if move["step"] == step and "target" in move and move["to"] in m["shown_ranks"]:
                for k, holds in enumerate(move["holds"]):
                    now[move["to"], move["target"][0] + k] = holds
        found.append((step, dict(now)))
    return found


def text(holds):
    return holds["text"] if holds else "-"


def shares(m, words, chunk):
    """{(chunk, rank): times} of "0-2,4", "a[3]@0,1(x2)"; None if it is cut short."""
    if words.endswith(",..."):
        return None
    found, of = {}, chunk
    for part in words.split(","):
        name, _, rest = part.rpartition("@")
        if name:
            of = m["chunks"].index(name)
        first, last, times = re.fullmatch(r"(\d+)(?:-(\d+))?(?:\(x(\d+)\))?", rest).groups()
        for rank in range(int(first), int(last or first) + 1):
            found[of, rank] = found.get((of, rank), 0) + int(times or 1)
    return found


def random_text(rng, wrong):
    """A program of messages between random ranks, step by step, and of copies; with a mistake if it is to be wrong."""
    n, chunks, steps = rng.randint(2, 7), rng.randint(1, 5), rng.randint(1, 6)
    lines = ["contract any(inout data[%d])" % chunks, "", "schedule random_moves",
             "  implements any(inout data[%d])" % chunks, "  where N == %d" % n, "{",
             "  scratch tmp[%d]" % chunks]
    filled = set()
    for _ in range(steps):
        kind = rng.random()
        if kind < 0.2:
            r, a, b = rng.randrange(n), rng.randrange(chunks), rng.randrange(chunks)
            into, source = rng.choice([("data[%d]" % b, "tmp[%d]" % a), ("tmp[%d]" % b, "data[%d]" % a)])
            if source[0] == "t" and (r, a) not in filled:
                continue
            if into[0] == "t":
                filled.add((r, b))
            if into != source:
                lines.append("  if rank == %d { copy %s into %s }" % (r, source, into))
            continue
        order = rng.sample(range(n), n)
        pairs = [(order[i], order[i + 1]) for i in range(0, n - 1, 2)] if kind < 0.7 else \
                [(order[i], order[(i + 1) % n]) for i in range(n)]
        for a, b in pairs:
            lo = rng.randrange(chunks)
            hi = rng.randint(lo + 1, chunks)
            part = "data[%d]" % lo if hi == lo + 1 else "data[%d..%d]" % (lo, hi)
            verb = rng.choice(["recv", "reduce"])
            lines.append("  if rank == %d { send %s to %d }" % (a, part, b))
            lines.append("  if rank == %d { %s %s from %d }" % (b, verb, part, a))
    if wrong:
        at = [i for i, l in enumerate(lines) if l.startswith("  if ")]
        kind = rng.random()
        if at and kind < 0.5:
            del lines[rng.choice(at)]
        elif at and kind < 0.7:
            i = rng.choice(at)
            lines[i] = re.sub(r"(to|from) \d+ }", lambda m: "%s %d }" % (m[1], rng.randrange(n + 1)), lines[i])
        else:  # another promise
            lines[0] = "contract any(inout data[%d])\n  ensures data[i] == sum(q in 0..N: data[i]@q)" % chunks
    return "\n".join(lines + ["}", ""]), n
