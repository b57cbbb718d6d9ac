#!/usr/bin/env python3
"""Makes a module that loads and never ends (runtime/plan/plan.h has its form).

    stuck_module.py MODULE.so RANKS OUT.so

In the plan for RANKS ranks each worker's first two operations change places, and the k-th message of a FIFO goes to
its k-th receive as ever. So where each rank sends first and receives then, as in recursive doubling, all receive first.
"""
import struct
import sys

source, ranks, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
NONE, OP, TO = 0xFFFFFFFF, struct.Struct("<13I2H"), 7
so = bytearray(open(source, "rb").read())
start = so.index(b"CCSPLAN\n") - 8
size = struct.unpack_from("<Q", so, start)[0]


def checksum():
    h = 0xCBF29CE484222325
    for byte in so[start + 32 : start + size]:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def table(at):
    first, n = struct.unpack_from("<QQ", so, at)
    return start + first, n


assert checksum() == struct.unpack_from("<Q", so, start + 24)[0], "another form of module"
plans, nplans = table(start + 56 + 4 * 16)
plan = next(plans + 208 * i for i in range(nplans) if struct.unpack_from("<I", so, plans + 208 * i)[0] == ranks)
(workers, nworkers), (rows, nops) = (table(plan + 32 + 16 * k) for k in (2, 3))
ops = [list(OP.unpack_from(so, rows + OP.size * i)) for i in range(nops)]
for i in range(nworkers):
    _, first, _, _ = struct.unpack_from("<4I", so, workers + 16 * i)
    ops[first], ops[first + 1] = ops[first + 1], ops[first]
receives = {}
for row, op in enumerate(ops):
    receives.setdefault(op[0], []).append(row)
for op in ops:
    if op[1] != NONE:
        op[TO] = receives[op[1]].pop(0)
for i, op in enumerate(ops):
    OP.pack_into(so, rows + OP.size * i, *op)
struct.pack_into("<Q", so, start + 24, checksum())
open(out, "wb").write(so)
