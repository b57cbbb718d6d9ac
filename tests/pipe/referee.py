#!/usr/bin/env python3
"""A referee for pipelines: what a text of torch.distributed.pipelining means, in the simplest way that is right. It shares no
code with ccc, which tests/pipe/mutants.py compares with it.

A text either has errors, each with a class and a place, or a verdict: for each kind of streams the least number of messages
between two ranks with which all ranks finish (null: they never do), found by running the text with 0, 1, 2, ... slots; the
pairs of a SEND and a RECV that meet and name different data; and the measures. In a run everything only ever becomes
possible, and nothing becomes impossible again, so one order of events decides for all orders.

usage: referee.py FILE...        prints a JSON object a line"""
import json
import re
import sys

COMPUTE = {"F": 1, "B": 2, "I": 1, "W": 1}  # and the units of time that each takes
LOCAL = ("UNSHARD", "RESHARD", "REDUCE_GRAD", "WAIT_REDUCE_GRAD")
COMM = ("SEND_F", "RECV_F", "SEND_B", "RECV_B")
WAIT = ("WAIT_SEND_F", "WAIT_SEND_B")
STREAMS = ("rank", "pair", "edge", "directed")
ONE = re.compile(r"(\d+)(?:(F|B|I|W|(?:SEND|RECV|WAIT_SEND)_[FB])(\d+)|(UNSHARD|RESHARD|REDUCE_GRAD|WAIT_REDUCE_GRAD))", re.A)
GROUP = re.compile(r"\(([^()]*)\)(OVERLAP_F_B|BATCH)")


class Errors(Exception):
    """The text is wrong: .errors has (class, place, text, other places that belong to it)."""

    def __init__(self, errors):
        super().__init__(errors)
        self.errors = errors


def name(part):
    stage, kind, mb = part[:3]
    return f"{stage}{kind}{'' if mb is None else mb}"


# ---- the text ----------------------------------------------------------------------------------

def one(text, place):
    """(stage, kind, microbatch or None, place); None: it is no action."""
    m = ONE.fullmatch(text)
    if not m or int(m[1]) > 65535 or m[3] and int(m[3]) > 1000000:
        return None
    return int(m[1]), m[2] or m[4], int(m[3]) if m[3] else None, place


def action(text, place):
    """(parts, group or None); None: it is no action."""
    m = GROUP.fullmatch(text)
    if not m:
        part = one(text, place)
        return part and ([part], None)
    parts, column = [], place[1] + 1
    for piece in m[1].split(";"):
        bare = piece.strip(" \t")
        parts.append(one(bare, (place[0], column + piece.index(bare))))
        column += len(piece) + 1
    kinds = COMPUTE if m[2] == "OVERLAP_F_B" else COMM
    if any(p is None or p[1] not in kinds for p in parts) or m[2] == "OVERLAP_F_B" and len(parts) != 2:
        return None
    return parts, m[2]


