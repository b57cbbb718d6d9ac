#!/usr/bin/env python3
"""Writes the text of a pipeline for torch.distributed.pipelining (_load_csv, format compute_comms) and for `ccc check`.

    generate.py 1f1b         --ranks 4 --microbatches 8 > 1f1b.csv
    generate.py interleaved  --ranks 4 --microbatches 8 --stages-per-rank 2
    generate.py zero-bubble  --ranks 4 --microbatches 8
    generate.py v            --ranks 4 --microbatches 8

Every text is free of deadlock without a message in between, for each kind of streams, and for any number of microbatches.

The order of computations. gpipe: all forwards, then all backwards (Huang et al. 2019; several stages a rank: breadth first,
Lamy-Poirier 2023). 1f1b: rank r computes P - 1 - r forwards, and then one forward and one backward in turn (PipeDream, Narayanan et
al. 2019). interleaved: the same for V stages a rank, in groups of at least P microbatches, which pass through all stages of a
rank (Narayanan et al. 2021). zero-bubble: a backward is divided into I, which the rank before waits for, and W, which
no rank waits for and which follows r microbatches later, so that the last ranks fill their idle time with it (ZB-H1, Qi et al. 2023). v: rank
r has stages r and 2P - 1 - r, so that the last stage is on rank 0, and backwards begin early (Qi et al. 2024; DualPipe's V form, DeepSeek 2025).
Here the order is found by a run, in which each rank takes a computation that can start and that leaves it with at most 2P activations; the
better one of two preferences is kept.

The order of communications. In a run in which messages take no time, let the events be the end of each computation, and, just after
the end of its sender's computation, each message. Every rank's line has its events in the order of this run; a message is
there at both of its ends. Why no such text can be stuck: of all events that have not happened take the first. What stands
before it on its ranks has happened, so it can happen: a computation has its input, and of a message both ends are there,
hence nothing must fit in between. This holds however a rank divides its communications into streams. With --batch the messages of
one instant at a rank are one group; then the events of the argument are instants.

A WAIT_SEND stands before the first computation that depends on the receiver's use of the message, by way of any messages (vector clocks,
Fidge 1988, Mattern 1989); so it never makes a rank wait longer than its data does, whatever the computations take. It is at the
end if there is no such computation. UNSHARD, RESHARD and REDUCE_GRAD are for FSDP: a stage is unsharded from its first to its last use.
"""
import argparse
import sys

UNITS = {"F": 1, "B": 2, "I": 1, "W": 1}


# ---- the order of computations: for each rank a list of (stage, kind, microbatch) ------------

