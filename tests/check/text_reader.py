"""Reads texts and runs them rank by rank, against `ccc --emit=program`: the meaning of each statement, written
a second time (ccs(5) 3-6), as simply as possible and without the compiler's code.

usage: text_reader.py CCC NRANKS[,NRANKS ...] [--random COUNT SEED] FILE.ccs ...
Compares the programs of all schedules in each file that ccc takes for these N: operations, steps, lines, peers,
channels, chunks, scratch, and the waits of pars. With --random COUNT times a file with random changes, for a random N
up to 150: operations in more blocks, and other numbers. Right programs only: golden tests have the mistakes.
"""
import os, random, re, subprocess, sys, tempfile, threading
TOKEN = re.compile(r"\s+|//[^\n]*|/\*.*?\*/|(?P<t>[A-Za-z_]\w*|0[xXbB]\w+|\d+\.\d+(?:[eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+|\d[\d_]*|\"(?:[^\"\\\n]|\\.)*\"|\.\.|->|<<|>>|&&|\|\||[=!<>]=|\S)", re.S)
TIERS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]
HEADS = {"import", "contract", "topology", "proc", "schedule", "ensures", "let", "fn"}
BINARY = {"|": int.__or__, "^": int.__xor__, "&": int.__and__, "<<": int.__lshift__, ">>": int.__rshift__, "+": int.__add__,
          "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__, "%": int.__mod__, "==": int.__eq__, "!=": int.__ne__,
          "<": int.__lt__, ">": int.__gt__, "<=": int.__le__, ">=": int.__ge__}
BUILTINS = {"min": lambda *a: min(a), "max": lambda *a: max(a), "abs": abs, "ilog2": lambda a: a.bit_length() - 1, "clog2": lambda a: (a - 1).bit_length(),
            "ispow2": lambda a: a > 0 and a & a - 1 == 0, "popcount": lambda a: bin(a & 2**64 - 1).count("1"),
            "ctz": lambda a: (a & -a).bit_length() - 1}

