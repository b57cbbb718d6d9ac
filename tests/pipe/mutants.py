#!/usr/bin/env python3
"""Random texts of pipelines, right and wrong, judged by ccc and by the referee (referee.py): the generator's texts, their
computations alone, with PyTorch's order of messages, and forwards alone, each with up to four random changes, most of them
of the order of messages.

A difference is: one finds errors and the other none; an error of a class, or at a place, that the referee does not know; another
least number of messages in between, for any kind of streams; other pairs that are swapped; other measures. The texts that differ
are kept, and named.

usage: mutants.py COUNT SEED BUILD          with BUILD/bin/ccc
       mutants.py --control COUNT SEED      every answer that is altered in one place must be noticed
       mutants.py --write FOLDER COUNT SEED only writes them"""
import collections
import copy
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../schedules/pipelines")]
sys.dont_write_bytecode = True
import referee  # noqa: E402
from generate import pipeline  # noqa: E402

BATCH = 250


# ---- the texts: for each rank a list of actions, as strings --------------------------------------

def base(rng):
    schedule, each = rng.choice((("1f1b", 1), ("gpipe", 1), ("gpipe", 2), ("interleaved", 2), ("zero-bubble", 1),
                                 ("zero-bubble", 2), ("v", 2)))
    made = pipeline(schedule, rng.choice((2, 2, 3, 3, 4)), rng.randint(1, 6), each, rng.random() < 0.15)
    text = referee.Text(referee.read(made.encode()))
    form = rng.random()
    if form < 0.5:
        lines = [line.split(",") for line in made.splitlines()]
        if rng.random() < 0.5:
            lines = [[a for a in line if "WAIT_SEND" not in a] for line in lines]
        if rng.random() < 0.7:
            lines = [[a for a in line if not a.endswith(referee.LOCAL)] for line in lines]
        return late(rng, lines) if rng.random() < 0.4 else lines
    lines = [[a for a in line if a[0][0][1] in (("F",) if form > 0.95 else referee.COMPUTE)] for line in text.ranks]
    if form < 0.75:
        lowered = [[show(a) for a in line] for line in referee.lower(referee.Text(lines)).ranks]
        return late(rng, lowered) if rng.random() < 0.4 else lowered
    return [[show(a) for a in line] for line in lines]


def show(action):
    parts, group = action
    return f"({';'.join(map(referee.name, parts))}){group}" if group else referee.name(parts[0])


def late(rng, lines):
    """With the receives of some ranks directly before what takes them, as in the hang of pytorch #172668."""
    out = []
    for line in lines:
        if any(a.startswith("(") for a in line) or rng.random() < 0.2:
            out.append(line)
            continue
        waiting, new = {}, []
        for a in line:
            stage, kind, mb = referee.one(a, None)[:3]
            if kind.startswith("RECV"):
                waiting[stage, kind[-1], mb] = a
                continue
            taken = waiting.pop((stage, "B" if kind == "I" else kind, mb), None)
            new += [taken, a] if taken else [a]
        out.append(new)
    return out


def is_message(action):
    return any(k in action for k in referee.COMM) and "WAIT" not in action


def is_computation(action):
    return action[-1:].isdigit() and not is_message(action) and "WAIT" not in action


def pick(rng, line, wanted=lambda action: True):
    """The place of one of them, or None."""
    places = [i for i, a in enumerate(line) if wanted(a)]
    return rng.choice(places) if places else None


def number(rng, action):
    """With its stage or microbatch one more or less, or any."""
    found = list(referee.re.finditer(r"\d+", action))
    if not found:
        return action
    m = rng.choice(found)
    new = max(0, int(m[0]) + rng.choice((-1, 1, 1, -2, 2)))
    if rng.random() < 0.03:
        new = rng.choice((65535, 65536, 1000000, 1000001))
    return action[:m.start()] + str(new) + action[m.end():]


