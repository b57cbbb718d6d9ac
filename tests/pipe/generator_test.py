#!/usr/bin/env python3
"""schedules/pipelines/generate.py, by the referee: every text is free of deadlock without a message in between, for all kinds of
streams, also with groups; lengths and activations are those of the papers; the committed texts are its output; sizes that
it cannot have are refused with a cure.
usage: generator_test.py [RANKS [MICROBATCHES]]"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GENERATE = os.path.join(HERE, "../../schedules/pipelines/generate.py")
sys.path[:0] = [HERE, os.path.dirname(GENERATE)]
sys.dont_write_bytecode = True
import referee  # noqa: E402
from generate import pipeline  # noqa: E402

RANKS, MICROBATCHES = map(int, (sys.argv[1:] + ["5", "8"][len(sys.argv) - 1:])[:2])
STAGES = {"gpipe": (1, 2, 3), "1f1b": (1,), "interleaved": (2, 3, 4), "zero-bubble": (1, 2, 3), "v": (2,)}
failed = False


def check(what, wrong):
    global failed
    for why in wrong[:5]:
        print("#", why[:300])
    print("not ok -" if wrong else "ok -", what, flush=True)
    failed |= bool(wrong)


def most_held(schedule, p, v, m):
    """The activations that a rank may hold: Narayanan et al. 2021; Qi et al. 2023, 2024."""
    group = -(-m // max(1, m // p))  # the largest
    return min(m * v, {"gpipe": m * v, "1f1b": p, "interleaved": (v - 1) * group + 2 * (p - 1) + 1,
                       "zero-bubble": (v - 1) * group + p, "v": 2 * p}[schedule])


for schedule, admitted in STAGES.items():
    wrong, count = [], 0
    for p in range(2, RANKS + 1):
        for v in admitted:
            for m in range(1, MICROBATCHES + 1):
                plain = None
                for batch in (False, True):
                    count += 1
                    got = referee.judge(pipeline(schedule, p, m, v, batch).encode())
                    size = f"{p} ranks, {v} stages a rank, {m} microbatches{', groups' * batch}"
                    if got["errors"] or got["swapped"] or set(got["least"].values()) != {0} or got["lowered"]:
                        wrong.append(f"{size}: {got}")
                        continue
                    if (got["ranks"], got["stages"], got["microbatches"]) != (p, p * v, m):
                        wrong.append(f"{size}: it has {got}")
                    if batch and got["measures"] != plain:
                        wrong.append(f"{size}: {got['measures']}, not {plain}")
                    plain = got["measures"]
                    if plain["held"] > most_held(schedule, p, v, m):
                        wrong.append(f"{size}: holds {plain['held']}, not {most_held(schedule, p, v, m)}")
                    # All work of a rank, and the start of the last rank (and for a whole backward its way back).
                    length = 3 * v * m + (p - 1) * (1 if schedule in ("zero-bubble", "v") else 3)
                    if m >= (2 * p - 1 if schedule == "v" else p) and plain["length"] != length:
                        wrong.append(f"{size}: takes {plain['length']}, not {length}")
    check(f"{schedule}: {count} texts of 2..{RANKS} ranks", wrong)


def command(*args):
    return subprocess.run([sys.executable, GENERATE, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


folder = os.path.dirname(GENERATE)
texts = [f for f in sorted(os.listdir(folder)) if f.endswith(".csv")]
wrong = []
for file in texts:
    schedule, size = file[:-4].rsplit("_", 1)
    p, m = size.split("x")
    made = command(schedule.replace("_", "-"), "--ranks", p, "--microbatches", m)
    if made.returncode or made.stdout != open(os.path.join(folder, file)).read():
        wrong.append(f"{file}: {made.stderr or 'another text'}")
check(f"the texts of schedules/pipelines: {len(texts)}", wrong if len(texts) >= 4 else ["they are missing"])

REFUSED = (
    ("1f1b --ranks 1 --microbatches 4", "at least 2 ranks"),
    ("1f1b --ranks 4 --microbatches 0", "give at least 1"),
    ("1f1b --ranks 4 --microbatches 4 --stages-per-rank 2", "use interleaved"),
    ("interleaved --ranks 4 --microbatches 4 --stages-per-rank 1", "use 1f1b"),
    ("v --ranks 4 --microbatches 4 --stages-per-rank 3", "use --stages-per-rank 2"),
    ("zero-bubble --ranks 4 --microbatches 4 --stages-per-rank -1", "at least 1 stage"),
    ("zero-bubble --ranks 40000 --microbatches 4 --stages-per-rank 2", "give fewer"),
    ("dualpipe --ranks 4 --microbatches 4", "invalid choice"),
    ("1f1b --microbatches 4", "--ranks"),
)
wrong = []
for args, cure in REFUSED:
    got = command(*args.split())
    if got.returncode != 2 or cure not in got.stderr.splitlines()[-1] or got.stdout:
        wrong.append(f"{args}: status {got.returncode}, {got.stderr}")
check("sizes that are refused", wrong)
sys.exit(failed)
