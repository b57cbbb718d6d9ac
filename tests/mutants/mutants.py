#!/usr/bin/env python3
"""Changes one operator or constant of the compiler at a time, and looks which suite sees it.

Places are drawn from the sources, in proportion to the lines of each file, always the same
ones for the same sources and seed. A change is made in a copy of the tree, under
build/mutants, never in the tree; the files that depend on it are built again and the suites run one
after the other, the suites that find most faults first, until one fails. A change that does not
compile, or after which the object is the same to the byte, does not count, and the next
place takes its turn. A suite that takes many times as long as without any change, or
much memory, has seen the change.

What no suite sees is in tests/mutants/survivors with the reason, or is a hole in the tests:
    compiler/check/values/value.c: follows
      - the line as it is
      + the line as it is changed
      The same: why no test can see it; or
      Only slower: ..., or another reason for which none does.
A change that survivors call "The same" is no fault: it does not count, and the next place takes its turn, too.

Results are kept in build/mutants/state.json: a run goes on where the last one ended.

usage: mutants.py [--count N] [--seed N] [--jobs N] [--fast] [--again] [--list]
                  [--file FILE]... [--suite COMMAND]... [NUMBER...]
    --fast    only the quick suites; a later run goes on with the other suites
    --again   run also what survived all suites once more
    --list    print the places, and run nothing
    --names   print what the lists of files and suites name and the tree does not have; run nothing
    --file    every place of these files, also of the run time, instead of random ones
    --suite   these suites instead, such as build/tests/plan/unit_in_place_test
    NUMBER    only these, from the beginning, and with what the suites said
The closing line is `mutants: K of N killed`; the status 1 if that is under 95 %, or if a
survivor has no explanation.
"""
import argparse
import functools
import glob
import hashlib
import json
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(HOME, "build", "mutants")
OPT = "OPT=-O1"
ORIGINAL = ".original"    # ends the names of objects without a change
MEMORY = 6 << 30    # bytes of address space for each process of a suite
LIMIT = (10, 4)     # seconds, and times what the suite takes without a change

# Memory, prose and printed texts decide nothing.
LEFT_OUT = ("lang/base/arena.c", "lang/print/dump.c", "lang/diag/diag_print.c")

T = "build/tests/"
MODULE = [T + "modules/%s.so" % name for name in
          ("ring_allreduce", "binomial_broadcast", "bruck_all_to_all", "binary_tree_allreduce")]
UNITS = ["lang/unit_lang_test", "check/unit_value_test", "check/unit_race_test", "check/unit_before_test",
         "plan/unit_choice_test", "cuda/unit_place_test"]
# Command, and the files that it needs besides ccc and ccrun.
FAST = [
    ("tests/check/golden_test.sh build", []),
    *((T + unit, [T + unit]) for unit in UNITS),
    (T + "check/oracle_test random 1000 1", [T + "check/oracle_test"]),
    (T + "lang/mistakes_test tests/lang/mistakes", [T + "lang/mistakes_test"]),
    (T + "lower/plan_test random 200 1", [T + "lower/plan_test"]),
    ("tests/check/cli_test.sh build", []),
    (T + "lower/good_test tests/check/good", [T + "lower/good_test"]),
    ("tests/lower/module_test.sh build", MODULE[:1]),
    (T + "lower/plan_test long 200 1", [T + "lower/plan_test"]),
    (T + "lower/plan_test library schedules", [T + "lower/plan_test"]),
    (T + "check/diag_test tests/check/diag tests/check/good schedules/broken schedules", [T + "check/diag_test"]),
    ("tests/lang/diagnostics_test.sh build", []),
    ("tests/lower/output_test.sh build", [T + "faults.so"]),
    ("tests/lang/format_test.sh build", []),
    ("tests/lang/depth_test.sh build", []),
    (T + "lang/fuzz_test tests/lang/corpus", [T + "lang/fuzz_test"]),
]
SLOW = [
    (T + "check/mutants_test schedules", [T + "check/mutants_test", T + "cpu/results_test"]),
    (T + "lower/plan_test controls schedules", [T + "lower/plan_test"]),
    ("tests/check/limits_test.sh build", []),
    (T + "lower/plan_test random 1000 1", [T + "lower/plan_test"]),
    (T + "lower/plan_test long 1000 1", [T + "lower/plan_test"]),
    (T + "check/oracle_test random 10000 1", [T + "check/oracle_test"]),
    (T + "check/oracle_test small 1", [T + "check/oracle_test"]),
    (T + "plan/prove_test random 2000 1", [T + "plan/prove_test"]),
    (T + "plan/prove_test good tests/check/good", [T + "plan/prove_test"]),
    (T + "plan/rounds_test " + " ".join(MODULE), [T + "plan/rounds_test", *MODULE]),
    (T + "cpu/results_test --short " + " ".join(MODULE), [T + "cpu/results_test", *MODULE]),
    ("tests/lower/read_back_test.sh build", [T + "fake_cuda/libnvrtc.so"]),
    ("tests/cuda/cuda_test.sh build", [T + "fake_cuda/libcuda.so.1", T + "fake_cuda/libnvrtc.so",
                                       T + "cuda/cuda_host_test", T + "cuda_modules/ring_allreduce.so"]),
]

