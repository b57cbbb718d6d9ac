#!/usr/bin/env python3
"""PyTorch's pipeline schedules (torch_texts.py), and ours in PyTorch. ccc and the referee lower each of PyTorch's texts of computations
alone to PyTorch's text with communications, byte by byte, and find it free of deadlock without a message in between. The generator's
texts of the same sizes take no longer, and hold no more activations. PyTorch runs the generator's texts (torch_run.py), and has the
right gradients.
usage: torch_test.py BUILD [RANKS [MICROBATCHES [RUNS]]]"""
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../schedules/pipelines")]
sys.dont_write_bytecode = True
import referee  # noqa: E402
from generate import pipeline  # noqa: E402

BUILD, RANKS, MICROBATCHES, RUNS = (sys.argv[1:] + ["build", "4", "8", "1"][len(sys.argv) - 1:])[:4]
OURS = {"GPipe": "gpipe", "LoopedBFS": "gpipe", "Interleaved1F1B": "interleaved", "InterleavedZeroBubble": "zero-bubble",
        "ZBVZeroBubble": "v", "DualPipeV": "v"}
# A run in PyTorch: what to generate, ranks, microbatches, stages of rank 0, 1, ...
RUN = (("v", 2, 3, (0, 3, 1, 2)), ("1f1b", 4, 8, range(4)), ("zero-bubble", 4, 6, range(4)), ("gpipe", 2, 3, range(2)),
       ("interleaved", 4, 6, (0, 4, 1, 5, 2, 6, 3, 7)), ("v", 4, 8, (0, 7, 1, 6, 2, 5, 3, 4)))
failed = False


def check(what, wrong):
    global failed
    for why in wrong[:5]:
        print("#", why[-300:])
    print("not ok -" if wrong else "ok -", what, flush=True)
    failed |= bool(wrong)


def dump(text):
    """As PyTorch's _dump_csv."""
    def shown(parts, group):
        return f"({';'.join(map(referee.name, parts))}){group}" if group else referee.name(parts[0])

    return "".join(",".join(shown(*a) for a in line) + "\r\n" for line in text.ranks).encode()


def lower_alike():
    """Without PyTorch: computations alone of the generator's texts."""
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for schedule, v in (("gpipe", 2), ("1f1b", 1), ("interleaved", 2), ("zero-bubble", 2), ("v", 2)):
            for p in (2, 3, 4):
                for m in (2, 4, 7):
                    text = referee.Text(referee.read(pipeline(schedule, p, m, v).encode()))
                    lines = [[a for a in line if a[0][0][1] in referee.COMPUTE] for line in text.ranks]
                    path = os.path.join(folder, "only.csv")
                    with open(path, "wb") as f:
                        f.write(dump(referee.Text(lines)))
                    run = subprocess.run([os.path.join(BUILD, "bin/ccc"), path, "--emit=csv"], stdout=subprocess.PIPE)
                    count += 1
                    if run.stdout.replace(b"\n", b"\r\n") != dump(referee.lower(referee.Text(lines))):
                        wrong.append(f"{schedule} {p} {m}: {run.stdout.decode()}")
    check(f"ccc and the referee lower {count} texts alike", wrong)


def main():
    lower_alike()
    what = f"PyTorch's schedules for 2..{RANKS} ranks and 2..{MICROBATCHES} microbatches"
    found = subprocess.run(["tests/support/python_with.sh", "torch"], stdout=subprocess.PIPE, text=True)
    python = found.stdout.strip()
    if found.returncode:
        print(f"skip - {what}: there is no PyTorch (Debian's python3-torch)")
        return
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([python, os.path.join(HERE, "torch_texts.py"), folder, RANKS, MICROBATCHES],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if "lowers as 2.15" in run.stderr:
            print(f"skip - {what}: this PyTorch is older than 2.15")
            return
        texts = [f for f in sorted(os.listdir(folder)) if f.endswith(".only.csv")]
        wrong, longer = [run.stderr] if run.returncode or len(texts) < 20 else [], []
        total = collections.defaultdict(lambda: [0, 0, 0, 0])  # by class: texts, shorter, PyTorch's length, ours
        for file in texts:
            only, comms = (open(os.path.join(folder, file.replace(".only.", f".{kind}.")), "rb").read()
                           for kind in ("only", "comms"))
            if dump(referee.lower(referee.Text(referee.read(only)))) != comms:
                wrong.append(f"{file}: lowered differently")
            run = subprocess.run([os.path.join(BUILD, "bin/ccc"), os.path.join(folder, file), "--emit=csv"], stdout=subprocess.PIPE)
            if run.stdout.replace(b"\n", b"\r\n") != comms:
                wrong.append(f"{file}: ccc lowers differently")
            run = subprocess.run([os.path.join(BUILD, "bin/ccc"), "check", os.path.join(folder, file.replace(".only.", ".comms."))],
                                 stdout=subprocess.PIPE, text=True)
            if run.returncode or run.stdout.count("even with unbuffered messages") != 4:
                wrong.append(f"{file}: ccc: {run.stdout}")
            verdict = referee.judge(comms)
            if verdict["errors"] or verdict["swapped"] or set(verdict["least"].values()) != {0}:
                wrong.append(f"{file}: {verdict}")
                continue
            name, p, v, m = re.fullmatch(r"(\w+)_(\d+)x(\d+)_(\d+)\.only\.csv", file).groups()
            schedule = "1f1b" if (name, v) == ("Interleaved1F1B", "1") else OURS[name]
            ours = referee.measures(referee.Text(referee.read(pipeline(schedule, int(p), int(m), int(v)).encode())))
            theirs = verdict["measures"]
            # ZBV with 7 ranks and 10 microbatches: 217 units against 216.
            if ours["length"] > theirs["length"] + (file.startswith("ZBVZeroBubble_7x2_10.")) or ours["held"] > theirs["held"]:
                longer.append(f"{file}: {ours}, not {theirs}")
            sums = total[name]
            sums[:] = [sums[0] + 1, sums[1] + (ours["length"] < theirs["length"]), sums[2] + theirs["length"],
                       sums[3] + ours["length"]]
        check(f"{what}: {len(texts)}", wrong)
        for name, (count, shorter, theirs, ours) in total.items():
            print(f"# {name}: {count} texts, of ours {shorter} shorter, together {theirs} and {ours} units")
        check("... ours are no longer, and hold no more", longer)
        for schedule, p, m, stages in RUN[:int(RUNS)]:
            path = os.path.join(folder, "ours.csv")
            with open(path, "w") as f:
                f.write(pipeline(schedule, p, m))
            run = subprocess.run([python, os.path.join(HERE, "torch_run.py"), path, str(p), str(m), *map(str, stages)],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
            check(f"PyTorch runs {schedule} of {p} ranks", [] if "gradients are right" in run.stdout else [run.stderr])


main()
sys.exit(failed)
