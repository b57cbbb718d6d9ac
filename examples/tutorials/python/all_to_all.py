"""all_to_all: every rank has something for every other."""

import torch
import torch.distributed as dist
from tutorial import run

# How many elements each rank sends to each, and what they are.
SPLITS = [[2, 2, 1, 1], [3, 2, 2, 2], [2, 1, 1, 1], [2, 2, 2, 1]]
ELEMENTS = [list(range(10 * rank, 10 * rank + sum(SPLITS[rank]))) for rank in range(4)]


def all_to_all_rows(rank, size):
    rows = torch.tensor([[10 * rank + d] * 2 for d in range(size)])
    got = torch.empty_like(rows)
    dist.all_to_all_single(got, rows)
    return got


def all_to_all_columns(rank, size):
    """Rows of the transposed matrix."""
    matrix = torch.tensor([[10 * rank + j for j in range(size)]] * 5)
    got = torch.empty(size, 5, dtype=torch.int64)
    dist.all_to_all_single(got, matrix.t().contiguous())
    return got.t()


def all_to_all_int64(rank, size):
    got = torch.empty(size, dtype=torch.int64)
    dist.all_to_all_single(got, torch.arange(4 * rank, 4 * rank + 4))
    return got


def all_to_all_uneven(rank, size):
    mine = torch.tensor(ELEMENTS[rank])
    receive = [row[rank] for row in SPLITS]
    got = torch.empty(sum(receive), dtype=torch.int64)
    dist.all_to_all_single(got, mine, receive, SPLITS[rank])
    return got


def uneven(rank):
    """What each rank has for this one, one after another."""
    before = [sum(row[:rank]) for row in SPLITS]
    return [e for q in range(4) for e in ELEMENTS[q][before[q] : before[q] + SPLITS[q][rank]]]


assert uneven(0) == [0, 1, 10, 11, 12, 20, 21, 30, 31]
run(all_to_all_rows, 4, lambda rank: [[10 * q + rank] * 2 for q in range(4)])
run(all_to_all_columns, 4, lambda rank: [[10 * q + rank for q in range(4)]] * 5)
run(all_to_all_int64, 4, lambda rank: [rank, 4 + rank, 8 + rank, 12 + rank])
run(all_to_all_uneven, 4, uneven)