def read(data):
    """For each rank its actions, as (parts, group), of the bytes of a text."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as e:
        line = data.rfind(b"\n", 0, e.start) + 1
        raise Errors([("syntax", (data.count(b"\n", 0, e.start) + 1, e.start - line + 1), "not UTF-8", [])]) from None
    lines = [line.removesuffix("\r") for line in data.decode("latin-1").split("\n")]  # columns count bytes
    while lines and not lines[-1]:
        lines.pop()
    ranks, errors = [], []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        ranks.append([])
        column = 1
        for field in line.split(","):
            bare = field.strip(" \t")
            at = column + field.index(bare)
            column += len(field) + 1
            if len(bare) > 1 and bare[0] == bare[-1] == '"':
                inner = bare[1:-1].strip(" \t")
                at += bare.index(inner, 1) if inner else 1
                bare = inner
            if not bare:
                continue
            found = action(bare, (number, at))
            if found:
                ranks[-1].append(found)
            else:
                errors.append(("syntax", (number, at), f"no action: {bare[:40]}", []))
    if not ranks:
        errors.append(("syntax", (1, 1), "no rank", []))
    if errors:
        raise Errors(errors)
    return ranks


# ---- placement, completeness, order ------------------------------------------------------------

class Text:
    """A text that can be read, and where its stages are."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.flat = [[p for parts, _ in line for p in parts] for line in ranks]
        self.begin = []  # of each part of `flat`: that of its bracket
        for line in ranks:
            self.begin.append([])
            for parts, _ in line:
                self.begin[-1] += [len(self.begin[-1])] * len(parts)
        every = [p for line in self.flat for p in line]
        self.stages = 1 + max((p[0] for p in every), default=-1)
        self.microbatches = 1 + max((p[2] for p in every if p[2] is not None), default=-1)
        self.rank_of = {}
        for rank, line in enumerate(self.flat):
            for stage, kind, *_ in line:
                if kind in COMPUTE:
                    self.rank_of.setdefault(stage, rank)
        self.talks = any(p[1] in COMM for p in every)

    def peer(self, stage, kind):
        """The stage at the other end of a SEND or RECV, or of its WAIT_SEND; or None."""
        far = stage + (1 if kind.endswith("SEND_F") or kind == "RECV_B" else -1)
        return far if 0 <= far < self.stages else None


