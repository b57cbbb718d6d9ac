"""A schedule's text and its operations, for checkers of certificates to compare with."""
import os, re, subprocess
from certificate_form import say
def text(path):
    """A file's words and those of what it imports, without comments."""
    paths, words = [path], ""
    for p in paths:
        words += re.sub(r"//.*", "", open(p).read())
        there = [os.path.join(os.path.dirname(p), name) for name in re.findall(r'import\s+"([^"]+)"', words)]
        paths += [q for q in there if os.path.exists(q) and q not in paths]
    return words
def beyond(arguments, least):
    """A number above all that the text names: something of its own for one N is for some N below."""
    return max([least] + [int(n) + 2 for n in re.findall(r"\b\d+\b", text(arguments[-1]))])
def promised(c, arguments, given):
    """That the text promises the certificate's contract, of the prelude, with its root, of its first buffers."""
    words = text(arguments[-1])
    m = re.search(r"\bschedule\s+%s\b[^{]*?\bimplements\s+(\w+)\s*\(([^;)]*)(?:;\s*root\s*=\s*(\w+)\s*)?\)" % c["schedule"], words)
    say(m and m[1] == c["contract"] and not re.search(r"\bcontract\s+%s\b" % m[1], words), "that the text promises the contract")
    say((m[3] or "0") == (c.get("root") or "0"), "that the contract's root is the text's")
    say(re.findall(r"\b(?:in|out|inout)\s+(\w+)", m[2]) == given, "that the contract's buffers are the text's")
def cells(ref):
    """(buffer, first, end) as `ccc --emit=program` names chunks."""
    name, lo, hi = re.match(r"(\w+)(?:\[(\d+)(?:\.\.(\d+))?\])?$", ref).groups()
    return name, int(lo or 0), int(hi or int(lo or 0) + 1)
def chunks(ref):
    """The same, each chunk by itself: [(buffer, chunk)]."""
    name, lo, hi = cells(ref)
    return [(name, i) for i in range(lo, hi)]
def program(ccc, arguments, schedule, cells=cells):
    """Of each (rank, block ...): steps of (line, kind, peer, chunks ...); how many each buffer has. None: N is refused."""
    p = subprocess.run([ccc, "--emit=program"] + arguments, capture_output=True, text=True)
    if "`where` of" in p.stderr: return None, None
    head = re.match(r"program (\w+), .*: (\d+) operations", p.stdout)
    say(head and head[1] == schedule, "that the text has the schedule " + schedule)
    real, rank, found = {}, None, 0
    for line in p.stdout.splitlines():
        rank = tuple(map(int, re.findall(r"\d+", line))) if line.startswith("rank") else rank
        m = re.search(r"^ *(\d*) +(?:line |\S*:)(\d+) +(send|recv|reduce|copy) +(\S+) (?:to|from|into) (\S+)$", line)
        if not m: continue
        if m[1] or rank not in real: real.setdefault(rank, []).append([])
        other = (int(m[5]), cells(m[4])) if m[5].isdigit() else (None, cells(m[4]), cells(m[5]))
        real[rank][-1].append((int(m[2]), m[3]) + other)
        found += 1
    say(found == int(head[2]), "each operation is known, and of channel 0")
    return real, {name: int(x) * int(y) for name, x, y in re.findall(r"^(\w+): (\d+) blocks? of (\d+) chunks?$", p.stdout, re.M)}
