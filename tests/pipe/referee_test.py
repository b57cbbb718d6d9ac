#!/usr/bin/env python3
"""The referee of pipelines (referee.py) against answers that were found by hand, and against what the texts of diag/ and good/
expect in their first line: `# expect: CLASS LINE:COLUMN`, or `# expect: least RANK PAIR EDGE; swapped SEND/RECV...`.
usage: referee_test.py"""
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from referee import judge  # noqa: E402

FORWARD_1F1B = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
BACKWARD_1F1B = "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n"
TWO_WAYS = FORWARD_1F1B + BACKWARD_1F1B


def least(rank, pair, edge, directed=None):
    return {"rank": rank, "pair": pair, "edge": edge, "directed": edge if directed is None else directed}


# What, the text, and the least slots by kind of streams.
RUNS = (
    # Rank 0 sends 0SEND_F1 before it receives 0RECV_B0; rank 1 sends 1SEND_B0 before it receives 1RECV_F1.
    ("two ranks that send first", TWO_WAYS, least(1, 1, 0)),
    ("... without a message in between, if one receives first",
     "0F0,0SEND_F0,0F1,0RECV_B0,0SEND_F1,0B0,0RECV_B1,0B1\n" + BACKWARD_1F1B, least(0, 0, 0)),
    ("... or if one sends and receives at once",
     TWO_WAYS.replace("0SEND_F1,0RECV_B0", "(0SEND_F1;0RECV_B0)BATCH"), least(0, 0, 0)),
    # Each waits for its SEND before it posts the RECV that the other one's SEND waits for.
    ("two ranks that wait for their sends",
     "0F0,0SEND_F0,0F1,0SEND_F1,0WAIT_SEND_F0,0WAIT_SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
     "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1WAIT_SEND_B1\n", least(1, 1, 1)),
    # Rank 0 receives after its four SENDs. Rank 1 receives 1RECV_F2 after 1SEND_F1, which needs 2RECV_F0 where only one fits in
    # between; 0SEND_F3 then needs 1RECV_F2.
    ("four messages before the first receive",
     "0F0,0SEND_F0,0F1,0SEND_F1,0F2,0SEND_F2,0F3,0SEND_F3,2RECV_F0,2F0,2RECV_F1,2F1,2RECV_F2,2F2,2RECV_F3,2F3\n"
     "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,1RECV_F2,1F2,1SEND_F2,1RECV_F3,1F3,1SEND_F3\n", least(2, 2, 2, 0)),
    ("a backward before a forward that it needs",
     "0F0,0SEND_F0,0RECV_B0,0B0,0F1,0SEND_F1,0RECV_B1,0B1\n"
     "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n", least(None, None, None)),
    ("... as computations alone", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", least(None, None, None)),
    ("computations alone", "0F0,0F1,,0B0,0B1\n,1F0,1B0,1F1,1B1\n", least(0, 0, 0)),
    ("one rank", "0F0,1F0,1B0,0B0\n", least(0, 0, 0)),
    ("a rank that does nothing", "0F0\n\n1F0\n\n", least(0, 0, 0)),
    ("quotes, blanks, comments, carriage returns", '# a comment\r\n"0F0", 0SEND_F0 ,,\r\n1RECV_F0,1F0\r\n', least(0, 0, 0)),
)

ALONE = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"
# What, the text, and its measures: length, units of work / (ranks * length), held, in flight.
MEASURES = (
    # Rank 0: F0 0-1, F1 1-2, B0 4-6, B1 7-9; rank 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7. The message of 0F1 waits from 2 to 4.
    ("1F1B", ALONE, (9, 12, 18, 2, 1)),
    # The same work; rank 1: F0 1-2, I0 2-3, F1 3-4, I1 4-5, W0 5-6, W1 6-7; rank 0: I0 3-4, I1 5-6, W0 6-7, W1 7-8.
    ("inputs and weights apart", "0F0,0F1,0I0,0I1,0W0,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n", (8, 12, 16, 2, 1)),
    # Rank 1 holds 0 after its forward until W: F0 1-2, F1 2-3. Nothing is freed, so two are held at the end.
    ("forwards alone", "0F0,0F1\n\n1F0,1F1\n", (3, 4, 6, 2, 0)),
    # Rank 0: F0 0-1, F1 1-2, B0 4-6, B1 7-9; rank 1: F0 1-2, (B0 and F1) 2-5, B1 5-7; hence B0 of rank 0 at 5-7, B1 at 7-9.
    ("an overlap", "0F0,0F1,0B0,0B1\n1F0,(1B0;1F1)OVERLAP_F_B,1B1\n", (9, 12, 18, 2, 0)),
)

# What, the text, and its errors: class, line and column of the first one of each class.
ERRORS = (
    ("an unknown action", "0F0,0G0\n", {"syntax": (1, 5)}),
    ("blanks before it", "0F0,\t 0F\n", {"syntax": (1, 7)}),
    ("a part of a BATCH", "0F0\n(0SEND_F0; 0F1 )BATCH\n", {"syntax": (2, 1)}),
    ("three computations at once", "(0F0;0F1;0F2)OVERLAP_F_B\n", {"syntax": (1, 1)}),
    ("no UTF-8", b"0F0\n0F1,\xff\n", {"syntax": (2, 5)}),
    ("no rank", "# nothing\n\n", {"syntax": (1, 1)}),
    ("too large a number", "65536F0\n", {"syntax": (1, 1)}),
    ("a stage on two ranks", "0F0,0B0\n0F1,0B1\n", {"placement": (2, 1)}),
    ("a send of the last stage", "0F0,0SEND_F0\n", {"placement": (1, 5)}),
    ("a send to itself", "0F0,0SEND_F0,1RECV_F0,1F0\n", {"placement": (1, 5)}),
    ("twice", "0F0,0F0\n", {"twice": (1, 5)}),
    ("B and W", "0F0,0B0,0I0,0W0\n", {"twice": (1, 9)}),
    ("I without W", "0F0,0I0\n", {"missing": (1, 5)}),
    ("a microbatch without backward", "0F0,0F1,0B1\n", {"missing": (1, 1)}),
    ("a message without RECV", "0F0,0SEND_F0\n1F0\n", {"missing": (1, 1)}),
    ("a WAIT_SEND without its SEND", "0F0,0WAIT_SEND_F0\n1F0\n", {"missing": (1, 5)}),
    ("a backward before its forward", "0B0,0F0\n", {"order": (1, 1)}),
    ("a computation before its RECV", "0F0,0SEND_F0\n1F0,1RECV_F0\n", {"order": (2, 1)}),
)

failed = False


def check(what, got, want):
    global failed
    if got == want:
        print("ok -", what)
    else:
        failed = True
        print(f"not ok - {what}: {got}, not {want}")


for what, text, want in RUNS:
    got = judge(text.encode())
    check(what, got["errors"] or got["least"], want)
for what, text, (length, busy, of, held, in_flight) in MEASURES:
    got = judge(text.encode())
    check("measures of " + what, got["errors"] or got["measures"],
          {"length": length, "idle": 1 - busy / of, "held": held, "in_flight": in_flight})
for what, text, want in ERRORS:
    got = {}
    for e in judge(text if isinstance(text, bytes) else text.encode())["errors"]:
        got.setdefault(e["class"], (e["line"], e["column"]))
    check(what, got, want)

swapped = judge((FORWARD_1F1B + "1RECV_F1,1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n").encode())
check("swapped receives", [(s["send"], s["recv"], s["places"]) for s in swapped["swapped"]],
      [("0SEND_F0", "1RECV_F1", [(1, 5), (2, 1)]), ("0SEND_F1", "1RECV_F0", [(1, 18), (2, 10)])])

check("columns count bytes", [e["column"] for e in judge("0F0,é,0G0\n".encode())["errors"]], [5, 8])
for path in sorted(glob.glob(HERE + "/diag/*.csv")) + sorted(glob.glob(HERE + "/good/*.csv")):
    with open(path, "rb") as f:
        data = f.read()
    got = judge(data)
    if got["errors"]:
        first = got["errors"][0]
        got = f"{first['class']} {first['line']}:{first['column']}"
    else:
        met = "".join(f" {s['send']}/{s['recv']}" for s in got["swapped"])
        got = "least " + " ".join("never" if k is None else str(k) for k in got["least"].values()) + (met and "; swapped" + met)
    check(os.path.relpath(path, HERE), got, data.split(b"\n")[0].decode().removeprefix("# expect: "))
sys.exit(failed)