class Reader:
    """Texts as trees of tuples, with the kind of each first."""
    def __init__(self, text):
        self.t, line, at = [], 1, 0
        while at < len(text):
            m = TOKEN.match(text, at)
            if m["t"]: self.t.append((m["t"], line))
            line += m[0].count("\n")
            at = m.end()
        self.t.append(("", line))
        self.i = 0
    def next(self): return self.t[self.i][0]
    def after(self): return self.t[min(self.i + 1, len(self.t) - 1)][0]
    def take(self, *wanted):
        assert not wanted or self.next() in wanted, (self.t[self.i], wanted)
        self.i += 1
        return self.t[self.i - 1][0]
    def maybe(self, word):
        self.i += self.next() == word
        return self.t[self.i - 1][0] == word and self.i > 0
    def has(self, word):
        found = self.next() == word
        self.i += found
        return found
    def list_of(self, item, end):
        found = []
        while self.next() not in end:
            found.append(item())
            self.has(",")
        return found
    def primary(self):
        w = self.take()
        if w == "(":
            e = self.expr()
            self.take(")")
            return e
        if w in ("-", "~", "!"): return ("unary", w, self.primary())
        if w[0].isdigit(): return ("int", int(w, 0 if w[:2].lower() in ("0x", "0b") else 10))
        if w in ("true", "false"): return ("int", int(w == "true"))
        if w in ("rank", "N"): return (w,)
        if self.has("("):
            args = self.list_of(self.value, ")")
            self.take(")")
            return ("call", w, args)
        if self.has("["):
            e = self.expr()
            self.take("]")
            return ("entry", w, e)
        return ("name", w)
    def tier(self, k):
        if k == len(TIERS): return self.primary()
        a = self.tier(k + 1)
        while self.next() in TIERS[k]: a = ("binary", self.take(), a, self.tier(k + 1))
        return a
    def expr(self):
        a = self.tier(0)
        if not self.has("?"): return a
        b = self.expr()
        self.take(":")
        return ("cond", a, b, self.expr())
    def value(self):
        if not self.has("["): return self.expr()
        e = ("table", self.list_of(self.expr, "]"))
        self.take("]")
        return e
    def bracket(self):
        """[e], [lo..hi]"""
        self.take("[")
        lo = self.expr()
        hi = self.expr() if self.has("..") else None
        self.take("]")
        return lo, hi
    def ref(self):
        name, brackets = self.take(), []
        while self.next() == "[": brackets.append(self.bracket())
        return name, brackets
    def arg(self):
        """A view or a number: which of them, the callee says."""
        at = self.i
        try:
            ref = self.ref()
            if self.next() in (",", ";", ")"): return ref, at
        except AssertionError: pass
        self.i = at
        return None, self.expr()
    def reread(self, at):
        was, self.i = self.i, at
        e = self.expr()
        self.i = was
        return e
    def counts(self): return self.ref()
    def binding(self):
        name = self.take()
        return name, self.expr() if self.has("=") else None
    def params(self):
        if not self.has("("): return []
        p = self.list_of(self.binding, ")")
        self.take(")")
        return p
    def fn(self):
        name = self.take()
        self.take("(")
        params = self.list_of(self.take, ")")
        self.take(")"), self.take("=")
        return ("fn", name, params, self.expr())
    def let(self):
        name = self.take()
        self.take("=")
        return ("let", name, self.value())
    def block(self):
        self.take("{")
        body = []
        while not self.has("}"):
            if not self.has(";"): body.append(self.stmt())
        return body
    def range(self):
        name = self.take()
        self.take("in")
        lo = self.value()
        if not self.has(".."): return name, lo, None, None # a table
        return name, lo, self.expr(), self.expr() if self.has("by") else ("int", 1)
    def stmt(self):
        line, w = self.t[self.i][1], self.take()
        if w in ("send", "recv", "reduce", "copy"):
            x, how = self.ref(), self.take("to", "from", "into")
            return ("op", line, w, x, how, self.ref() if how == "into" else self.expr())
        if w == "step": return (w, self.block())
        if w == "par" and not self.has("for"):
            self.take("{")
            blocks = []
            while not self.has("}"): blocks.append(self.block())
            return (w, blocks)
        if w in ("for", "par"): return (w + " for" if w == "par" else w, *self.range(), self.block())
        if w == "channel": return (w, self.expr(), self.block())
        if w == "if":
            e, body, other = self.expr(), self.block(), []
            if self.has("else"): other = [self.stmt()] if self.next() == "if" else self.block()
            return (w, e, body, other)
        if w == "within":
            self.take("group"), self.take("(")
            of = self.list_of(self.value, ")")
            self.take(")")
            return (w, of, self.block())
        if w == "assert":
            e = self.expr()
            self.take(","), self.take()
            return (w, e)
        if w == "let": return self.let()
        if w == "fn": return self.fn()
        if w == "scratch": return (w, line, *self.counts())
        if w == "link" or (w in ("switch", "cost") and self.next() != "(" or w == "cost"): # no operations
            while self.next() not in ("", "}", "link", "switch", "cost", "for", "if", "let", "fn"): self.take()
            return ("nothing",)
        self.take("(")
        args = self.list_of(self.arg, ";)")
        more = self.list_of(self.binding, ")") if self.has(";") else []
        self.take(")")
        return ("call", w, args, more)
    def buffer(self):
        self.take("in", "out", "inout")
        name, counts = self.counts()
        while self.next() in ("by", "sized"):
            self.take(), self.take()
            while self.next() == "[": self.bracket()
        return name, counts
    def on(self):
        if not self.has("on"): return None
        name, args = self.take(), []
        if self.has("("):
            args = self.list_of(self.expr, ")")
            self.take(")")
        return name, args
    def file(self, folder, found, seen):
        while self.next():
            w = self.take()
            if w == "import":
                path = os.path.join(folder, self.take()[1:-1])
                if path not in seen:
                    seen.add(path)
                    Reader(open(path).read()).file(os.path.dirname(path), found, seen)
            elif w == "let": found.append(self.let())
            elif w == "fn": found.append(self.fn())
            elif w == "topology":
                name, params = self.take(), self.params()
                if self.has("where"): self.expr()
                found.append((w, name, params, self.block()))
            elif w == "proc":
                name = self.take()
                self.take("(")
                formals = self.list_of(self.counts, ")")
                self.take(")")
                found.append((w, name, [(n, c or None) for n, c in formals], [], self.on(), self.block(), self))
            elif w == "schedule":
                name, params = self.take(), self.params()
                self.take("implements"), self.take(), self.take("(")
                formals = self.list_of(self.buffer, ";)")
                if self.has(";"): self.list_of(self.binding, ")")
                self.take(")")
                on = self.on()
                if self.has("where"): self.expr()
                found.append((w, name, formals, params, on, self.block(), self))
            elif w in ("contract", "ensures"):
                while self.next() and self.next() not in HEADS: self.take()
        return found

