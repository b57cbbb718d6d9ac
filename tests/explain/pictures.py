#!/usr/bin/env python3
"""pictures.py CCC RANDOM SEED 'FILE -n N'...: the pictures of `ccc explain` against its text and its JSON.

For each schedule: the text's tables are what the JSON's moves make of its start; each move of the JSON is one arrow of the
SVG, which begins and ends at the cells that it names; each cell's label and fill are those of the JSON; what is wrong is
marked. Then as many random programs, half of them with a mistake. Prints a line `ok` or `not ok` for each part."""
import json, re, sys, tempfile
import xml.etree.ElementTree as ET

import models
from models import NotAdmitted, random_files, text as words

models.CCC, RANDOM, SEED, FILES = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
SVG = "{http://www.w3.org/2000/svg}"


class Wrong(Exception):
    pass


def need(condition, *why):
    if not condition:
        raise Wrong(" ".join(str(w) for w in why))


def explain(form, args):
    return models.explain(*args, form=form)


def tables(text):
    """The text's tables: [(step or None, {(rank, chunk): holds})], the first that of the start."""
    found, step, heads = [], None, []
    for line in text.splitlines():
        if line == "at the start":
            step = None
        elif line == "before the first step":
            step = 0
        elif re.match(r"step \d+$", line):
            step = int(line[5:])
        elif re.match(r"         \s+\S", line) and "[" in line:
            heads = line.split()
            found.append((step, {}))
        elif heads and (m := re.match(r"  rank (\d+) ? (\s*\S.*)$", line)) and not re.match(r"  rank \d+( -> |:)", line):
            for head, holds in zip(heads, m[2].split()):
                found[-1][1][int(m[1]), head] = holds
    return found


def step_name(step):
    return "start" if step is None else str(step)


def numbers(model):
    """The chunks by name; of two with one name the one that is shown."""
    names = {name: i for i, name in enumerate(model["chunks"])}
    return {**names, **{model["chunks"][i]: i for i in model["shown_chunks"]}}


def path(d):
    """The points of a path's last part, and all of its heights."""
    parts = [p for p in d.split("M") if p]
    last = [float(x) for x in re.findall(r"-?[\d.]+", parts[-1])]
    return last[:2], last[-2:]


def check_cells(model, svg):
    at_columns = [(e.get("data-step"), float(e.get("data-x"))) for e in svg.iter(SVG + "text") if "column" in e.get("class", "")]
    columns = [c for c, _ in at_columns]
    xs = dict(at_columns)
    all_states = {step_name(step): state for step, state in models.states(model)}
    need(columns == list(all_states), "columns", columns)
    wide = None
    shown, place = {}, {}
    for e in svg.iter(SVG + "path"):
        classes = e.get("class", "").split()
        if "cell" not in classes:
            continue
        first, last = e.get("data-step"), e.get("data-until", e.get("data-step"))
        name = e.get("data-chunk")
        m = re.match(r"M(-?[\d.]+) (-?[\d.]+)H(-?[\d.]+)$", e.get("d"))
        need(m, "a cell's path", e.get("d"))
        x, y, end = map(float, m.groups())
        span = columns[columns.index(first):columns.index(last) + 1]
        fill = float(e.get("stroke-dasharray").split()[0]) if e.get("stroke-dasharray") else end - x
        need(abs(x - xs[first] - 1) < 0.06, "a cell of step", first, "is at", x)
        for c in span:
            key = (int(e.get("data-rank")), name, c)
            need(key not in shown, "twice:", key)
            shown[key] = (e.get("data-holds"), fill, classes)
        place[int(e.get("data-rank")), name] = y
    widths = []
    number = numbers(model)
    drawn = sorted({n for _, n, _ in shown}, key=number.get)
    for c in columns:
        for q in range(model["ranks"]):
            for n in drawn:
                h = all_states[c][q, number[n]]
                got = shown.get((q, n, c))
                need(got, "no cell for", q, n, c)
                need(got[0] == words(h), "cell", q, n, c, "holds", got[0], "not", words(h))
                widths.append((got[1], h["part"] if h else 0))
                colours = [k for k in got[2] if re.match(r"c\d+$", k)]
                need(colours == (["c%d" % (h["colour"] % 9)] if h else []), "colour of", q, n, c, colours)
    full = max((w for w, p in widths if p == 1), default=None) or max((w / p for w, p in widths if p > 0), default=1)
    for w, p in widths:
        need(abs(w - full * p) < 0.16 * max(1, full / 16), "fill", w, "is not", p, "of", full)
    need(not model["shown_chunks"] or drawn, "no cells")
    for i in model["shown_chunks"]:
        need(model["chunks"][i] in drawn, model["chunks"][i], "is not drawn")
    return xs, {(q, number[n]): y for (q, n), y in place.items()}, columns


