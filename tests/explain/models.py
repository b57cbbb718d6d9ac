"""The model of `ccc explain --format=json`, for the tests of what it is printed as: which files there are, and what the
model says of a chunk at a step, played by the text of docs/explain.schema.json alone."""
import glob
import json
import os
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