def check(text):
    errors = []

    def wrong(kind, part, what, *also):
        errors.append((kind, part[3], f"{name(part)}: {what}", [p[3] for p in also]))

    rank_of, first = text.rank_of, {}  # first: (stage, kind, mb) to its rank, position and part
    begins = {}  # a part of each stage
    seen_on = set()
    for rank, line in enumerate(text.flat):
        for at, part in enumerate(line):
            stage, kind, mb, _ = part
            begins.setdefault(stage, part)
            if kind in COMPUTE:
                if rank_of[stage] != rank and (stage, rank) not in seen_on:
                    wrong("placement", part, "its stage is on two ranks", begins[stage])
                    seen_on.add((stage, rank))
            elif rank_of.get(stage) != rank:
                wrong("placement", part, "this rank does not compute its stage")
            if kind in COMM or kind in WAIT:
                far = text.peer(stage, kind)
                if far is None:
                    wrong("placement", part, "no stage is at the other end")
                elif far in rank_of and rank_of[far] == rank:
                    wrong("placement", part, "a message between two stages of one rank")
            if mb is None:
                continue
            key = (stage, kind, mb)
            if key in first:
                wrong("twice", part, "twice", first[key][2])
            else:
                first[key] = (rank, at, part)
                if kind in COMPUTE:
                    for other in "IW" if kind == "B" else "B" if kind != "F" else "":
                        if (stage, other, mb) in first:
                            wrong("twice", part, f"also {other}", first[stage, other, mb][2])
    nowhere = next((stage for stage in range(text.stages) if stage not in rank_of), None)
    if nowhere is not None:  # the first: there may be thousands
        errors.append(("placement", None, f"stage {nowhere} is computed nowhere", []))

    def has(stage, kinds, mb):
        """The first of them that is there: (rank, position, part), or None."""
        return next((first[stage, k, mb] for k in kinds if (stage, k, mb) in first), None)

    backward = any(k in "BI" for _, k, _ in first)
    count = {}
    for stage, kind, _ in first:
        kind = "B" if kind == "I" else kind
        count[stage, kind] = count.get((stage, kind), 0) + 1
    for stage in rank_of:
        for kinds in ("F", "BI") if backward else ("F",):
            lack = [mb for mb in range(min(text.microbatches, len(first) + 1)) if not has(stage, kinds, mb)]
            if lack:
                related = [f[2] for mb in lack for f in (has(stage, COMPUTE, mb),) if f]
                wrong("missing", begins[stage], f"its stage lacks {kinds} of {lack[:5]}", *related)
    waits = any(k in WAIT for _, k, _ in first)
    for (stage, kind, mb), (rank, at, part) in first.items():
        begin = text.begin[rank][at]

        def before(kinds, of=stage, what=None):
            """An error where one of these of the same microbatch stands later in the line of this rank, or in its bracket."""
            other = has(of, kinds, mb)
            if other and other[0] == rank and other[1] >= begin:
                wrong("order", part, f"before {name(other[2])}", other[2])

        if kind == "I" and not has(stage, "W", mb) or kind == "W" and not has(stage, "I", mb):
            wrong("missing", part, "I and W belong together")
        if kind in COMPUTE and text.talks and kind != "W":
            step = 1 if kind == "F" else -1
            way = "F" if kind == "F" else "B"
            far = stage + step
            if far in rank_of and rank_of[far] != rank_of[stage]:
                send, recv = has(stage, ("SEND_" + way,), mb), has(far, ("RECV_" + way,), mb)
                takes = has(far, "F" if way == "F" else "BI", mb)
                around = [f[2] for f in (send, recv, takes) if f]
                if not send:
                    wrong("missing", part, f"its SEND_{way} is missing", *around)
                if not recv:
                    wrong("missing", part, f"its RECV_{way} is missing", *around)
        if kind in COMM:
            way = kind[-1]
            source = stage if kind.startswith("SEND") else text.peer(stage, kind)
            if source is not None and not has(source, "F" if way == "F" else "BI", mb):
                wrong("missing", part, "its sender does not compute it")
        if kind.startswith("SEND") and waits and not has(stage, ("WAIT_" + kind,), mb):
            wrong("missing", part, "its WAIT_SEND is missing")
        if kind in WAIT:
            if not has(stage, (kind[5:],), mb):
                wrong("missing", part, "its SEND is missing")
            before((kind[5:],))
        elif kind == "F":
            before("F", stage - 1)
            before(("RECV_F",))
        elif kind in ("B", "I"):
            before("F")
            before("BI", stage + 1)
            before(("RECV_B",))
        elif kind == "W":
            before("I")
        elif kind == "SEND_F":
            before("F")
        elif kind == "SEND_B":
            before("BI")
    fetched = {p[0] for line in text.flat for p in line if p[1] == "UNSHARD"}
    for line in text.flat:
        weights, pending = set(), None  # stages that have theirs; the REDUCE_GRAD that is not waited for
        for at, part in enumerate(line):
            stage, kind, *_ = part
            if kind == "UNSHARD":
                if stage in weights:
                    wrong("order", part, "its stage has its weights")
                weights.add(stage)
            elif kind == "RESHARD":
                if stage not in weights:
                    wrong("order", part, "its stage has no weights")
                weights.discard(stage)
            elif kind in COMPUTE and stage in fetched and stage not in weights:
                wrong("order", part, "its stage has no weights")
            elif kind == "REDUCE_GRAD":
                if any(s == stage and k in ("B", "W") for s, k, *_ in line[at:]):
                    wrong("order", part, "before a backward")
                if pending:
                    wrong("order", part, "while another is under way", pending)
                pending = part
            elif kind == "WAIT_REDUCE_GRAD":
                if not pending or pending[0] != stage:
                    wrong("order", part, "without its REDUCE_GRAD")
                pending = None
        if pending:
            wrong("missing", pending, "its WAIT_REDUCE_GRAD is missing")
    if errors:
        raise Errors(errors)


# ---- messages for computations alone, as PyTorch 2.15 places them -------------------------------

def stages_ahead(line, count):
    """The next `count` stages of a line, each once; an OVERLAP_F_B is not divided."""
    found = []
    for parts, _ in line:
        found += [s for s in dict.fromkeys(p[0] for p in parts) if s not in found]
        if len(found) >= count:
            break
    return found


