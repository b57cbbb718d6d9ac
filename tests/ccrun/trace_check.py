#!/usr/bin/env python3
"""Checks a trace of ccrun --trace against the plan that `ccc --emit=json` prints.

    trace_check.py TRACE PLAN (--table TABLE | --count N) [--stuck | --spoils] [--apart]
    trace_check.py TRACE PROGRAM --program US [--spoils]      a trace of ccc simulate, of that length

TABLE is what ccrun --json has printed of the same run: a call for each row. --count: there is one call, of N
elements. Elements have 4 bytes.

It must be as Perfetto wants it, and more: valid JSON; a name for each track; slices of a track that
do not overlap; each flow with one beginning and one end, inside of slices, and no message received
before its sending began; and each operation of each worker, once for each tile, with its line, bytes, chunk and
peers, in order, or in passes, of which all operations have an equal share of the time. --stuck: the last call did not end; then each worker has done a first part of its operations,
and the next one waits. --apart: each pass has operations of one chunk. --spoils changes the trace in each way that SPOILS has: each must be found.
Nothing here is the compiler's or the run time's code.
"""
import argparse
import copy
import json
import re
import sys
from collections import defaultdict


WORKER = re.compile(r"worker (\d+)(, (thread|channel) \d+)?")


class Wrong(Exception):
    pass


def check(holds, *text):
    if not holds:
        raise Wrong(" ".join(str(t) for t in text))


# ---- the plan ----------------------------------------------------------------------------------------


