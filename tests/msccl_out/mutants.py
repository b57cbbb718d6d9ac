"""Changes MSCCL XML in one place, again and again: check.py has to notice, or nothing is changed.

usage: mutants.py FILE.xml...
KINDS: wait (one is left out), chunk (two steps of a block swap the chunks that they use), channel
(a block has another). A line a kind: KIND: MUTANTS mutants, so many noticed, so many not. A wait
that is missed by nobody is one that messages stand for: those are listed, FILE: line.
"""
import re
import sys

from check import Wrong, check


def step_lines(lines):
    return [i for i, line in enumerate(lines) if "<step " in line]


def attribute(line, name):
    return re.search(rf' {name}="([^"]*)"', line).group(1)


def changed(line, name, value):
    return re.sub(rf' {name}="[^"]*"', f' {name}="{value}"', line)


def waits(lines, i):
    """A wait is lost: its nop, or that of the step, which then takes the last nop's."""
    if 'type="nop"' not in lines[i] and 'type="nop"' in lines[i - 1]:
        for name in "depid", "deps":
            lines[i] = changed(lines[i], name, attribute(lines[i - 1], name))
        i -= 1
    if 'type="nop"' not in lines[i]:
        lines[i] = changed(changed(lines[i], "depid", -1), "deps", -1)
        return lines
    # the steps behind it move up, and who waits for them has to know
    gpu = max(j for j in range(i) if "<gpu " in lines[j])
    tb = max(j for j in range(i) if "<tb " in lines[j])
    end = min(j for j in range(i, len(lines)) if "</tb>" in lines[j])
    stop = min(j for j in range(i, len(lines)) if "</gpu>" in lines[j])
    block, s = attribute(lines[tb], "id"), int(attribute(lines[i], "s"))
    for j in range(i + 1, end):
        lines[j] = changed(lines[j], "s", int(attribute(lines[j], "s")) - 1)
    for j in range(gpu, stop):
        if "<step " in lines[j] and attribute(lines[j], "depid") == block and int(attribute(lines[j], "deps")) > s:
            lines[j] = changed(lines[j], "deps", int(attribute(lines[j], "deps")) - 1)
    del lines[i]
    return lines


def places(kind, lines):
    steps = step_lines(lines)
    if kind == "wait":
        return [i for i in steps if attribute(lines[i], "depid") != "-1"]
    if kind == "channel":
        return [i for i, line in enumerate(lines) if "<tb " in line and ' send="-1" recv="-1"' not in line]
    near = [i for i in steps if i + 1 in set(steps)]
    types = [{attribute(lines[j], "type") for j in (i, i + 1)} for i in near]
    near = [i for i, t in zip(near, types) if "nop" not in t and not t <= {"cpy", "re"}]
    used = [[(attribute(lines[j], "srcoff"), attribute(lines[j], "dstoff")) for j in (i, i + 1)] for i in near]
    return [i for i, u in zip(near, used) if u[0][0] != u[1][0] and u[0][1] != u[1][1]]


def mutant(kind, lines, i):
    if kind == "wait":
        return waits(lines, i)
    if kind == "channel":
        lines[i] = changed(lines[i], "chan", int(attribute(lines[i], "chan")) + 1)
        lines[0] = changed(lines[0], "nchannels", int(attribute(lines[0], "nchannels")) + 1)
        return lines
    for name in "srcoff", "dstoff":
        one, other = attribute(lines[i], name), attribute(lines[i + 1], name)
        lines[i], lines[i + 1] = changed(lines[i], name, other), changed(lines[i + 1], name, one)
    return lines


def main():
    for kind in "wait", "chunk", "channel":
        noticed, not_noticed = 0, []
        for path in sys.argv[1:]:
            lines = open(path, encoding="utf-8").read().splitlines()
            for i in places(kind, lines)[:12]:
                try:
                    check(path, text="\n".join(mutant(kind, list(lines), i)) + "\n")
                    not_noticed.append(f"{path}:{i + 1}")
                except Wrong:
                    noticed += 1
        print(f"{kind}: {noticed} noticed, {len(not_noticed)} not:", *not_noticed)


main()
