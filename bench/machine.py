#!/usr/bin/env python3
"""Fits the constants of a machine, and prints its topology (docs/cost.md).

usage: machine.py BUILD [--template FILE.ccs] [--measured FILE] [--only REGEX] [--each] [-n 2,4,8]

A template is a topology with fields {NAME=START} in place of numbers; without one, it is made for ranks that share
the cores of this machine. Times come from `ccrun` here, or from a file:

  .csv     rows with schedule (or algorithm), bytes and us, and perhaps ranks: SCHEDULE.xml beside the file, or
           schedules/SCHEDULE.ccs
  .md      a page of bench/results/: of its lines `time SCHEDULE PROTOCOL BYTES US`, the fastest protocol, 8 ranks

What is minimized is the mean of |log(predicted / measured)|, by changing one field after another by a factor that
becomes smaller (Hooke and Jeeves, "Direct search", JACM 1961). Load only adds to a time, so the least of several
runs is taken. With --each, every schedule is also predicted by constants that were fitted without it, from the
template's starts; a fit that starts from the fit to all would know the answer.
"""

import argparse
import concurrent.futures
import csv
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

SCHEDULES = """ring_allreduce recursive_doubling_allreduce direct_allreduce halving_doubling_allreduce ring_allgather
direct_allgather ring_reduce_scatter binomial_broadcast chain_broadcast direct_all_to_all""".split()
FIELD = re.compile(r"\{(\w+)=([0-9.e+-]+)\}")
RUNS = 9


def own_template(ranks):
    """Ranks share cores: the core of a message's receiver copies it, and has a latency for all its ranks."""
    cores = len(os.sched_getaffinity(0))
    text = f"""topology cpu_engine where N <= {max(ranks)} {{
  let core = rank % {cores}
  switch begin[{cores}]
  switch end[{cores}]
  cost (call = {{call=1e-7}}, step = {{step=1e-8}})
  for c in 0..{cores} {{ link rank -> begin[c] (bandwidth = 1e15, latency = 0) }}
  link end[core] -> rank (bandwidth = 1e15, latency = 0)
"""
    for i, n in enumerate(ranks):
        text += f"  {'if' if not i else '}} else if'.replace('}}', '}')} N <= {n} {{\n" if i + 1 < len(ranks) else (
            "  } else {\n" if i else "  if true {\n")
        text += f"    link begin[core] -> end[core] (bandwidth = {{copy{n}=2e10}}, latency = {{latency{n}=5e-8}})\n"
    return text + "  }\n}\n"


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def measure(build, ranks, folder):
    """{(file, ranks): {bytes: us}} of ccrun here."""
    times = {}
    for name in SCHEDULES:
        file, module = f"schedules/{name}.ccs", f"{folder}/{name}.so"
        run([f"{build}/bin/ccc", file, "-n", ",".join(map(str, ranks)), "--target=cpu", "-o", module])
        for n in ranks:
            least = times.setdefault((file, n), {})
            for _ in range(RUNS):
                command = [f"{build}/bin/ccrun", "-n", str(n), module, "--json", "-c", "0"]
                for row in json.loads(run(command + ["-b", "1K", "-e", "256K", "-f", "4"]))["rows"]:
                    us = min(way["time_us"] for way in (row["in_place"], row["out_of_place"]) if way)
                    least[row["size_bytes"]] = min(us, least.get(row["size_bytes"], us))
    return times


def read(path):
    """The same of a file."""
    times = {}
    if path.endswith(".md"):
        with open(path, encoding="utf-8") as page:
            rows = re.findall(r"^time (\w+) \S+ (\d+) ([0-9.]+)$", page.read(), re.M)
        rows = [{"schedule": s, "ranks": "8", "bytes": b, "us": us} for s, b, us in rows]
    else:
        with open(path, encoding="utf-8") as table:
            rows = list(csv.DictReader(table))
    for row in rows:
        name = row.get("schedule") or row["algorithm"]
        xml = os.path.join(os.path.dirname(path), name + ".xml")
        file = xml if os.path.exists(xml) else f"schedules/{name}.ccs"
        least = times.setdefault((file, int(row.get("ranks") or 0)), {})
        us = float(row["us"])
        least[int(row["bytes"])] = min(us, least.get(int(row["bytes"]), us))
    return times