def check_arrows(model, svg, xs, place, columns):
    arrows = [e for e in svg.iter(SVG + "path") if "message" in e.get("class", "").split()]
    need(len(arrows) == len(model["moves"]), len(arrows), "arrows for", len(model["moves"]), "moves")
    for m, e in zip(model["moves"], arrows):
        classes = e.get("class").split()
        kind = "lost" if "lost" in classes else "local" if "local" in classes else "message"
        at = m.get("received_at") or m.get("sent_at") or m.get("at")
        reads = m["reads"]
        want = (m["kind"], m["from"], m["to"], m["step"], at["line"], m.get("fault"), m.get("combines", False))
        got = (kind, int(e.get("data-from")), int(e.get("data-to")), int(e.get("data-step")), int(e.get("data-line")),
               e.get("data-code"), "plus" in classes)
        need(got == want, "arrow", got, "for the move", want)
        need("fault" in classes if m.get("fault") else "fault" not in classes, "marked wrongly:", m)
        if reads:
            need(reads == e.get("data-chunks"), "arrow of", reads)
        (x0, y0), (x1, y1) = path(e.get("d"))
        before, behind = columns[columns.index(str(m["step"])) - 1], str(m["step"])
        need(xs[before] < x0 <= x1 < xs[behind] + 0.1 and (x0 < x1 or kind == "local"), "an arrow of step", m["step"], "from", x0, "to", x1)

        def rows(rank, cells):
            ys = [place[rank, cells[0] + i] for i in range(cells[1]) if (rank, cells[0] + i) in place]
            return (min(ys) + max(ys)) / 2 if ys else None
        y = rows(m["from"], m["source"])
        need(y is None or abs(y - y0) < 0.11, "an arrow begins at", y0, "not at its cells,", y)
        y = rows(m["to"], m["target"]) if m["kind"] != "lost" else None
        need(y is None or abs(y - y1) < 0.11, "an arrow ends at", y1, "not at its cells,", y)


def stuck_code(model, stuck):
    """The error of a task that is stuck, or None where it waits for another one."""
    own = [e["code"] for e in model["errors"] if e["code"] in ("E0301", "E0302") and e["at"] == stuck["at"] and stuck["rank"] in e["ranks"]]
    return own[0] if own else "E0304" if stuck["place"] is not None else None


def check_faults(model, svg):
    def elements(tag, cls):
        return [e for e in svg.iter(SVG + tag) if {"fault", cls} <= set(e.get("class", "").split())]
    faults = [e for e in svg.iter() if "fault" in e.get("class", "").split() and e.get("data-code") is None and
              e.tag != SVG + "text"]
    need(not faults, "a fault without a code")
    need(bool(model["errors"]) == (not model["right"]), "right, with errors")
    waits = [e for e in elements("path", "wait") if e.get("marker-end") is None]
    stops = sum(len(e["ends"]) for e in model["errors"])
    need(len(waits) == len(model["stuck"]) + stops, len(waits), "ends for", len(model["stuck"]), "stuck tasks and", stops, "others")
    circle = [s for s in model["stuck"] if s["place"] is not None]
    ranks = [int(e.get("data-rank")) for e in elements("circle", "rank")]
    need(sorted(ranks) == sorted(s["rank"] for s in circle) or len(circle) > 16, "the circle has", ranks)
    raced = any(m.get("fault") == "E0402" for m in model["moves"])
    boxes = [e for e in elements("rect", "box") if e.get("data-code") != "E0402"]
    need(len(boxes) == len(model["wrong"]), len(boxes), "boxes for", len(model["wrong"]), "wrong results")
    need(not raced or len(elements("rect", "box")) > 0, "the chunk of the race is not marked")
    ends = [(e.get("data-code"), int(e.get("data-rank"))) for e in elements("text", "fault")
            if e.get("font-size") and e.get("data-rank")]
    want = [(w["code"], w["rank"]) for w in model["stuck"] + model["wrong"]]
    want += [(e["code"], rank) for e in model["errors"] for rank in e["ends"]]
    need(sorted(ends) == sorted(want), "ends with the codes", ends, "for", want)
    odd = {w["code"] for w in model["stuck"] + model["wrong"]} - {e["code"] for e in model["errors"]}
    need(not odd, "ends with codes that no error has:", odd)
    for s in model["stuck"]:
        need(s["code"] == stuck_code(model, s) or not stuck_code(model, s), s, "is of", stuck_code(model, s))
    need(all(w["code"] in ("E0403", "E0404", "E0405") for w in model["wrong"]), "results are wrong by another error")
    text = " ".join(e.text or "" for e in svg.iter(SVG + "text"))
    for w in model["wrong"]:
        need("holds %s; promised is %s" % ("nothing" if w["holds"] == "-" else w["holds"], w["promised"])
             in text, "no words for", w)
    for error in model["errors"][:4]:
        need(error["code"] + " at " in text, error["code"], "is not in the title")
    marks = {(e.get("data-code"), e.get("data-rank")) for e in svg.iter() if "fault" in e.get("class", "").split()}
    for error in model["errors"]:
        need(all((error["code"], str(rank)) in marks for rank in error["ends"]), error, "is not marked where ranks end in it")
        need(error["code"] in {code for code, _ in marks} or not error["ranks"] or error["code"] in ("E0301", "E0302"),
             error, "is not marked in the picture")