def cell_length(plan, cell, count):
    for shape in plan["shapes"]:
        if shape["cell"] <= cell < shape["cell"] + shape["chunks"] * shape["blocks"]:
            chunk = (cell - shape["cell"]) % shape["chunks"]
            each = -(-count // shape["chunks"])
            return min(each * (chunk + 1), count) - min(each * chunk, count)
    raise Wrong("no cell", cell)


def bytes_of(plan, op, count):
    cells = [op["len"] + (0 if op["len_same"] else j) for j in range(op["n"])]
    return sum(cell_length(plan, c, count) for c in cells) * 4


def kind_of(op):
    has = lambda part: op[part] is not None
    operands = has("in") + has("a") + has("b")
    words = ["recv"] if has("in") else []
    if operands > 1:
        words.append("reduce")
    elif not has("in") and has("dst"):
        words.append("copy")
    return ",".join(words + (["send"] if has("out") else []))


def chunk_of(plan, buffers, op):
    if not op["n"]:
        return None
    cell = next(op[k] for k in ("dst", "a", "b", "len") if op[k] is not None)
    name, first = "scratch", plan["cells"]
    if cell < plan["cells"]:
        name, first = [(b["name"], s["cell"]) for b, s in zip(buffers, plan["shapes"]) if s["cell"] <= cell][-1]
    lone = op["n"] == 1 or (op["len_same"] and op["dst"] is None and op["a"] is None)
    return f"{name}[{cell - first}]" if lone else f"{name}[{cell - first}..{cell - first + op['n']}]"


# ---- the trace ---------------------------------------------------------------------------------------


def ns(event, key="ts"):
    return round(event[key] * 1000)


def end(slice_):
    return ns(slice_) + ns(slice_, "dur")


def track(event):
    return event["pid"], event["tid"]


def check_tracks(events):
    """Slices by track, in order of time; and the tracks of each worker of a rank."""
    names, tracks = {}, defaultdict(list)
    for e in events:
        if e["ph"] == "M" and e["name"] == "thread_name":
            check(track(e) not in names, "two names of track", track(e))
            names[track(e)] = e["args"]["name"]
        elif e["ph"] == "X":
            tracks[track(e)].append(e)
        else:
            check(e["ph"] in "Msf", "an event of kind", e["ph"])
    for at, slices in tracks.items():
        check((names.get(at) == "calls") if at[1] == 0 else WORKER.fullmatch(names.get(at, "")),
              "the name of track", at)
        slices.sort(key=ns)
        for a, b in zip(slices, slices[1:]):
            check(end(a) <= ns(b), "slices overlap on track", at, a, b)
        for e in slices:
            check(ns(e) > 0 and e["dur"] >= 0, "a time", e)
    workers = defaultdict(list)
    for at, name in names.items():
        if at[1]:
            workers[at[0], int(WORKER.fullmatch(name)[1])].append(at)
    return tracks, workers


def check_flows(events, tracks, error):
    """Of each flow its sending and its receiving slice. error: ns that a clock may differ from rank 0's."""
    ends = defaultdict(dict)
    for e in events:
        if e["ph"] in "sf":
            check(e["ph"] not in ends[e["id"]], "two ends of one kind of flow", e["id"])
            ends[e["id"]][e["ph"]] = e
    flows = []
    for name, both in ends.items():
        check(len(both) == 2, "one end alone of flow", name)
        found = []
        for kind in "sf":
            at = both[kind]
            around = [x for x in tracks[track(at)] if ns(x) <= ns(at) <= end(x)]
            check(len(around) > 0, "no slice around an end of flow", name)
            found.append(around[-1])
        check(ns(both["s"]) <= ns(both["f"]) + 2 * error and ns(found[0]) <= end(found[1]) + 2 * error,
              "received before it was sent: flow", name)
        flows.append(found)
    return flows


# ---- the trace, by the plan ----------------------------------------------------------------------------


def check_slice(x, plan, buffers, op, tile):
    fifos = plan["fifos"]
    want = {
        "from": None if op["in"] is None else fifos[op["in"]]["src"],
        "to": None if op["out"] is None else fifos[op["out"]]["dst"],
        "tile": tile,
        "chunk": chunk_of(plan, buffers, op),
    }
    for key, value in want.items():
        check(x["args"].get(key) == value, key, "is", x["args"].get(key), "and not", value, "in", x)
    waits = x["cat"].endswith(",waits")
    check(x["cat"] == kind_of(op) + (",waits" if waits else ""), "the kind of", x, "is", kind_of(op))
    check(x["name"] == ("waits at " if waits else "") + f"{op['file']}:{op['line']}", "the line of", x, "is", op)
    return waits


def check_worker(tracks, plan, buffers, worker, sizes, ended):
    """The operations that are done, by row and tile. Each of the worker's tracks has tiles of its own."""
    ops, n = worker["ops"], len(worker["ops"])
    done, moved, tiles = {}, defaultdict(int), []
    for slices in tracks:
        for first in range(0, len(slices), n):
            group = slices[first:first + n]
            tile = group[0]["args"]["tile"]
            check(first == 0 or tile > tiles[-1], "a tile before the one before", group[0])
            tiles.append(tile)
            if "pass" in group[0]["args"]:  # passes have an order of their own
                group.sort(key=lambda x: x["args"]["op"])
            for i, (x, op) in enumerate(zip(group, ops)):
                check(x["args"].get("op", i) == i, "not operation", i, "of its worker:", x)
                if check_slice(x, plan, buffers, op, tile):
                    check(not ended and first + i == len(slices) - 1, "it waits, and has ended or goes on", x)
                    continue
                done[op["row"], tile] = x
                moved[op["row"]] += x["args"]["bytes"]
    check(len(tiles) == len(set(tiles)), "a tile on two tracks of", worker["rank"], sorted(tiles))
    if ended:
        check(tiles and sorted(tiles) == list(range(len(tiles))) and all(len(s) % n == 0 for s in tracks),
              "not all operations of a worker", worker["rank"], sorted(tiles))
        for op in ops:
            check(moved[op["row"]] == sizes[op["row"]], "bytes of", op, moved[op["row"]], "not", sizes[op["row"]])
    return done, len(tiles)


def check_passes(done, apart):
    """Operations that one pass did at once share its time evenly, without gaps. The number of passes. apart: each is
    of one chunk."""
    tiles, passes = defaultdict(list), 0
    for (_, tile), x in done.items():
        tiles[tile].append(x)
    for slices in tiles.values():
        slices.sort(key=lambda x: (ns(x), end(x)))
        while slices and "pass" in slices[0]["args"]:
            n = slices[0]["args"]["pass"]
            group, slices = slices[:n], slices[n:]
            passes += 1
            check([x["args"].get("pass") for x in group] == [n] * n, "a pass of", n, "operations has", len(group))
            check(not apart or len({x["args"]["chunk"] for x in group}) == 1, "a pass of several chunks", group)
            check(all(end(a) == ns(b) for a, b in zip(group, group[1:])), "gaps in a pass", group)
            durations = [ns(x, "dur") for x in group]
            check(max(durations) - min(durations) <= 1, "shares of a pass", durations)
        check(not any("pass" in x["args"] for x in slices), "a tile in passes and not in passes", slices[:1])
    return passes


def check_call(number, call, tracks, workers, flows, plan, buffers, count, ended, apart):
    done, tiles = {}, set()
    first = {}  # worker of each rank
    for worker in plan["workers"]:
        first.setdefault(worker["rank"], worker["at"])
    for worker in plan["workers"]:
        if not worker["ops"]:
            continue
        at = worker["rank"], worker["at"] - first[worker["rank"]]
        own = call.get(worker["rank"])
        mine = [[x for x in tracks[one] if x["args"]["call"] == number] for one in workers[at]]
        slices = sum(mine, [])
        if own is None:
            check(not slices, "a rank that has not called does", slices)
            continue
        over = "waits" not in own["cat"]
        check(over or not ended, "a call that has not ended", own)
        check(all(ns(own) <= ns(x) and end(x) <= end(own) for x in slices), "out of its call: rank", worker["rank"])
        sizes = {op["row"]: bytes_of(plan, op, count) for op in worker["ops"]}
        did, n = check_worker(mine, plan, buffers, worker, sizes, over)
        done.update(did)
        if over:
            tiles.add(n)
    check(len(tiles) <= 1, "workers with different numbers of tiles", tiles)
    ops = {op["row"]: op for w in plan["workers"] for op in w["ops"]}
    wanted = {(row, op["to"], tile) for (row, tile) in done for op in [ops[row]]
              if op["to"] is not None and (op["to"], tile) in done}
    place = {id(x): key for key, x in done.items()}
    got = set()
    for sent, received in flows:
        if sent["args"]["call"] != number:
            continue
        check(id(sent) in place and id(received) in place, "a flow of an operation that is not done")
        (a, tile), (b, other) = place[id(sent)], place[id(received)]
        check(tile == other, "a flow between tiles", tile, other)
        got.add((a, b, tile))
    check(got == wanted, "flows that are not messages", got ^ wanted)
    return len(done), check_passes(done, apart)


def check_trace(trace, printed, args):
    if args.table:
        rows = [(r["count"], r["root"]) for r in json.load(open(args.table))["rows"]]
    else:
        rows = [(args.count, None)]
    for plan in printed["plans"]:
        row = 0
        for i, worker in enumerate(plan["workers"]):
            worker["at"] = i
            for op in worker["ops"]:
                op["row"] = row
                row += 1
    events = trace["traceEvents"]
    tracks, workers = check_tracks(events)
    flows = check_flows(events, tracks, trace["otherData"]["clock_error_ns"])
    calls = defaultdict(dict)
    for x in [x for at, slices in tracks.items() if at[1] == 0 for x in slices]:
        check(x["name"] == printed["schedule"] and x["args"]["contract"] == printed["contract"], "call", x)
        calls[x["args"]["call"]][x["pid"]] = x
    check(sorted(calls) == list(range(len(rows))), "calls", sorted(calls), "of rows", rows)
    total, passes = 0, 0
    for number, (count, root) in enumerate(rows):
        call = calls[number]
        plan = next(p for p in printed["plans"] if p["root"] == root)
        ended = not (args.stuck and number == len(rows) - 1)
        for x in call.values():
            check(x["args"]["count"] == count and x["args"].get("root") == root, "the arguments of", x)
        check(not ended or len(call) == plan["nranks"], "ranks of call", number)
        did = check_call(number, call, tracks, workers, flows, plan, printed["buffers"], count, ended, args.apart)
        total, passes = total + did[0], passes + did[1]
    if args.stuck:
        check(any("waits" in x["cat"] for slices in tracks.values() for x in slices), "nothing waits")
    return total, len(flows), passes


# ---- a predicted trace, by the program -----------------------------------------------------------------

OPERATION = re.compile(r"^ *(?:\d+)? +line (\d+) +(send|recv|reduce|copy) +(\S+)(?: (to|from|into) (\S+))?")


def read_program(path):
    """(kind, line, chunk, peer) of each rank's operations, as `ccc --emit=program` prints them."""
    ranks, rank = defaultdict(list), None
    for line in open(path):
        head, op = re.match(r"rank (\d+)", line), OPERATION.match(line)
        if head:
            rank = int(head[1])
        elif op:
            number, kind, cells, way, peer = op.groups()
            inside, empty = way == "into", re.search(r"\[(\d+)\.\.\1\]$", cells)
            kind = "recv,reduce" if kind == "reduce" and not inside else kind
            ranks[rank].append((kind, int(number), peer if inside else None if empty else cells, None if inside else int(peer)))
    return ranks


def check_predicted(trace, program, args):
    events = trace["traceEvents"]
    tracks, _ = check_tracks(events)
    flows = check_flows(events, tracks, trace["otherData"]["clock_error_ns"])
    calls = {at[0]: x for at, slices in tracks.items() if at[1] == 0 for x in slices}
    check(sorted(calls) == sorted(program), "calls of ranks", sorted(calls))
    found, lasts = defaultdict(list), []
    for at, slices in tracks.items():
        for x in slices if at[1] else []:
            own = calls[at[0]]
            check(ns(own) <= ns(x) and end(x) <= end(own), "out of its call", x)
            check("pass" not in x["args"] and "op" not in x["args"], "a pass is predicted", x)
            peer = x["args"].get("to", x["args"].get("from"))
            found[at[0], x["args"]["tile"]].append((x["cat"], int(x["name"].rpartition(":")[2]), x["args"].get("chunk"), peer))
            lasts.append(end(x))
    tiles = range(1 + max((tile for _, tile in found), default=0))
    for rank, tile in [(r, t) for r in program for t in tiles]:
        check(sorted(map(str, found[rank, tile])) == sorted(map(str, program[rank])),
              "operations of rank", rank, found[rank, tile], "not", program[rank])
    for a, b in flows:
        check((a["pid"], b["pid"]) == (b["args"]["from"], a["args"]["to"]), "ranks of a flow", a, b)
        check(a["args"]["bytes"] == b["args"]["bytes"], "bytes of a flow", a, b)
        check(a["args"]["tile"] == b["args"]["tile"], "tiles of a flow", a, b)
    sends = len(tiles) * sum(op[0] == "send" for ops in program.values() for op in ops)
    check(len(flows) == sends, len(flows), "flows of", sends, "sends")
    us = (max(lasts) - 1000) / 1000
    check(abs(us - args.program) < 0.002, "the last operation ends after", us, "and not", args.program)
    return sum(map(len, program.values())), len(flows), 0


# ---- spoiling ------------------------------------------------------------------------------------------


def slices_of(trace):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["tid"]]