# ---- places -----------------------------------------------------------------------

COMPARE = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
           "==": ("!=",), "!=": ("==",)}
OTHER = {"&&": ("||",), "||": ("&&",), "++": ("--",), "--": ("++",), "+=": ("-=",),
         "-=": ("+=",), "+": ("-",), "-": ("+",)}
TOKEN = re.compile(r"->|<<=?|>>=?|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|[-+<>]|"
                   r"\b\d+[uU]?\b(?![.\w])|\b0[xX]\w+|\b[A-Za-z_]\w*")
PROSE = re.compile(r"\b(diag_(?:add|note|help|fix|warn)|arena_printf|\w*printf|fputs|assert|"
                   r"(?:_S|s)tatic_assert|ARENA_\w+|arena_(?:grow|alloc)|room_for|"
                   r"__builtin_\w+|__attribute__)\s*\(")
BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|'
                   r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)
HINT = re.compile(r"\b(cap\w*|most_\w*|LIMIT_\w+|AHEAD)\b|^\s*(static )?(const )?\w+ \**\w+\[")


def closing(text, at):
    """The place behind the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    return len(text)


def code_of(text):
    """The text with all that is not to be changed made blank, at the same places."""
    spaces = lambda s: re.sub(r"[^\n]", " ", s)
    code = BLANK.sub(lambda m: spaces(m[0]), text)
    for m in reversed(list(PROSE.finditer(code))):
        end = closing(code, m.end() - 1)
        code = code[:m.start()] + spaces(code[m.start():end]) + code[end:]
    lines = code.split("\n")
    return "\n".join(spaces(s) if HINT.search(s) else s for s in lines)


def is_binary(code, at):
    before = code[:at].rstrip()
    if not before or not re.match(r"[\w)\]]", before[-1]):
        return False
    word = re.search(r"\b[A-Za-z_]\w*$", before)
    return not word or word[0] not in ("return", "case", "else")


def choices(code, m):
    """What may stand in the place of a token."""
    s = m[0]
    if s in COMPARE:
        return COMPARE[s]
    if s in ("+", "-") and not is_binary(code, m.start()):
        return ()
    if s in OTHER:
        return OTHER[s]
    if re.fullmatch(r"\d+[uU]?", s) and int(s.rstrip("uU")) <= 64:
        n, u = int(s.rstrip("uU")), "u" if s[-1] in "uU" else ""
        return ["%d%s" % (k, u) for k in ((1 - n,) if n < 2 else (n + 1, n - 1))]
    return ()


@functools.cache
def source(path):
    with open(os.path.join(HOME, path)) as f:
        return f.read()


@functools.cache
def functions(path):
    return [(m.start(), m) for m in
            re.finditer(r"^[A-Za-z][^;{}#\n]*?(\w+)\(", source(path), re.M)]


def places_of(path):
    """(start, end, replacement) of all that may be changed, and the number of lines."""
    text = source(path)
    code = code_of(text)
    body = code.find("\n{")    # above the first function are types
    found = []
    for m in TOKEN.finditer(code, max(body, 0)):
        found += [(m.start(), m.end(), new) for new in choices(code, m)]
        if m[0] == "if" and code[m.end():m.end() + 2] == " (":
            end = closing(code, m.end() + 1)
            found.append((m.end() + 1, end, "(!%s)" % text[m.end() + 1:end]))
    return found, sum(1 for s in code.split("\n") if s.strip())


class Mutant:
    def __init__(self, path, start, end, new):
        self.path, self.start, self.end, self.new = path, start, end, new
        old = self.old = source(path)
        self.line = old.count("\n", 0, start) + 1
        lo, hi = old.rfind("\n", 0, start) + 1, old.find("\n", end)
        self.old_line = " ".join(old[lo:hi].split())
        self.new_line = " ".join((old[lo:start] + new + old[end:hi]).split())
        heads = [m[1] for at, m in functions(path) if at < start]
        self.function = heads[-1] if heads else "?"

    @property
    def text(self):
        return self.old[:self.start] + self.new + self.old[self.end:]

    @property
    def key(self):
        """Results are for this change of this text."""
        return hashlib.sha1(repr((self.path, self.start, self.end, self.new,
                                  self.old)).encode()).hexdigest()

    def is_unused_operand(self):
        """Instructions of the bytecode have 0 where they have no operand."""
        before = self.old[:self.start]
        call = max((m.end() for m in re.finditer(r"\bcode_emit\w*\(", before)), default=0)
        return call > 0 and self.new == "1" and closing("(" + before[call:], 0) > self.start - call

    def __str__(self):
        return "%s:%d %s: %s => %s" % (self.path, self.line, self.function, self.old_line,
                                       self.new_line)


def draw(seed, count):
    """The places with the lowest lots. A lot is drawn from what the place is, not from where
    it is, so that a change of the sources moves no others; a file's places share its lines."""
    lots = []
    for folder in ("compiler", "lang"):
        for name in sorted(glob.glob(os.path.join(HOME, folder, "**", "*.c"), recursive=True)):
            path = os.path.relpath(name, HOME)
            if path in LEFT_OUT:
                continue
            found, lines = places_of(path)
            spots, seen = {}, {}
            for m in (Mutant(path, *place) for place in found):
                what = (m.function, m.old_line, m.new_line)
                seen[what] = seen.get(what, 0) + 1
                lot = random.Random(repr((seed, path, what, seen[what]))).expovariate(1)
                spots.setdefault((m.start, m.end), []).append((lot, m))
            for v in spots.values():    # one change for each place
                lot, m = min(v, key=lambda x: x[0])
                if not m.is_unused_operand():
                    lots.append((lot * len(v) * len(spots) / lines, m))
    return [m for _, m in sorted(lots, key=lambda x: x[0])[:count]]