def in_groups(ranks, per_rank, microbatches, split, breadth):
    """Forwards, then a forward and a backward in turn, then backwards: a group of microbatches passes stage after stage."""
    groups = 1 if breadth else max(1, microbatches // ranks)
    bounds = [microbatches * i // groups for i in range(groups + 1)]
    spans = [range(a, b) for a, b in zip(bounds, bounds[1:])]
    lines = []
    for rank in range(ranks):
        stages = range(rank, ranks * per_rank, ranks)
        forwards = [(s, m) for span in spans for s in stages for m in span]
        backwards = [(s, m) for span in spans for s in reversed(stages) for m in span]
        apart = 1 if split or per_rank == 1 else 2  # a rank is this many forwards ahead of the next one
        first = (per_rank - 1) * max(map(len, spans)) + apart * (ranks - 1 - rank)
        first = len(forwards) if breadth else min(first, len(forwards))
        line, weights = [(s, "F", m) for s, m in forwards[:first]], iter(backwards)
        for i, (s, m) in enumerate(backwards):
            line += [(f, "F", n) for f, n in forwards[first + i:first + i + 1]]
            line.append((s, "I" if split else "B", m))
            if split and i >= rank:
                line.append(next((w, "W", n) for w, n in weights))
        lines.append(line + [(s, "W", m) for s, m in weights if split])
    return lines


def in_v(ranks, microbatches, forwards_first):
    """Each rank takes what can start: forwards of its later stage before those of its earlier one, inputs in the
    other order, and a weight if nothing else can start."""
    last = 2 * ranks - 1
    end, lines, held = {}, [[] for _ in range(ranks)], [0] * ranks
    count = {(stage, kind): 0 for stage in range(last + 1) for kind in "FIW"}
    left, now = 3 * (last + 1) * microbatches, 0

    def ready(*needs):
        return all(end.get(n, now + 1) <= now for n in needs)

    while left:
        for rank, line in enumerate(lines):
            early, late = rank, last - rank
            forwards = [(s, "F", count[s, "F"]) for s in (late, early) if held[rank] < 2 * ranks
                        and count[s, "F"] < microbatches and (s == 0 or ready((s - 1, "F", count[s, "F"])))]
            inputs = [(s, "I", m) for s in (early, late) for m in (count[s, "I"],)
                      if ready((s, "F", m), *([(s + 1, "I", m)] if s < last else []))]
            weights = [(s, "W", count[s, "W"]) for s in (early, late) if count[s, "W"] < count[s, "I"]]
            for action in (forwards + inputs if forwards_first else inputs + forwards) + weights:
                line.append(action)
                end[action] = now + 1
                count[action[:2]] += 1
                held[rank] += {"F": 1, "I": 0, "W": -1}[action[1]]
                left -= 1
                break
        now += 1
    return now, lines


# ---- the run -------------------------------------------------------------------------------------

def source(action, stages):
    """The computation that this one takes its input from, without its microbatch; or None."""
    stage, kind, _ = action
    if kind == "F":
        return (stage - 1, "F") if stage else None
    return (stage + 1, kind) if kind != "W" and stage < stages - 1 else None


def run(lines, stages, rank_of):
    """The end of each computation; the messages, as (end of the sender's computation, its rank, the two computations); and for each
    computation how many of each rank's it depends on, itself included."""
    end, messages, known = {}, [], {}
    at, clock = [0] * len(lines), [0] * len(lines)
    seen = [[0] * len(lines) for _ in lines]
    waiting = list(range(len(lines)))
    blocked = {}  # a computation that has not ended to the rank that needs it
    while waiting:
        rank = waiting.pop()
        while at[rank] < len(lines[rank]):
            action = lines[rank][at[rank]]
            needs = source(action, stages)
            if needs:
                needs = (*needs, action[2])
                if needs not in end:
                    blocked[needs] = rank
                    break
                seen[rank] = [max(pair) for pair in zip(seen[rank], known[needs])]
                clock[rank] = max(clock[rank], end[needs])
                if rank_of[needs[0]] != rank:
                    messages.append((end[needs], rank_of[needs[0]], needs, action))
            at[rank] += 1
            clock[rank] += UNITS[action[1]]
            seen[rank][rank] = at[rank]
            known[action], end[action] = list(seen[rank]), clock[rank]
            if action in blocked:
                waiting.append(blocked.pop(action))
    assert len(end) == sum(map(len, lines)), "computations wait in a circle"
    return end, sorted(messages), known


# ---- the text ------------------------------------------------------------------------------------

def text(lines, stages, batch):
    rank_of = {s: rank for rank, line in enumerate(lines) for s, _, _ in line}
    end, messages, known = run(lines, stages, rank_of)
    # Of each rank: (when, order in this instant, word, computation). Computations come first, then messages by sender, then what
    # ends a stage; of a SEND the computation is the one that uses it.
    events = [[(end[c], -1, f"{c[0]}{c[1]}{c[2]}", c) for c in line] for line in lines]
    first, last = {}, {}
    for line in lines:
        first.update((c[0], c) for c in reversed(line))
        last.update((c[0], c) for c in line)
    for when, sender, made, used in messages:
        way = "F" if made[1] == "F" else "B"
        events[sender].append((when, sender, f"{made[0]}SEND_{way}{made[2]}", used))
        events[rank_of[used[0]]].append((when, sender, f"{used[0]}RECV_{way}{used[2]}", None))
    for stage, c in last.items():
        events[rank_of[stage]].append((end[c], len(lines), f"{stage}REDUCE_GRAD,{stage}WAIT_REDUCE_GRAD,{stage}RESHARD", None))
    out = []
    for line in events:
        pending, words, group, instant = [], [], [], None  # pending: (the computation that uses it, its WAIT_SEND)

        def close():
            words.extend([f"({';'.join(group)})BATCH"] if len(group) > 1 else group)
            group.clear()

        for when, order, word, c in sorted(line, key=lambda e: e[:2]):
            if not batch or when != instant or not 0 <= order < len(lines):
                close()
            instant = when
            if 0 <= order < len(lines):
                group.append(word)
                if c:
                    pending.append((c, word.replace("SEND", "WAIT_SEND")))
                continue
            if order < 0:
                done = [p for p in pending if known[p[0]][rank_of[p[0][0]]] <= known[c][rank_of[p[0][0]]]]
                pending = [p for p in pending if p not in done]
                words += [wait for _, wait in done] + [f"{c[0]}UNSHARD"] * (first[c[0]] == c)
            words.append(word)
        close()
        out.append(",".join(words + [wait for _, wait in pending]))
    return "\n".join(out) + "\n"


def pipeline(schedule, ranks, microbatches, per_rank=None, batch=False):
    """The text; ValueError: why there is none, and what to give instead."""
    per_rank = per_rank or {"interleaved": 2, "v": 2}.get(schedule, 1)
    if ranks < 2:
        raise ValueError(f"--ranks {ranks}: a pipeline has at least 2 ranks")
    if microbatches < 1:
        raise ValueError(f"--microbatches {microbatches}: give at least 1; with fewer than {ranks}, one for each rank, ranks are idle")
    if per_rank < 1:
        raise ValueError(f"--stages-per-rank {per_rank}: each rank has at least 1 stage")
    if schedule == "1f1b" and per_rank != 1:
        raise ValueError(f"1f1b has 1 stage a rank, not {per_rank}: use interleaved")
    if schedule == "interleaved" and per_rank == 1:
        raise ValueError("interleaved has at least 2 stages a rank: use 1f1b, or --stages-per-rank 2")
    if schedule == "v" and per_rank != 2:
        raise ValueError(f"v has 2 stages a rank, not {per_rank}: use --stages-per-rank 2, or zero-bubble")
    if ranks * per_rank > 65536 or microbatches > 1000001:
        raise ValueError("stages are numbered up to 65535, and microbatches up to 1000000: give fewer")
    if schedule == "v":
        lines = min(in_v(ranks, microbatches, first) for first in (True, False))[1]
    else:
        lines = in_groups(ranks, per_rank, microbatches, schedule == "zero-bubble", schedule == "gpipe")
    return text(lines, ranks * per_rank, batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     epilog="The head of this program has the sources, and says why no text can be stuck.")
    parser.add_argument("schedule", choices=("gpipe", "1f1b", "interleaved", "zero-bubble", "v"))
    parser.add_argument("--ranks", type=int, required=True, metavar="P")
    parser.add_argument("--microbatches", type=int, required=True, metavar="M", help="any number; at least P keeps all ranks busy")
    parser.add_argument("--stages-per-rank", type=int, metavar="V",
                        help="default: 2 for interleaved and v, otherwise 1")
    parser.add_argument("--batch", action="store_true",
                        help="messages of one instant in a group, (...)BATCH, which ccc reads and PyTorch does not")
    args = parser.parse_args()
    try:
        sys.stdout.write(pipeline(args.schedule, args.ranks, args.microbatches, args.stages_per_rank, args.batch))
    except ValueError as e:
        parser.error(str(e))


if __name__ == "__main__":
    main()
