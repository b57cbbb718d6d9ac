#!/usr/bin/env python3
"""All of PyTorch's pipeline schedules (torch_texts.py): ccc and the referee lower each text of computations alone to PyTorch's text
with communications, byte by byte, and find both free of deadlock without a message in between.
usage: torch_test.py BUILD [RANKS [MICROBATCHES]]"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import referee  # noqa: E402

BUILD, RANKS, MICROBATCHES = (sys.argv[1:] + ["build", "4", "8"][len(sys.argv) - 1:])[:3]


def dump(text):
    """As PyTorch's _dump_csv."""
    def shown(parts, group):
        return f"({';'.join(map(referee.name, parts))}){group}" if group else referee.name(parts[0])

    return "".join(",".join(shown(*a) for a in line) + "\r\n" for line in text.ranks).encode()


def main():
    what = f"PyTorch's schedules for 2..{RANKS} ranks and 2..{MICROBATCHES} microbatches"
    found = subprocess.run(["tests/support/python_with.sh", "torch"], stdout=subprocess.PIPE, text=True)
    if found.returncode:
        print(f"skip - {what}: there is no PyTorch (Debian's python3-torch)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([found.stdout.strip(), os.path.join(HERE, "torch_texts.py"), folder, RANKS, MICROBATCHES],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if "lowers as 2.15" in run.stderr:
            print(f"skip - {what}: this PyTorch is older than 2.15")
            return 0
        wrong, count = [run.stderr] if run.returncode else [], 0
        for file in sorted(os.listdir(folder)):
            if not file.endswith(".only.csv"):
                continue
            count += 1
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
    for why in wrong[:5]:
        print("#", why[-300:])
    print("not ok -" if wrong or count < 20 else "ok -", f"{what}: {count}")
    return bool(wrong) or count < 20


sys.exit(main())
