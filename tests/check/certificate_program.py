"""A schedule's operations for one N, as `ccc --emit=program` has them, for checkers of certificates."""
import re, subprocess
def cells(ref):
    """(buffer, first, end) as `ccc --emit=program` names chunks."""
    name, lo, hi = re.match(r"(\w+)(?:\[(\d+)(?:\.\.(\d+))?\])?$", ref).groups()
    return ("scratch",) if name == "scratch" else (name, int(lo or 0), int(hi or int(lo or 0) + 1))
def program(ccc, arguments, cells=cells):
    """Of each rank: steps of (line, kind, peer, chunks ...); how many each buffer has. None: N is refused."""
    p = subprocess.run([ccc, "--emit=program"] + arguments, capture_output=True, text=True)
    if "`where` of" in p.stderr: return None, None
    real, rank = {}, None
    for line in p.stdout.splitlines():
        rank = int(re.split("[ ,]", line)[1]) if line.startswith("rank") else rank
        m = re.search(r"^ *(\d*) +(?:line |\S*:)(\d+) +(send|recv|reduce|copy) +(\S+) (?:to|from|into) (\S+)$", line)
        if not m: continue
        if m[1] or rank not in real: real.setdefault(rank, []).append([])
        other = (int(m[5]), cells(m[4])) if m[5].isdigit() else (None, cells(m[4]), cells(m[5]))
        real[rank][-1].append((int(m[2]), m[3]) + other)
    return real, {name: int(x) * int(y) for name, x, y in re.findall(r"^(\w+): (\d+) blocks? of (\d+) chunks?$", p.stdout, re.M)}
