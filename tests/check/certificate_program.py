"""What ccc makes of a text (`ccc --emit=program`), for checkers of certificates to compare with."""
import functools, operator, re, subprocess
from certificate_form import say
def value_at(list_, numbers):
    """The values of the case that holds of these numbers, [1, parameters ..., point ...]; None: no one does."""
    for x in list_:
        for kind, s in x["if"]:
            v = sum(map(operator.mul, s, numbers))
            if v < 0 or (v and kind == "="): break
        else: return [sum(map(operator.mul, s, numbers)) for s in x["to"]]
@functools.cache
def cells(ref):
    """(buffer, first, end) as `ccc --emit=program` names chunks."""
    name, lo, hi = re.match(r"(\w+)(?:\[(\d+)(?:\.\.(\d+))?\])?$", ref).groups()
    return name, int(lo or 0), int(hi or int(lo or 0) + 1)
@functools.cache
def chunks(ref):
    """The same, each chunk by itself: [(buffer, chunk)]."""
    name, lo, hi = cells(ref)
    return [(name, i) for i in range(lo, hi)]
HEAD = r"program (\w+), N = (\d+)((?:, \w+ = -?\d+)*): (\d+) operations, \d+ fifos\nimplements (\w+) of the prelude(?:, root = (.*))?\n"
OPERATION = re.compile(r" *(\d*) +line (\d+) +(send|recv|reduce|copy) +(\S+) (?:to|from|into) (\S+)$")
def programs(ccc, arguments, c, n, cells=cells):
    """The text's programs for n ranks: (steps, sizes) of each root; none if n is refused. `steps`: of each
    (rank, block ...) steps of (line, kind, peer, chunks ...); `sizes`: how many chunks each buffer has.
    That they promise what the certificate does is demanded."""
    p = subprocess.run([ccc, "--emit=program", "-n", str(n)] + arguments, capture_output=True, text=True)
    if p.returncode and "[E0205]" in p.stderr: return {}
    texts = re.split(r"^(?=program )", p.stdout, flags=re.M)[1:]
    say(p.returncode == 0 and texts, "that ccc takes N = %d" % n)
    return dict(program(c, n, text, cells) for text in texts)
def program(c, n, text, cells):
    head, real, rank, found = re.match(HEAD, text), {}, None, 0
    say(head and head[5] == c["contract"], "that the text promises the contract")
    say(head[1] == c["schedule"] and head[2] == str(n), "that the text has the schedule " + c["schedule"])
    say((head[6] or "0") == (c.get("root") or "0"), "that the contract's root is the text's")
    for line in text.splitlines()[2:]:
        m = OPERATION.match(line)
        if line.startswith("rank"): rank = tuple(map(int, re.findall(r"\d+", line)))
        if not m: continue
        if m[1] or rank not in real: real.setdefault(rank, []).append([])
        real[rank][-1].append((int(m[2]), m[3]) + ((int(m[5]), cells(m[4])) if m[5].isdigit() else (None, cells(m[4]), cells(m[5]))))
        found += 1
    say(found == int(head[4]), "each operation is known, and of channel 0")
    sizes = {name: int(x) * int(y) for name, x, y in re.findall(r"^(\w+): (\d+) blocks? of (\d+) chunks?$", text, re.M)}
    return int(dict(re.findall(r"(\w+) = (-?\d+)", head[3]))[c["root"]]) if c.get("root") else 0, (real, sizes)
def compare(c, arguments, most, each, cut="", beyond="the certificate was compared with this text; beyond that it proves the program that it contains"):
    """`each` compares with a text for one N: for those up to `most`, or up to what the caller says."""
    if arguments[0] == "--up-to": most, arguments = int(arguments[1]), arguments[2:]
    for n in range(2, most + 1): each(c, arguments[0], arguments[1:], n)
    print("ok - %s: for N up to %d%s%s %s" % (c["schedule"], most, ", and each root," if c.get("root") else "", cut, beyond))