def all_of(paths):
    """Every place of these files, with one change for each."""
    mutants = []
    for path in paths:
        seen = set()
        for place in places_of(path)[0]:
            m = Mutant(path, *place)
            if m.start not in seen and not m.is_unused_operand():
                mutants.append(m)
            seen.add(m.start)
    return mutants


def needed(command):
    """The files to be made for a suite: its program, modules."""
    words = command.split()
    return [w for w in words if w.startswith("build/") and (w == words[0] or w.endswith(".so"))]


# ---- a copy of the tree --------------------------------------------------------------

def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


RUNNING = set()


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def stop(*_):
    """Ends all processes; Tree.copy mends the file that was changed."""
    for process in list(RUNNING):
        end_group(process)
    os._exit(130)


class Tree:
    def __init__(self, number, log):
        self.at = os.path.join(WORK, "tree%d" % number)
        self.log = log
        self.env = dict(os.environ, CCC="build/bin/ccc", CCRUN="build/bin/ccrun",
                        CCS_NVRTC="none", CCS_TEST_NVRTC="none", CCS_CACHE_DIR="")
        for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
            self.env.pop(name, None)

    def copy(self, other=None):
        """The tree as it is now, with what was built in an earlier run, but for what a run
        that was stopped may have left: an object with a change, and what has it or is half
        made."""
        keep = os.path.join(self.at, "build")
        for path in glob.glob(keep + "/**/*" + ORIGINAL, recursive=True):
            os.remove(path)
            os.remove(path[:-len(ORIGINAL)])
        for path in glob.glob(keep + "/bin/*") + glob.glob(keep + "/lib/*"):
            os.remove(path)
        if other and not os.path.isdir(keep):
            shutil.copytree(other.at, self.at, symlinks=True)
            return
        os.makedirs(self.at, exist_ok=True)
        for name in os.listdir(self.at):
            if name != "build":
                path = os.path.join(self.at, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        for name in os.listdir(HOME):
            path = os.path.join(HOME, name)
            if name in ("build", ".git"):
                continue
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(self.at, name), symlinks=True)
            else:
                shutil.copy2(path, os.path.join(self.at, name))

    def make(self, targets, seconds=1800):
        return self.run(["make", "-s", OPT, *targets], seconds, False)[0] is None

    def run(self, command, seconds, is_suite):
        """Why a command failed, or None; and its output."""
        process = subprocess.Popen(command, cwd=self.at, env=self.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True, preexec_fn=limits)
        RUNNING.add(process)
        timer = threading.Timer(seconds, end_group, [process])
        begun, out, why = time.monotonic(), [], None
        timer.start()
        try:
            for raw in process.stdout:
                line = raw.decode(errors="replace").rstrip("\n")
                out.append(line)
                if is_suite and line.startswith("not ok"):
                    why = line
                    break
            else:
                process.wait()
        finally:
            timer.cancel()
            status = process.poll()
            end_group(process)
            RUNNING.discard(process)
            process.stdout.close()
        if why is None and time.monotonic() - begun >= seconds:
            why = "it takes too long"
        if why is None and status != 0:
            why = "it ends with %s" % status
        if why is None and is_suite and not any(re.match("ok|skip", s) for s in out):
            why = "it prints no result"
        return why, out

    def suite(self, suite, seconds):
        command, needs = suite
        if needs and not self.make(needs, 600):
            return "its files cannot be made", []
        return self.run(command.split(), seconds, True)