def lower(text):
    """torch's _prepare_schedule_with_comms: _add_unshard_reshard, _add_reduce_grad, _add_send_recv and _add_wait_send. None: it
    would find that the computations wait in a circle."""
    queues = []
    for line in text.ranks:
        line = [a for a in line if a[0][0][1] in COMPUTE]
        active, out, backwards = [], [], {}
        for i, (parts, group) in enumerate(line):
            near = stages_ahead(line[i:], 3)
            gone, new = [s for s in active if s not in near], [s for s in near if s not in active]
            active = [s for s in active if s in near] + new
            out += [([(s, "RESHARD", None, None)], None) for s in gone] + [([(s, "UNSHARD", None, None)], None) for s in new]
            out.append((parts, group))
            for stage, kind, *_ in parts:
                if kind in "WB":
                    backwards[stage] = backwards.get(stage, 0) + 1
                    if backwards[stage] == text.microbatches:
                        out += [([(stage, k, None, None)], None) for k in ("REDUCE_GRAD", "WAIT_REDUCE_GRAD")]
        queues.append(out + [([(s, "RESHARD", None, None)], None) for s in active])
    out, done, at = [[] for _ in queues], [set() for _ in queues], [0] * len(queues)

    def ready(rank, stage, kind, mb):
        if kind == "F":
            return stage == 0 or bool({(stage, "RECV_F", mb), (stage - 1, "F", mb)} & done[rank])
        if kind in ("B", "I"):
            return stage == text.stages - 1 or bool(
                {(stage, "RECV_B", mb), (stage + 1, "B", mb), (stage + 1, "I", mb)} & done[rank])
        return True

    while any(a < len(q) for a, q in zip(at, queues)):
        progress = False
        for rank, queue in enumerate(queues):
            if at[rank] == len(queue):
                continue
            parts, group = queue[at[rank]]
            if not all(ready(rank, *p[:3]) for p in parts):
                continue
            progress = True
            at[rank] += 1
            out[rank].append((parts, group))
            for stage, kind, mb, _ in parts:
                done[rank].add((stage, kind, mb))
                if kind not in ("F", "B", "I"):
                    continue
                way = "F" if kind == "F" else "B"
                far = stage + (1 if way == "F" else -1)
                if 0 <= far < text.stages and text.rank_of[far] != rank:
                    there = text.rank_of[far]
                    out[rank].append(([(stage, "SEND_" + way, mb, None)], None))
                    out[there].append(([(far, "RECV_" + way, mb, None)], None))
                    done[there].add((far, "RECV_" + way, mb))
        if not progress:
            return None
    for rank, line in enumerate(out):
        pending, waited = {}, []
        for parts, group in line:
            waited.append((parts, group))
            for stage, kind, mb, _ in parts:
                if kind.startswith("SEND"):
                    pending[stage, kind, mb] = None
                elif kind in ("B", "I") and (stage, "SEND_F", mb) in pending:
                    del pending[stage, "SEND_F", mb]
                    waited.append(([(stage, "WAIT_SEND_F", mb, None)], None))
        out[rank] = waited + [([(s, "WAIT_" + k, mb, None)], None) for s, k, mb in pending]
    return Text(out)


# ---- the run -----------------------------------------------------------------------------------

