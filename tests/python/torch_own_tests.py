"""Runs PyTorch's own tests of torch.distributed, DistributedTest, as they ship inside it,
unmodified, with a back end, and prints what each gives, and the numbers.

    PYTHONPATH=python CCS_LIBRARY=build/lib/libccs.so.0 python3 tests/python/torch_own_tests.py \\
        [--backend ccs] [--against gloo] [--ranks 3] [TEST...]

TEST is a part of a test's name; without any, all are run that need no GPU. With --against every
one that passes with that back end must pass. The status is 1 if one does not; without it, if any
fails. They need the package expecttest.

Many of these tests are for back ends that they name: `BACKEND != "gloo"` skips them when PyTorch's
module is loaded, and `BACKEND == "gloo"` makes a model on the CPU. So the module is loaded under the
name gloo, which selects the tests of CPU tensors. Then BACKEND gets a name by which groups are made, and
which equals gloo's where tests compare it; and the tables of what back ends can do
(DistTestCases.backend_feature) get it, too, as for any plug-in of PyTorch's. One table does not:
PROFILING_SUPPORTED_BACKENDS, as profilers do not see its calls.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile


class Name(str):
    """A back end's name, which is taken for gloo's, too."""

    def __eq__(self, other):
        return other == "gloo" or str.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


def load(backend):
    """PyTorch's module of tests, for a back end."""
    if backend == "ccs":
        import ccs.torch  # makes the back end known
    os.environ["BACKEND"] = "gloo"
    from torch.testing._internal.distributed import distributed_test as theirs

    os.environ["BACKEND"] = backend
    theirs.BACKEND = Name(backend)
    for feature in ("ddp", "subgroup", "plugin"):
        theirs.DistTestCases.backend_feature[feature].add(backend)
    return theirs


def run_here(names):
    """Runs them in a new process, with BACKEND set: unittest's lines go to stderr."""
    import unittest
    import warnings

    warnings.simplefilter("ignore")
    theirs = load(os.environ["BACKEND"])
    base = theirs.DistributedTest._DistTestBase

    class Distributed(theirs.TestDistBackend, base):
        def setUp(self):
            super().setUp()
            self._fork_processes()  # PyTorch is loaded once

        def _fork_processes(self):
            import torch

            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    suite = unittest.TestSuite()
    for name in sorted(dir(base)):
        wanted = not names or any(part in name for part in names)
        if name.startswith("test_") and wanted:
            suite.addTest(Distributed(name))
    unittest.TextTestRunner(verbosity=2).run(suite)


def run(backend, ranks, names, seconds):
    """{test: (result, reason)} of a back end."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ,
            BACKEND=backend,
            WORLD_SIZE=str(ranks),
            TEMP_DIR=folder,
            INIT_METHOD=f"file://{folder}/init",
            CCS_SCHEDULES_REPORT="0",
            OMP_NUM_THREADS="1",
        )
        for name in ("barrier", "test_dir", "init_dir"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        command = [sys.executable, os.path.abspath(__file__), "--here", "--ranks", str(ranks)]
        with open(os.path.join(folder, "log"), "w+", encoding="utf-8", errors="replace") as log:
            try:
                subprocess.run(
                    [*command, *names], env=environment, stdout=log, stderr=log, timeout=seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                print(f"{backend}: not done after {seconds} s", file=sys.stderr)
            log.seek(0)
            text = log.read()
    return results(text), text


def results(text):
    """From unittest's lines: a test's output may come between its name and its result."""
    got, name = {}, None
    for line in text.splitlines():
        begins = re.match(r"^(test_\w+) \(", line)
        if begins:
            name = begins.group(1)
        ends = re.search(r"(?:\.\.\. |^)(ok|FAIL|ERROR|skipped)(?: (['\"].*))?$", line)
        if name and ends:
            got[name] = (ends.group(1), ends.group(2) or "")
            name = None
    return got


def reason(text, name):
    """The last line that a failed test's traceback has."""
    parts = re.findall(rf"^(?:FAIL|ERROR): {name} .*?\n-+\n(.*?)(?:\n\n|\Z)", text, re.S | re.M)
    lines = [l for l in parts[0].splitlines() if l.strip()] if parts else []
    told = [l for l in lines if re.match(r"^\S*(Error|Exception|Failure)\b.*:", l)]
    return (told or lines or ["no reason was given"])[-1][:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="ccs")
    parser.add_argument("--against")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3000, help="for each back end")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    if options.here:
        run_here(options.tests)
        return 0
    try:
        import expecttest
    except ImportError:
        print("skip - PyTorch's own tests: they need the package expecttest")
        return 0
    got, text = run(options.backend, options.ranks, options.tests, options.seconds)
    other = {}
    if options.against:
        other, _ = run(options.against, options.ranks, options.tests, options.seconds)
    counts = {"ok": 0, "FAIL": 0, "ERROR": 0, "skipped": 0}
    worse = 0
    for name, (result, why) in sorted(got.items()):
        counts[result] += 1
        theirs = other.get(name, ("none",))[0]
        if result in ("FAIL", "ERROR"):
            bad = not options.against or theirs == "ok"
            worse += bad
            print(f"{'not ok' if bad else 'as there'} - {name}: {reason(text, name)}")
        elif result == "skipped" and theirs == "ok":
            worse += 1
            print(f"not ok - {name}: skipped here alone: {why}")
        else:
            print(f"{'ok' if result == 'ok' else 'skip'} - {name}{': ' + why if why else ''}")
    failed = counts["FAIL"] + counts["ERROR"]
    print(f"{options.backend}: {counts['ok']} passed, {failed} failed, {counts['skipped']} skipped")
    if options.against:
        passed = sum(result == "ok" for result, _ in other.values())
        print(f"{options.against}: {passed} passed; {worse} of these do not with {options.backend}")
    if not got:
        print(text[-2000:], file=sys.stderr)
    return 1 if worse or not got else 0


if __name__ == "__main__":
    sys.exit(main())