def check(args):
    text, form, drawn = (explain(f, args) for f in ("text", "json", "svg"))
    need(drawn == explain("svg", args), "another picture the second time")
    model = json.loads(form)
    found = tables(text)
    for line in text.splitlines():  # a move within a rank
        need(not re.match(r"  rank \d+: .*, line \d+", line) or " is copied into " in line or " is combined into " in line, line)
    have = dict(models.states(model))
    # A table that the text leaves out is the one before.
    for step, table in found:
        state = have[step]
        for (rank, chunk), holds in table.items():
            h = state[rank, numbers(model)[chunk]]
            need(words(h) == holds, "the text has", holds, "for", rank, chunk, "after", step, "and the JSON", words(h))
    return compare(model, drawn)


def compare(model, drawn):
    svg = ET.fromstring(drawn)
    need(not re.search(r"<script|<foreignObject|\shref=|@import|url\([^#]", drawn.replace("xmlns=", "")), "not self-contained")
    one = re.search(r"\b1 (?:more )?(?:rank|step|chunk|slot|move|message|error)s\b", drawn)
    need(not one, "one of several:", one)
    need(len(set(model["chunks"])) == len(model["chunks"]), "two chunks have one name")
    if svg.findall(".//" + SVG + "rect[@class='heat']"):
        return "heat"
    if not svg.findall(".//" + SVG + "text[@data-x]"):
        need(len(model["shown_ranks"]) > 16 or len(model["shown_chunks"]) > 32 or model["steps"] > 64, "no columns")
        return "heat"
    check_arrows(model, svg, *check_cells(model, svg))
    check_faults(model, svg)
    return "right" if model["right"] else "wrong"


def controls():
    """Pictures that are altered are found out."""
    args = ["schedules/broken/counted_twice.ccs", "-n", "4"]
    model, drawn = json.loads(explain("json", args)), explain("svg", args)
    alterations = {
        "an arrow less": lambda s: re.sub(r'<path class="message.*?</path>', "", s, count=1),
        "an arrow of another step": lambda s: re.sub(r'(class="message[^>]* data-step=)"1"', r'\1"2"', s, count=1),
        "an arrow to another cell": lambda s: re.sub(r'(class="message[^>]* d="M[^"]*) [\d.]+"', r'\1 7"', s, count=1),
        "another label": lambda s: s.replace('data-holds="0"', 'data-holds="1"', 1),
        "another fill": lambda s: re.sub(r'(class="cell[^>]* stroke-dasharray=)"\d+', r'\1"20', s, count=1),
        "another colour": lambda s: re.sub(r'class="cell part c0"', 'class="cell part c1"', s, count=1),
        "a cell less": lambda s: re.sub(r'<path class="cell.*?</path>', "", s, count=1),
        "a wrong result that is not marked": lambda s: re.sub(r'<rect class="fault box.*?/>', "", s, count=1),
        "an arrow that is not marked": lambda s: s.replace(" fault plus", " plus", 1),
        "a script": lambda s: s.replace("</svg>", "<script>1</script></svg>"),
    }
    compare(model, drawn)
    for name, alter in alterations.items():
        altered = alter(drawn)
        assert altered != drawn, name
        try:
            compare(model, altered)
        except Wrong:
            continue
        print("not ok - control: %s is not noticed" % name)
        return False
    print("ok - %d altered pictures are found out" % len(alterations))
    return True


def main():
    count, failed = {}, 0

    def run(name, args):
        nonlocal failed
        try:
            kind = check(args)
            count[kind] = count.get(kind, 0) + 1
        except NotAdmitted:
            count["not admitted"] = count.get("not admitted", 0) + 1
        except (Wrong, RuntimeError, ET.ParseError, KeyError, ValueError) as e:
            failed += 1
            if failed <= 5:
                print("# %s: %s: %s" % (name, type(e).__name__, e))
    for entry in FILES:
        file, *args = entry.split()
        run(entry, [file, *args])
    print("%sok - the pictures of %d schedules: %s" % ("not " if failed else "", len(FILES), count))
    all_failed, failed, count = failed + (not controls()), 0, {}
    with tempfile.TemporaryDirectory() as tmp:
        for i, args in enumerate(random_files(tmp, RANDOM, SEED)):
            before = failed
            run("random program %d of seed %d" % (i, SEED), args)
            if failed != before and failed <= 2:
                print("".join("# " + l for l in open(args[0])))
    fine = not failed and (RANDOM < 50 or (count.get("right", 0) >= RANDOM // 4 and count.get("wrong", 0) >= RANDOM // 8))
    print("%sok - the pictures of %d random programs: %s" % ("" if fine else "not ", RANDOM, count))
    sys.exit(bool(all_failed or not fine))


main()