class Program:
    """A text as queues, for one kind of streams. A FIFO is numbered; message k of FIFO f has the number k there. Messages of the
    two directions of a pipeline are in FIFOs apart where an edge is a communicator."""

    def __init__(self, text, streams):
        self.streams = streams
        self.text, self.fifos, self.sends, self.recvs = text, {}, {}, {}
        self.computes, self.groups = [], []
        place = {}  # (stage, kind, mb) of a SEND or RECV to (fifo, k)
        for rank, line in enumerate(text.flat):
            for part in line:
                if part[1] in COMM:
                    there = text.rank_of[text.peer(*part[:2])]
                    ends = (rank, there) if part[1].startswith("SEND") else (there, rank)
                    ends += (part[1][-1],) if streams == "edge" else ()
                    fifo = self.fifos.setdefault(ends, len(self.fifos))
                    order = (self.sends if part[1].startswith("SEND") else self.recvs).setdefault(fifo, [])
                    place[part[:3]] = (fifo, len(order))
                    order.append(part)
        self.ends = list(self.fifos)
        for rank, line in enumerate(text.ranks):
            computes, groups = [], []
            for parts, _ in line:
                kind = parts[0][1]
                if kind in COMM:  # (computations before it, its messages)
                    groups.append((len(computes), [(p[1].startswith("SEND"), *place[p[:3]]) for p in parts]))
                elif kind in WAIT:  # its SEND: (is it a send, fifo, k)
                    computes.append([(True, *place[parts[0][0], kind[5:], parts[0][2]])])
                elif kind in COMPUTE:
                    keys = [(s, "RECV_F" if k == "F" else "RECV_B", mb) for s, k, mb, _ in parts if k != "W"]
                    computes.append([(False, *place[key]) for key in keys if key in place])
            self.computes.append(computes)
            self.groups.append(groups)

    def swapped(self):
        """The pairs that meet with different names."""
        return [(s, r) for f in self.sends for s, r in zip(self.sends[f], self.recvs[f])
                if (s[1][-1], s[0], s[2]) != (r[1][-1], self.text.peer(*r[:2]), r[2])]

    def queues(self):
        """For each rank its queues, each a list of waves: (computations before it, messages)."""
        out = []
        for rank, groups in enumerate(self.groups):
            queues = {}
            for after, messages in groups:
                waves = {}
                for m in messages:
                    a, b = self.ends[m[1]][:2]
                    peer = b if a == rank else a
                    key = {"rank": 0, "pair": peer, "edge": (peer, self.ends[m[1]][2:]), "directed": (a, b)}[self.streams]
                    waves.setdefault(key, []).append(m)
                for key, wave in waves.items():
                    queues.setdefault(key, []).append((after, wave))
            out.append(list(queues.values()))
        return out

    def finishes(self, queues, slots):
        """Whether all ranks finish with this number of messages in between."""
        sent, received = [0] * len(self.ends), [0] * len(self.ends)  # started, by FIFO
        done = [0] * len(queues)  # computations that have finished, by rank
        heads = [[0] * len(q) for q in queues]
        started = [[False] * len(q) for q in queues]
        where = [{m: (q, w) for q, waves in enumerate(qs) for w, (_, wave) in enumerate(waves) for m in wave} for qs in queues]

        def over(rank, message):  # a message of a group has finished when the group has
            q, wave = where[rank][message]
            return heads[rank][q] > wave

        def finished(message):
            is_send, fifo, k = message
            if is_send:
                return sent[fifo] > k and received[fifo] >= k + 1 - slots
            return received[fifo] > k and sent[fifo] > k

        look = set(range(len(queues)))
        while look:
            rank = look.pop()
            moved = True
            while moved:
                moved = False
                computes = self.computes[rank]
                while done[rank] < len(computes) and all(over(rank, m) for m in computes[done[rank]]):
                    done[rank] += 1
                    moved = True
                for q, waves in enumerate(queues[rank]):
                    while heads[rank][q] < len(waves):
                        after, wave = waves[heads[rank][q]]
                        if not started[rank][q]:
                            if done[rank] < after:
                                break
                            started[rank][q] = moved = True
                            for is_send, fifo, _ in wave:
                                (sent if is_send else received)[fifo] += 1
                                look.update(self.ends[fifo][:2])
                        if not all(map(finished, wave)):
                            break
                        heads[rank][q] += 1
                        started[rank][q] = False
                        moved = True
            look.discard(rank)
        return all(d == len(c) for d, c in zip(done, self.computes)) and all(
            h == len(w) for hs, qs in zip(heads, queues) for h, w in zip(hs, qs))

    def least(self):
        queues = self.queues()
        most = max((len(s) for s in self.sends.values()), default=0)
        if self.finishes(queues, 0):
            return 0
        if not self.finishes(queues, most):
            return None
        return next(k for k in range(1, most + 1) if self.finishes(queues, k))