def overlap(trace):
    a, b = [x for x in slices_of(trace) if track(x) == track(slices_of(trace)[0])][:2]
    a["dur"] = b["ts"] - a["ts"] + 0.5


def back(trace):
    """A worker that only receives last has done it when its call begins."""
    last = next(x for x in slices_of(trace) if x["cat"] == "recv")
    x = next(e for e in trace["traceEvents"] if e["ph"] == "f" and track(e) == track(last) and ns(e) == ns(last))
    x["ts"] = next(e["ts"] for e in slices_of(trace) if track(e) == track(x))


def both(trace):
    gone = next(e["id"] for e in trace["traceEvents"] if e["ph"] == "s")
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("id") != gone]


SPOILS = {
    "lost": lambda t: t["traceEvents"].remove(slices_of(t)[-1]),
    "twice": lambda t: t["traceEvents"].append(slices_of(t)[-1]),
    "overlap": overlap,
    "line": lambda t: slices_of(t)[0].update(name=slices_of(t)[0]["name"] + "0"),
    "bytes": lambda t: slices_of(t)[0]["args"].update(bytes=slices_of(t)[0]["args"]["bytes"] + 4),
    "chunk": lambda t: slices_of(t)[0]["args"].update(chunk="other[0]"),
    "peer": lambda t: slices_of(t)[0]["args"].update(to=99),
    "end": lambda t: t["traceEvents"].remove(next(e for e in t["traceEvents"] if e["ph"] == "f")),
    "begin": lambda t: t["traceEvents"].remove(next(e for e in t["traceEvents"] if e["ph"] == "s")),
    "both": both,
    "back": back,
    "op": lambda t: slices_of(t)[0]["args"].update(op=slices_of(t)[0]["args"].get("op", 0) + 1),
    "pass": lambda t: slices_of(t)[0]["args"].update({"pass": slices_of(t)[0]["args"].get("pass", 0) + 1}),
    "name": lambda t: t["traceEvents"].remove(next(e for e in t["traceEvents"] if e["name"] == "thread_name")),
    "track": lambda t: slices_of(t)[0].update(tid=slices_of(t)[0]["tid"] + 1),
    "call": lambda t: t["traceEvents"].remove(next(e for e in t["traceEvents"] if e["ph"] == "X" and not e["tid"])),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("plan")
    parser.add_argument("--count", type=int)
    parser.add_argument("--table")
    parser.add_argument("--program", type=float)
    parser.add_argument("--stuck", action="store_true")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--spoils", action="store_true")
    args = parser.parse_args()
    try:
        predicted = args.program is not None
        check_all = check_predicted if predicted else check_trace
        trace = json.load(open(args.trace))
        printed = read_program(args.plan) if predicted else json.load(open(args.plan))
        for how in SPOILS if args.spoils else []:
            spoilt = copy.deepcopy(trace)
            SPOILS[how](spoilt)
            try:
                check_all(spoilt, printed, args)
            except Wrong as why:
                print(f"{how}: {why}"[:150])
            else:
                raise Wrong("not found:", how)
        operations, messages, passes = check_all(trace, printed, args)
        print(f"{operations} operations, {messages} messages, {passes} passes")
    except (Wrong, ValueError, KeyError, OSError) as why:
        sys.exit(f"{args.trace}: {why!r}"[:600])


main()