def other_kind(rng, action):
    kinds = (*referee.COMPUTE, *referee.COMM, *referee.WAIT, *referee.LOCAL, "X", "f", "SEND")
    m = referee.re.search(r"[A-Z][A-Z_]*", action)
    return action if not m else action[:m.start()] + rng.choice(kinds) + action[m.end():]


def change(rng, lines):
    """One random change, in place."""
    line = rng.choice(lines)
    if not line:
        return
    what = rng.choices(("near", "recv", "send", "wait", "batch", "unbatch", "overlap", "same", "swap", "move", "delete", "twice",
                        "number", "kind", "join", "split", "torn"),
                       (20, 30, 12, 8, 14, 3, 5, 8, 3, 2, 2, 2, 4, 2, 1, 1, 1))[0]
    i = rng.randrange(len(line))
    j = rng.randrange(len(line))
    if what == "near" and len(line) > 1:  # two neighbours
        i = rng.randrange(len(line) - 1)
        line[i], line[i + 1] = line[i + 1], line[i]
    elif what in ("recv", "send", "wait"):  # a message or its wait, a few places on
        i = pick(rng, line, lambda a: what.upper() + "_" in a)
        if i is not None:
            action = line.pop(i)
            line.insert(max(0, i + rng.choice((-5, -3, -2, -1, 1, 2, 3, 5))), action)
    elif what == "batch":  # messages that are near, at the place of one of them
        i = pick(rng, line, is_message)
        if i is not None:
            group = [k for k in range(i, min(i + rng.choice((2, 4, 8)), len(line))) if is_message(line[k])][:rng.randint(1, 4)]
            words = [line[k].removesuffix(")BATCH").removeprefix("(") for k in group]
            at = rng.choice((group[0], group[-1] - len(group) + 1))
            for k in reversed(group):
                del line[k]
            line.insert(at, f"({';'.join(words)})BATCH")
    elif what == "unbatch":
        i = pick(rng, line, lambda a: a.endswith("BATCH"))
        if i is not None:
            line[i:i + 1] = line[i][1:-6].split(";")
    elif what == "overlap":  # two computations that are neighbours, or with messages between them
        i = pick(rng, line, is_computation)
        j = next((k for k in range(i + 1, len(line)) if is_computation(line[k])), None) if i is not None else None
        if j is not None:
            words = [line[i], line.pop(j)]
            line[i] = f"({words[0]};{words[1]})OVERLAP_F_B"
    elif what == "same":  # two receives, or sends, of one kind take each other's place
        i = pick(rng, line, is_message)
        if i is not None:
            kind = referee.re.search(r"[A-Z_]+", line[i])[0]
            j = pick(rng, line, lambda a: kind in a and is_message(a))
            if j is not None:
                line[i], line[j] = line[j], line[i]
    elif what == "swap":
        line[i], line[j] = line[j], line[i]
    elif what == "move":
        action = line.pop(i)
        rng.choice(lines).insert(j, action)
    elif what == "delete":
        del line[i]
    elif what == "twice":
        line.insert(j, line[i])
    elif what == "number":
        line[i] = number(rng, line[i])
    elif what == "kind":
        line[i] = other_kind(rng, line[i])
    elif what == "join" and len(lines) > 1:
        k = rng.randrange(len(lines) - 1)
        lines[k:k + 2] = [lines[k] + lines[k + 1]]
    elif what == "split":
        k = lines.index(line)
        lines[k:k + 1] = [line[:i], line[i:]]
    elif what == "torn":
        action = line[i]
        k = rng.randrange(len(action)) if action else 0
        line[i] = action[:k] + rng.choice(("", "", " ", "(", ")", ";", '"', "-", ",", "0", "\n", "\r", "é")) + action[k + 1:]