# ---- measures ----------------------------------------------------------------------------------

def measures(text):
    """Of computations that take F, I, W: 1 and B: 2 units, and messages that take none. None: they wait in a circle."""
    lines = [[parts for parts, _ in line if parts[0][1] in COMPUTE] for line in text.ranks]
    start, end = {}, {}  # by (stage, F or B or W, mb); I counts as the B that the next stage waits for
    at, clock = [0] * len(lines), [0] * len(lines)

    def inputs(stage, kind, mb):
        if kind == "F" and stage:
            yield stage - 1, "F", mb
        elif kind in ("B", "I"):
            yield (stage, "F", mb) if stage == text.stages - 1 else (stage + 1, "B", mb)

    progress = True
    while progress:
        progress = False
        for rank, line in enumerate(lines):
            while at[rank] < len(line):
                parts = line[at[rank]]
                keys = [(s, "B" if k == "I" else k, mb) for s, k, mb, _ in parts]
                needs = [n for p in parts for n in inputs(*p[:3]) if n not in keys]
                if any(n not in end for n in needs):
                    break
                begin = max([clock[rank]] + [end[n] for n in needs])
                clock[rank] = begin + sum(COMPUTE[p[1]] for p in parts)
                for key in keys:
                    start[key], end[key] = begin, clock[rank]
                at[rank] += 1
                progress = True
    if any(a < len(line) for a, line in zip(at, lines)):
        return None
    length, busy = max(clock, default=0), sum(COMPUTE[p[1]] for line in lines for parts in line for p in parts)
    computing = sum(bool(line) for line in lines)
    held, in_flight = 0, 0
    for line in lines:
        now = 0
        for parts in line:
            now += sum(p[1] == "F" for p in parts)
            held = max(held, now)
            now -= sum(p[1] in "BW" for p in parts)
    events = {}
    for (stage, kind, mb), when in end.items():
        taker = (stage + 1, "F", mb) if kind == "F" else (stage - 1, "B", mb)
        if kind != "W" and taker in start and text.rank_of[taker[0]] != text.rank_of[stage]:
            events.setdefault((text.rank_of[stage], text.rank_of[taker[0]]), []).extend([(when, 1), (start[taker], -1)])
    for fifo in events.values():
        now = 0
        for _, change in sorted(fifo):
            now += change
            in_flight = max(in_flight, now)
    return {"length": length, "idle": 1 - busy / (computing * length) if length else 0.0, "held": held,
            "in_flight": in_flight}


def judge(data):
    """What a text means: {"errors": [...]}, or {"least": {...}, "swapped": [...], "measures": {...}, ...}."""
    try:
        text = Text(read(data))
        check(text)
    except Errors as e:
        return {"errors": [{"class": kind, "line": (place or (1, 1))[0], "column": (place or (1, 1))[1], "text": what,
                            "also": also} for kind, place, what, also in e.errors]}
    full = text if text.talks else lower(text)
    verdict = {"errors": [], "lowered": not text.talks, "ranks": len(text.ranks), "stages": text.stages,
               "microbatches": text.microbatches, "measures": measures(text)}
    if full is None:
        return {**verdict, "least": dict.fromkeys(STREAMS), "swapped": []}
    programs = {s: Program(full, s) for s in STREAMS}
    return {**verdict, "least": {s: p.least() for s, p in programs.items()},
            "swapped": [{"send": name(s), "recv": name(r), "places": [s[3], r[3]]} for s, r in programs["rank"].swapped()]}


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        with open(path, "rb") as f:
            print(json.dumps({"file": path, **judge(f.read())}))


if __name__ == "__main__":
    main()