class Model:
    """A template, and the times that it should have."""

    def __init__(self, build, template, times, folder):
        self.build, self.template, self.times, self.folder = build, template, times, folder
        self.name = re.search(r"^topology (\w+)", template, re.M)[1]
        self.start = {m[1]: float(m[2]) for m in FIELD.finditer(template)}
        self.known = {}

    def text(self, values):
        return FIELD.sub(lambda m: f"{values[m[1]]:.4g}", self.template)

    def predict_one(self, machine, file, n, sizes):
        """{bytes: us}; `simulate` takes a first size, a last one, and a factor."""
        sizes = sorted(sizes)
        factors = {b // a for a, b in zip(sizes, sizes[1:])}
        even = len(factors) == 1 and all(b % a == 0 for a, b in zip(sizes, sizes[1:]))
        calls = [(sizes[0], sizes[-1], factors.pop())] if even else [(s, s, 2) for s in sizes]
        out = {}
        for least, most, factor in calls:
            command = [f"{self.build}/bin/ccc", "simulate", file, "--on", f"{machine}:{self.name}", "--format=csv"]
            command += ["-b", str(least), "-e", str(most), "-f", str(factor)] + (["-n", str(n)] if n else [])
            for row in csv.DictReader(io.StringIO(run(command))):
                out[int(row["bytes"])] = float(row["us"])
        return out

    def errors(self, values):
        """{(file, ranks): [log(predicted / measured), ...]}"""
        key = tuple(values.values())
        if key in self.known:
            return self.known[key]
        with tempfile.NamedTemporaryFile("w", suffix=".ccs", dir=self.folder) as machine:
            machine.write(self.text(values))
            machine.flush()
            with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                jobs = {k: pool.submit(self.predict_one, machine.name, *k, t) for k, t in self.times.items()}
                self.known[key] = {
                    k: [math.log(max(job.result()[size], 1e-6) / us) for size, us in self.times[k].items()]
                    for k, job in jobs.items()
                }
        return self.known[key]

    def fit(self, without=None):
        def loss(values):
            errors = self.errors(values)
            return statistics.fmean(abs(e) for k, v in errors.items() if k[0] != without for e in v)

        best = dict(self.start)
        least, factor = loss(best), 3.0
        while factor > 1.02:
            before = least
            for name in self.start:
                for scale in (factor, 1 / factor):
                    other = {**best, name: best[name] * scale}
                    value = loss(other)
                    if value < least:
                        best, least = other, value
                        break
            if least > before * 0.999:
                factor = math.sqrt(factor)
        return best


def accuracy(errors):
    off = sorted(abs(math.expm1(e)) for e in errors)
    return f"median {100 * statistics.median(off):.0f} %, nine tenths within {100 * off[len(off) * 9 // 10 - 1]:.0f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--template")
    parser.add_argument("--measured")
    parser.add_argument("--only", default="")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("-n", default="2,4,8")
    o = parser.parse_args()
    ranks = [int(n) for n in o.n.split(",")]
    template = open(o.template, encoding="utf-8").read() if o.template else own_template(ranks)
    with tempfile.TemporaryDirectory() as folder:
        times = read(o.measured) if o.measured else measure(o.build, ranks, folder)
        times = {k: v for k, v in times.items() if re.search(o.only, k[0])}
        if not times:
            sys.exit("machine.py: there are no times to fit to")
        model = Model(o.build, template, times, folder)
        best = model.fit()
        errors = model.errors(best)
        rows = sum(map(len, times.values()))
        print(f"// Fitted by `make machine` to {rows} times of {len({f for f, _ in times})} schedules, from", end=" ")
        print(f"{os.path.basename(o.measured)}." if o.measured else "ccrun in one process.")
        print(f"// Predicted times are off by: {accuracy([e for v in errors.values() for e in v])}.")
        if o.each:
            left = []
            for file in sorted({f for f, _ in times}):
                others = model.errors(model.fit(without=file))
                mine = [e for k, v in others.items() if k[0] == file for e in v]
                left += mine
                print(f"//   {os.path.basename(file)}, fitted without it: {accuracy(mine)}")
            print(f"// Each schedule by constants fitted without it: {accuracy(left)}.")
        print(model.text(best), end="")


if __name__ == "__main__":
    main()