def mutant(seed):
    """The bytes of a text."""
    rng = random.Random(seed)
    lines = base(rng)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        change(rng, lines)
    if not any(is_message(a) for line in lines for a in line):  # PyTorch takes computations alone without local actions
        lines = [[a for a in line if not a.endswith(referee.LOCAL)] for line in lines]
    form = rng.random()
    if form < 0.05:
        lines = [[rng.choice(("", " ", "\t")) + (f'"{a}"' if rng.random() < 0.5 else a) for a in line] for line in lines]
    elif form < 0.1:
        lines = [[b for a in line for b in ([a, ""] if rng.random() < 0.3 else [a])] for line in lines]
    rows = [",".join(line) for line in lines]
    if form > 0.95:
        rows.insert(rng.randint(0, len(rows)), "# a comment")
    return (rng.choice(("\n", "\n", "\r\n")).join(rows) + rng.choice(("", "\n", "\r\n", "\n\n"))).encode()


# ---- the comparison ------------------------------------------------------------------------------

CLASSES = {"E0604": ("syntax",), "E0605": ("placement", "order"), "E0606": ("missing", "twice", "placement"), "E0304": ()}


def answers(command, files):
    """By file: what `ccc table --format=json --diagnostics-format=json` says, in the form of referee.judge. The only place that
    knows how it says it. A class is a set of them, as some of ccc's codes stand for two."""
    run = subprocess.run([*command, *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = collections.defaultdict(list)
    for line in run.stderr.splitlines():
        d = json.loads(line)
        if d["severity"] == "error":
            said[d["file"]].append(d)
    got = {}
    for row in json.loads(run.stdout)["rows"]:
        errors = [{"class": CLASSES[d["code"]], "line": d["line"], "column": d["column"]} for d in said[row["file"]]
                  if d["code"] in CLASSES]
        stuck = any(d["code"] == "E0304" for d in said[row["file"]])
        got[row["file"]] = {
            "errors": [e for e in errors if e["class"]], "stuck": stuck,
            "ranks": row["ranks"], "stages": row["stages"], "microbatches": row["microbatches"],
            "least": {s: row["min_slots_" + s] for s in referee.STREAMS}, "swapped": row["swapped"],
            "measures": None if row["units"] is None else {
                "length": row["units"], "idle": row["idle"], "held": row["activations"], "in_flight": row["in_flight"]}}
    return got, run


def differences(got, want):
    """Why an answer differs from the referee's: texts."""
    if bool(got["errors"]) != bool(want["errors"]):
        return [f"errors: {got['errors'][:2]}, not {want['errors'][:2]}"]
    known = collections.defaultdict(list)
    for e in want["errors"]:
        known[e["class"]].append(e)
    out = []
    for e in got["errors"]:
        place, same = (e["line"], e["column"]), [w for c in e["class"] for w in known[c]]
        # Where something is missing there is no action of which the place is certain: the line is.
        bracket = any(w["text"].startswith("no action: (") for w in same)  # of which ccc names the part
        parts = 1 if "missing" in e["class"] or bracket else 2
        near = [(*p,)[:parts] for w in same for p in [(w["line"], w["column"]), *w["also"]]]
        if not same or place[:parts] not in near and not any(w["text"].endswith("computed nowhere") for w in same):
            out.append(f"{e}, but {same[:3] or 'no error of this class'}")
    if want["errors"]:
        return out
    if want["lowered"] and want["least"]["rank"] is None:  # ccc says so where it places the messages
        return [] if got["stuck"] else ["computations that wait in a circle are not seen"]
    for key in ("ranks", "stages", "microbatches", "least"):
        if got[key] != want[key]:
            out.append(f"{key}: {got[key]}, not {want[key]}")
    for key in ("length", "idle", "held", "in_flight"):
        a, b = ((v["measures"] or {}).get(key) for v in (got, want))
        if a != b and (a is None or b is None or abs(a - b) > 1e-6):
            out.append(f"{key}: {a}, not {b}")
    if got["swapped"] != len(want["swapped"]):
        out.append(f"swapped: {got['swapped']}, not {want['swapped'][:3]}")
    return out


def sort_of(verdict):
    if verdict["errors"]:
        return verdict["errors"][0]["class"]
    return "least " + "/".join("never" if k is None else str(k) for k in verdict["least"].values())


def as_answer(verdict):
    """The referee's verdict as if ccc gave it."""
    if verdict["errors"]:
        return {**verdict, "stuck": False, "errors": [{**e, "class": (e["class"],)} for e in verdict["errors"]]}
    return {**verdict, "stuck": verdict["lowered"] and verdict["least"]["rank"] is None, "swapped": len(verdict["swapped"])}


def spoiled(verdict):
    """(what, the verdict with one thing altered)."""
    def but(what, **changed):
        return what, {**copy.deepcopy(verdict), **changed}

    if verdict["errors"]:
        first = verdict["errors"][0]
        classes = {e["class"] for e in verdict["errors"]}
        yield but("no error", errors=[], **{k: v for k, v in referee.judge(b"0F0").items() if k != "errors"})
        yield but("another line", errors=[{**first, "line": 10 ** 6}])
        if first["class"] not in (("missing",), ("placement",)) and not any("no action: (" in e["text"] for e in verdict["errors"]):
            yield but("another column", errors=[{**first, "column": 10 ** 6}])
        yield but("another class", errors=[{**first, "class": (c,)} for c in ("syntax", "order") if (c,) not in classes][:1])
        return
    yield but("an error", errors=[{"class": ("order",), "line": 1, "column": 1}])
    if verdict["stuck"]:
        yield but("stuck", stuck=False)
        return
    for streams, k in verdict["least"].items():
        yield but(f"least for {streams}", least={**verdict["least"], streams: 1 if k is None else k + 1})
        yield but(f"never for {streams}", least={**verdict["least"], streams: 0 if k is None else None})
    for key, value in (verdict["measures"] or {}).items():
        yield but(key, measures={**verdict["measures"], key: value + 1})
    yield but("swapped", swapped=verdict["swapped"] + 1)
    yield but("microbatches", microbatches=verdict["microbatches"] + 1)


def control(count, first):
    missed = collections.Counter()
    tried = 0
    for seed in range(first, first + count):
        want = as_answer(referee.judge(mutant(seed)))
        if any(e["text"].endswith("computed nowhere") for e in want["errors"]):
            continue  # which has no place
        for what, altered in spoiled(want):
            tried += 1
            missed[what] += not differences(altered, referee.judge(mutant(seed)))
    missed = {what: n for what, n in missed.items() if n}
    print("not ok -" if missed or not tried else "ok -", f"{tried} altered answers are noticed", missed or "")
    return bool(missed) or not tried


def main():
    args = sys.argv[1:]
    if len(args) == 3 and args[0] == "--control":
        return control(int(args[1]), int(args[2]))
    if len(args) == 4 and args[0] == "--write":
        for i in range(int(args[2])):
            with open(os.path.join(args[1], f"{int(args[3]) + i}.csv"), "wb") as f:
                f.write(mutant(int(args[3]) + i))
        return 0
    if len(args) != 3:
        sys.exit(__doc__)
    count, first = int(args[0]), int(args[1])
    command = [os.path.join(args[2], "bin/ccc"), "table", "--format=json", "--diagnostics-format=json", "--max-errors=0"]
    wrong, sorts = 0, collections.Counter()
    folder = tempfile.mkdtemp(prefix="mutants")
    for start in range(first, first + count, BATCH):
        texts = {os.path.join(folder, f"{seed}.csv"): mutant(seed) for seed in range(start, min(start + BATCH, first + count))}
        for path, data in texts.items():
            with open(path, "wb") as f:
                f.write(data)
        got, run = answers(command, list(texts))
        for path, data in texts.items():
            want = referee.judge(data)
            sorts[sort_of(want)] += 1
            why = differences(got[path], want) if path in got else [f"no answer (status {run.returncode}): {run.stderr[-300:]}"]
            if not why:
                os.remove(path)
                continue
            wrong += 1
            if wrong <= 5:
                print(f"# {path}: {'; '.join(why)[:600]}")
    print("#", ", ".join(f"{n} {s}" for s, n in sorts.most_common()))
    print(f"{'not ok' if wrong else 'ok'} - {count} mutants from {first}: {wrong} differ from the referee")
    if not wrong:
        os.rmdir(folder)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