class Scope:
    """Names: numbers, tables (tuples), views (lists), fns, and values that are found at their first use (functions)."""
    def __init__(self, outer): self.outer, self.names = outer, {}
    def find(self, name):
        s = self
        while s and name not in s.names: s = s.outer
        if s and callable(s.names[name]): s.names[name] = s.names[name]()
        return s.names[name] if s else None

class Rank:
    """One rank's walk. A group is the ranks of the program in it, and the number of this one."""
    def __init__(self, decls, rank, nranks, values):
        self.rank, self.values, self.whole = rank, values, (range(nranks), rank)
        self.globals, self.decls = Scope(None), {}
        for d in decls:
            if d[0] == "let": self.lazy(self.globals, d[1], d[2], self.globals, self.whole)
            elif d[0] == "fn": self.globals.names[d[1]] = (d, self.globals)
            else: self.decls[d[1] if d[0] != "topology" else "on " + d[1]] = d
    def lazy(self, to, name, e, scope, group): to.names[name] = lambda: self.value(e, scope, group)
    def value(self, e, s, g):
        kind = e[0]
        if kind == "int": return e[1]
        if kind == "rank": return g[1]
        if kind == "N": return len(g[0])
        if kind == "name": return s.find(e[1])
        if kind == "entry":
            i, table = self.value(e[2], s, g), s.find(e[1])
            assert 0 <= i < len(table)
            return table[i]
        if kind == "table": return tuple(self.value(x, s, g) for x in e[1])
        if kind == "cond": return self.value(e[2] if self.value(e[1], s, g) else e[3], s, g)
        if kind == "unary":
            a = self.value(e[2], s, g)
            return -a if e[1] == "-" else ~a if e[1] == "~" else int(not a)
        if kind == "binary":
            a = self.value(e[2], s, g)
            if e[1] in ("&&", "||"): return int(bool(a if (a != 0) == (e[1] == "||") else self.value(e[3], s, g)))
            return int(BINARY[e[1]](a, self.value(e[3], s, g)))
        fn = s.find(e[1])
        if fn is None and e[1] == "len": return len(s.find(e[2][0][1]))
        args = [self.value(a, s, g) for a in e[2]]
        if fn is None: return int(BUILTINS[e[1]](*args))
        inner = Scope(fn[1])
        inner.names.update(zip(fn[0][2], args))
        return self.value(fn[0][3], inner, g)
    # ---- rows, in lanes by the path of par blocks
    def put(self, row):
        path = ()
        for p in self.pars:
            path += (p["block"],)
            if not p["open"]:
                self.lanes.setdefault((), [])
                self.lanes.setdefault(path, []).append(("wait", path[:-1], len(self.lanes[path[:-1]])))
                p["open"] = True
        self.lanes.setdefault(path, []).append(row)
    def operation(self, line, what, text):
        self.put(("op", line, not (self.step and self.joined), "%-6s %s" % (what, text)))
        self.joined = True
    def par(self, blocks):
        p = {"joins": []}
        top, high, most = self.top, self.high, self.top
        self.pars.append(p)
        for number, run in enumerate(blocks):
            p.update(block=number, open=False)
            self.top = self.high = most
            run()
            most = self.high
            path = tuple(q["block"] for q in self.pars)
            if p["open"]: p["joins"].append((path, len(self.lanes[path])))
        self.pars.pop()
        path = tuple(q["block"] for q in self.pars)
        for of, rows in p["joins"]: self.lanes[path].append(("wait", of, rows))
        self.top, self.high = top, max(high, most)
    # ---- chunks
    def cells(self, ref, s, g):
        name, brackets = ref
        first, part, parts, inner = s.find(name)
        def span(b, count):
            lo = self.value(b[0], s, g)
            hi = lo + 1 if b[1] is None else self.value(b[1], s, g)
            assert 0 <= lo <= hi <= count
            return lo, hi
        if not brackets: return first, parts * part
        if inner and len(brackets) == 1: lo, hi = (x * inner for x in span(brackets[0], parts // inner))
        elif inner:
            block = span(brackets[0], parts // inner)[0] * inner
            lo, hi = (x + block for x in span(brackets[1], inner))
        else: lo, hi = span(brackets[0], parts)
        return first + lo * part, (hi - lo) * part
    def chunks(self, cell, n):
        for name, first, count in self.buffers:
            if cell < first + count or name == "scratch": break
        at = cell - first
        return "%s[%d]" % (name, at) if n == 1 else "%s[%d..%d]" % (name, at, at + n)
    def parts(self, counts, s, g):
        n = [self.value(c[0], s, g) for c in counts]
        return (n[0] * n[1], n[1]) if len(n) == 2 else (n[0], 0)
    # ---- statements
    def run_list(self, body, outer, g):
        s, top = Scope(outer), self.top
        for x in body: self.statement(x, s, g)
        self.top = top
    def statement(self, x, s, g):
        kind = x[0]
        if kind == "op":
            _, line, what, ref, how, other = x
            cell, n = self.cells(ref, s, g)
            if how == "into":
                to, m = self.cells(other, s, g)
                assert m == n
                return self.operation(line, what, "%s into %s" % (self.chunks(cell, n), self.chunks(to, n)))
            peer = self.value(other, s, g)
            assert 0 <= peer < len(g[0]) and peer != g[1]
            self.operation(line, what, "%s %s %d%s" % (self.chunks(cell, n), how, g[0][peer], " (channel %d)" % self.channel if self.channel else ""))
        elif kind == "step":
            self.step, self.joined = True, False
            for y in x[1]: self.statement(y, s, g)
            self.step = False
        elif kind == "par": self.par([lambda b=b: self.run_list(b, s, g) for b in x[1]])
        elif kind in ("for", "par for"):
            lo, hi, by = (e and self.value(e, s, g) for e in x[2:5])
            entries = range(lo, hi, by) if by else lo
            def run(i):
                inner = Scope(s)
                inner.names[x[1]] = i
                self.run_list(x[5], inner, g)
            if kind == "par for": self.par([lambda i=i: run(i) for i in entries])
            else:
                for i in entries: run(i)
        elif kind == "channel":
            was, self.channel = self.channel, self.value(x[1], s, g)
            self.run_list(x[2], s, g)
            self.channel = was
        elif kind == "if": self.run_list(x[2] if self.value(x[1], s, g) else x[3], s, g)
        elif kind == "within":
            of = [self.value(e, s, g) for e in x[1]]
            members = of[0] if len(of) == 1 else [of[0] + k * (of[2] if len(of) > 2 else 1) for k in range(of[1])]
            assert all(0 <= m < len(g[0]) for m in members)
            if g[1] in members: self.run_list(x[2], s, ([g[0][m] for m in members], list(members).index(g[1])))
        elif kind == "assert": assert self.value(x[1], s, g)
        elif kind == "let": s.names[x[1]] = self.value(x[2], s, g)
        elif kind == "fn": s.names[x[1]] = (x, s)
        elif kind == "scratch":
            parts, inner = self.parts(x[3], s, g)
            n = self.part * parts
            s.names[x[2]] = [self.top, self.part, parts, inner]
            self.put(("op", x[1], False, "fresh  " + self.chunks(self.top, n)))
            self.top += n
            self.high = max(self.high, self.top)
        elif kind == "call": self.call(x, s, g)
    def topology(self, on, scope, group):
        """The scope of the names of a topology, below that of the body that is on it."""
        below = Scope(self.globals)
        if on:
            _, _, params, body = self.decls["on " + on[0]]
            for k, (name, default) in enumerate(params):
                if k < len(on[1]): self.lazy(below, name, on[1][k], scope, group)
                else: self.lazy(below, name, default, below, group)
            for x in body:
                if x[0] == "let": self.lazy(below, x[1], x[2], below, group)
                if x[0] == "fn": below.names[x[1]] = (x, below)
        scope.outer = below
    def call(self, x, s, g):
        _, _, formals, params, on, body, reader = self.decls[x[1]]
        inner, part = Scope(None), self.part
        self.topology(on, inner, g)
        views = []
        for (name, counts), (ref, at) in zip(formals, x[2]):
            if counts: views.append((name, counts, self.cells(ref, s, g)))
            else: inner.names[name] = self.value(self.text.reread(at) if ref else at, s, g)
        for name, e in x[3]: inner.names[name] = self.value(e, s, g)
        for name, e in params:
            if name not in inner.names: inner.names[name] = self.value(e, inner, g)
        self.part = 1
        for k, (name, counts, (first, n)) in enumerate(views):
            parts, blocks = self.parts(counts, inner, g)
            assert n % parts == 0
            inner.names[name] = [first, n // parts, parts, blocks]
            if k == 0: self.part = n // parts
        was, self.text = self.text, reader
        self.run_list(body, inner, g)
        self.part, self.text = part, was
    def schedule(self, name):
        _, _, formals, params, on, body, self.text = self.decls[name]
        inner, cells = Scope(None), 0
        self.topology(on, inner, self.whole)
        inner.names.update(self.values)
        self.buffers = []
        for b, counts in formals:
            parts, blocks = self.parts(counts, inner, self.whole)
            inner.names[b] = [cells, 1, parts, blocks]
            self.buffers.append((b, cells, parts))
            cells += parts
        self.buffers.append(("scratch", cells, 0))
        self.lanes, self.pars, self.channel, self.step, self.joined = {}, [], 0, False, False
        self.top = self.high = cells
        self.part = 1
        self.run_list(body, inner, self.whole)
        return self.lanes

def rows_text(rank, path, rows):
    """The lines that ccc prints for these."""
    name = lambda p: "rank %d" % rank + (", block " + ".".join(map(str, p)) if p else "")
    out, wave = [name(path)], 0
    for row in rows:
        if row[0] == "wait": out.append("wait   for %s, operation %d" % (name(row[1]), row[2]))
        else:
            wave += row[2]
            out.append("%sline %d  %s" % ("%d  " % wave if row[2] else "", row[1], row[3]))
    return out

def printed(text):
    """The same of what ccc prints: by name of the task."""
    found, task = {}, []
    for line in text.splitlines():
        if line.startswith("rank "): task = found.setdefault(line, [line])
        elif line.startswith("  "): task.append(re.sub(r"line (\d+) +", r"line \1  ", re.sub(r"^(\d+) +line", r"\1  line", line.strip())))
    return found

def altered(text, rng):
    """The text with some of its operations in blocks, and one number changed."""
    number = lambda of: rng.choice(of.split())
    forms = [lambda s: "channel %s { %s }" % (number("1 3 rank%2 N-rank"), s), lambda s: "par { { %s } { } }" % s,
             lambda s: "within group(0, N, 1) { %s }" % s, lambda s: "if rank != %s { %s } else if N > 3 { scratch z_e[2] }" % (number("0 1 4"), s),
             lambda s: "par for z_p in 0..%s { if z_p == 0 { %s } else { copy z_t[0] into z_t[1] } }" % (number("1 2 1+rank%2"), s),
             lambda s: "within group(%s, %s, 1) { let z_l = rank * N %s }" % (number("rank rank/2*2"), number("1 min(2,N-rank/2*2)"), s),
             lambda s: "let z_z = [2, rank, N] if z_z[1] < z_z[0] || rank %% 3 == len(z_z) { %s }" % s, lambda s: "within group(z_g) { %s }" % s,
             lambda s: "for z_i in %s by 2 { let z_j = z_i + rank / 2 if z_j >= 0 && !(z_i > 1) { %s } }" % (number("0..3 rank..rank+2 -rank..0"), s)]
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if re.match(r" *(send|recv|reduce|copy) [^{}]*$", line) and rng.random() < 0.2:
            lines[i] = rng.choice(forms)(line.split("//")[0])
    numbers = [m.start() for m in re.finditer(r"(?<=[-+*/%^] )\d(?!\w)", "\n".join(lines))]
    text = "\n".join(lines)
    if numbers and rng.random() < 0.5:
        at = rng.choice(numbers)
        text = text[:at] + str(rng.randrange(4)) + text[at + 1:]
    begin = re.compile(r"^((?:proc|schedule)\b[^{]*\{)", re.M)
    return begin.sub(lambda m: m[1] + " scratch z_t[2] let z_g = [N - 1, 0]", text) if "z_t" in text or "z_g" in text else text

def check(ccc, file, nranks, prelude, text=None):
    folder, text = os.path.dirname(file), text or open(file).read()
    options = re.search(r"^//! options:.*?((?: -D \w+=\S+)+)", text, re.M)
    with tempfile.NamedTemporaryFile("w", suffix=".ccs") as f:
        f.write(text)
        f.flush()
        p = subprocess.run([ccc, "--emit=program", "-n", str(nranks), "-I", folder, f.name] + (options[1].split() if options else []), capture_output=True, text=True)
    if p.returncode: return 0, 0
    texts = re.split(r"^(?=program )", p.stdout, flags=re.M)[1:]
    decls = Reader(prelude).file("", [], set()) + Reader(text).file(folder, [], {file})
    for text in texts:
        name, values = re.match(r"program (\w+), N = \d+((?:, \w+ = -?\d+)*):", text).groups()
        values = {k: int(v) for k, v in re.findall(r"(\w+) = (-?\d+)", values)}
        made = {}
        for r in range(nranks):
            lanes = Rank(decls, r, nranks, values).schedule(name)
            for path, rows in {(): [], **lanes}.items(): made[rows_text(r, path, [])[0]] = rows_text(r, path, rows)
        real = printed(text)
        for task in sorted({**made, **real}):
            a, b = made.get(task), real.get(task)
            if a != b:
                at = next((i for i, (x, y) in enumerate(zip(a or [], b or [])) if x != y), min(len(a or []), len(b or [])))
                print("not ok - %s, %s, N = %d, %s, row %d:\n  read here: %s\n  ccc:       %s" % (
                    file, name, nranks, task, at, *(x[at] if x and at < len(x) else "nothing" for x in (a, b))))
                return len(texts), 1
    return len(texts), 0

def main():
    ccc, sizes, files = sys.argv[1], [int(n) for n in sys.argv[2].split(",")], sys.argv[3:]
    texts = [(f, n, None) for f in files for n in sizes]
    if files[0] == "--random":
        count, rng, files = int(files[1]), random.Random(int(files[2])), files[3:]
        texts = [(f, rng.choice([*sizes, rng.randrange(2, 40), rng.randrange(2, 150)]), altered(open(f).read(), rng)) for f in rng.choices(files, k=count)]
    prelude, programs, bad = open("lang/prelude.ccs").read(), 0, 0
    for file, n, text in texts:
        try: some, wrong = check(ccc, file, n, prelude, text)
        except Exception as e:
            some, wrong = 1, 1
            print("not ok - %s, N = %d: %s %s" % (file, n, type(e).__name__, e))
        programs, bad = programs + some, bad + wrong
        if wrong and text: print(text)
    print("%s - %d programs of %d texts, read a second time: %d differ" % ("ok" if programs and not bad else "not ok", programs, len(texts), bad))
    sys.stdout.flush()
    os._exit(bad > 0 or not programs)

sys.setrecursionlimit(200000)
threading.stack_size(256 << 20)
t = threading.Thread(target=main)
t.start()
t.join()