# ---- one mutant ------------------------------------------------------------------------

def try_mutant(tree, m, passed, suites, seconds):
    """Adds the suites that did not see it to `passed`; its status, and what saw it."""
    path, obj = os.path.join(tree.at, m.path), "build/" + m.path[:-2] + ".o"
    with open(path) as f:
        original = f.read()
    at = os.path.join(tree.at, obj)
    keep = at + ORIGINAL
    shutil.copy2(at, keep)
    try:
        with open(path, "w") as f:
            f.write(m.text)
        if not tree.make([obj], 120):
            return "not counted", "it does not compile"
        if open(at, "rb").read() == open(keep, "rb").read():
            return "not counted", "the same object"
        if not tree.make(["build/bin/ccc", "build/bin/ccrun"], 120):
            return "not counted", "it does not link"
        for suite in suites:
            if suite[0] in passed:
                continue
            why, out = tree.suite(suite, seconds[suite[0]])
            tree.log("\n".join("    " + s for s in out[-30:]))
            if why:
                return "killed", "%s: %s" % (suite[0], why)
            passed.append(suite[0])
        return "survived", ""
    finally:
        with open(path, "w") as f:
            f.write(original)
        os.replace(keep, at)
        os.utime(at)


# ---- all of them -------------------------------------------------------------------------

def explained():
    """(file, function, line, changed line) of all that is in the list: the reason."""
    found, lines = {}, [None, None]
    place = ("", "")
    with open(os.path.join(HOME, "tests", "mutants", "survivors")) as f:
        for line in f:
            if m := re.match(r"(\S+): (\w+)$", line):
                place = m.groups()
            elif m := re.match(r"  ([-+]) (.*)$", line):
                lines["-+".index(m[1])] = " ".join(m[2].split())
            elif m := re.match(r"  (\S.*)$", line):
                found[(*place, *lines)] = m[1]
    return found


def reason(known, m):
    return known.get((m.path, m.function, m.old_line, m.new_line), "")


def gone():
    """What the lists name and the tree does not have: files, functions, suites."""
    names = {*LEFT_OUT}
    for command, needs in FAST + SLOW:
        for word in [w for w in (*command.split(), *needs) if "/" in w]:
            word = re.sub(r"^%s\w*modules/(\w+)\.so$" % T, r"schedules/\1.ccs", word)
            names.add(word if not word.startswith(T) else "tests/%s.c" % word[len(T):])
    names = {n for n in names if not re.search(r"\.so(\.\d+)?\.c$", n)}  # the stand-ins are made of several files
    names |= {path for path, *_ in explained()}
    missing = [n for n in sorted(names) if not os.path.exists(os.path.join(HOME, n))]
    for path, function in sorted({place[:2] for place in explained()}):
        if path not in missing and not re.search(r"\b%s\(" % function, source(path)):
            missing.append("%s: %s" % (path, function))
    return missing


