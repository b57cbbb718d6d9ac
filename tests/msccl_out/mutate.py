"""Changes MSCCL XML in one place: for the tests of check.py, which has to notice.

usage: mutate.py KIND NUMBER FILE.xml OUT.xml
KIND: wait (one is left out), chunk (two steps of a block swap an offset that they use), channel (a
block has another), order (two steps that follow one another), slot (one message fewer). NUMBER
says which of them. The status is 3 where there is no such place.
"""
import re
import sys


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
    near = [i for i in steps if i + 1 in set(steps) and not {"nop"} & {attribute(lines[j], "type") for j in (i, i + 1)}]
    used = [[(attribute(lines[j], "srcoff"), attribute(lines[j], "dstoff")) for j in (i, i + 1)] for i in near]
    return [i for i, u in zip(near, used) if u[0][0] != u[1][0] and u[0][1] != u[1][1]]


def main():
    kind, number, source, to = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    lines = open(source, encoding="utf-8").read().splitlines()
    all_places = places(kind, lines)
    if number >= len(all_places):
        sys.exit(3)
    i = all_places[number]
    if kind == "wait":
        lines = waits(lines, i)
    elif kind == "channel":
        lines[i] = changed(lines[i], "chan", int(attribute(lines[i], "chan")) + 1)
        lines[0] = changed(lines[0], "nchannels", int(attribute(lines[0], "nchannels")) + 1)
    else:
        for name in "srcoff", "dstoff":
            one, other = attribute(lines[i], name), attribute(lines[i + 1], name)
            lines[i], lines[i + 1] = changed(lines[i], name, other), changed(lines[i + 1], name, one)
    open(to, "w", encoding="utf-8").write("\n".join(lines) + "\n")


main()