class Session:
    def __init__(self, options):
        self.options = options
        self.suites = FAST if options.fast else FAST + SLOW
        if options.suite:
            self.suites = [(command, needed(command)) for command in options.suite]
        self.file = os.path.join(WORK, "state.json")
        self.lock = threading.Lock()
        self.state = {}
        self.known = explained()
        if os.path.exists(self.file):
            with open(self.file) as f:
                self.state = json.load(f)

    def save(self):
        with open(self.file + ".new", "w") as f:
            json.dump(self.state, f, indent=1)
        os.replace(self.file + ".new", self.file)

    def say(self, text):
        with self.lock:
            print(text, flush=True)

    def log(self, text):
        if self.options.numbers and text:
            self.say(text)

    def trees(self):
        """Copies that are built, and in which all suites pass; how long they may take."""
        trees = [Tree(k, self.log) for k in range(self.options.jobs)]
        trees[0].copy()
        self.say("# building %s" % trees[0].at)
        needs = {n for s in self.suites for n in s[1]}
        if not trees[0].make(["-j%d" % self.options.jobs, "build/bin/ccc", "build/bin/ccrun",
                              *sorted(needs)]):
            sys.exit("mutants.py: the copy cannot be built; see `make OPT=-O1` in " + trees[0].at)
        for tree in trees[1:]:
            tree.copy(trees[0])
            tree.make(["build/bin/ccc", "build/bin/ccrun", *sorted(needs)])
        seconds = {}
        for suite in self.suites:
            begun = time.monotonic()
            why, out = trees[0].suite(suite, 1800)
            if why:
                print("\n".join(out[-20:]))
                sys.exit("mutants.py: without any change: %s: %s" % (suite[0], why))
            took = time.monotonic() - begun
            seconds[suite[0]] = LIMIT[0] + LIMIT[1] * took * self.options.jobs
            self.say("# %s: %.1f s" % (suite[0], took))
        return trees, seconds

    def of(self, m):
        return self.state.get(m.key, {"status": "", "passed": []})

    def wanted(self, number, m):
        if self.options.numbers:
            return number in self.options.numbers
        r = self.of(m)
        if r["status"] == "survived" and self.options.again:
            r["passed"] = []
            return True
        return r["status"] == "" or (r["status"] == "survived" and
                                     any(s[0] not in r["passed"] for s in self.suites))

    def work(self, tree, seconds, jobs):
        while True:
            try:
                number, m = jobs.get_nowait()
            except queue.Empty:
                return
            passed = [] if self.options.numbers else self.of(m)["passed"]
            status, why = try_mutant(tree, m, passed, self.suites, seconds)
            with self.lock:
                self.state[m.key] = {"status": status, "passed": passed, "why": why}
                self.save()
            self.say("%d %s %s%s" % (number, status, m, " (%s)" % why if why else ""))

    def run(self, mutants):
        """Runs numbers until enough of them count."""
        trees = seconds = None
        while True:
            counted = self.counted(mutants)
            todo = [(n, m) for n, m in (enumerate(mutants, 1) if self.options.numbers else counted)
                    if self.wanted(n, m)]
            if not todo:
                return counted
            if not trees:
                trees, seconds = self.trees()
            jobs = queue.Queue()
            for job in todo:
                jobs.put(job)
            threads = [threading.Thread(target=self.work, args=(t, seconds, jobs)) for t in trees]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.options.again = False
            if self.options.numbers:
                return [(n, m) for n, m in todo if self.of(m)["status"] != "not counted"]

    def counted(self, mutants):
        """The first ones that count, or may."""
        v = [(n, m) for n, m in enumerate(mutants, 1) if self.of(m)["status"] != "not counted" and
             not (self.of(m)["status"] == "survived" and
                  reason(self.known, m).startswith("The same"))]
        return v[:self.options.count]

    def report(self, counted):
        survivors = [(n, m) for n, m in counted if self.of(m)["status"] == "survived"]
        bare = [(n, m) for n, m in survivors if not reason(self.known, m)]
        for n, m in survivors:
            print("survivor %d%s %s" % (n, ", not explained," if (n, m) in bare else "", m))
        killed = len(counted) - len(survivors)
        print("mutants: %d of %d killed" % (killed, len(counted)))
        return 1 if bare or killed * 100 < 95 * len(counted) else 0


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n    --")[0])
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    for name in ("--fast", "--again", "--list", "--names"):
        p.add_argument(name, action="store_true")
    for name in ("--file", "--suite"):
        p.add_argument(name, action="append", default=[])
    p.add_argument("numbers", type=int, nargs="*", metavar="NUMBER")
    options = p.parse_args()
    if options.names:
        print(*gone(), sep="\n", end="")
        return bool(gone())
    mutants = all_of(options.file) if options.file else draw(options.seed, 3 * options.count)
    if options.file:
        options.count = len(mutants)
    if options.list:
        for n, m in enumerate(mutants, 1):
            print(n, m)
        return 0
    os.makedirs(WORK, exist_ok=True)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    session = Session(options)
    return session.report(session.run(mutants))


sys.exit(main())
