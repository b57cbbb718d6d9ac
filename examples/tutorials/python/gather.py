"""gather, all_gather, scatter: parts that come to one rank, or to all, or go out from one."""

import torch
import torch.distributed as dist
from tutorial import run

COLUMNS = [[0, 1, 10, 11, 20, 21, 30, 31]] * 5


def gather_rows(rank, size):
    row = torch.full((1, 5), rank)
    rows = [torch.empty_like(row) for _ in range(size)] if rank == 0 else None
    dist.gather(row, rows, dst=0)
    return torch.cat(rows) if rank == 0 else []


def gather_columns(rank, size):
    mine = torch.tensor([[10 * rank, 10 * rank + 1]] * 5)
    parts = [torch.empty_like(mine) for _ in range(size)] if rank == 0 else None
    dist.gather(mine, parts, dst=0)
    return torch.cat(parts, dim=1) if rank == 0 else []


def all_gather_rows(rank, size):
    row = torch.full((1, 5), rank)
    rows = [torch.empty_like(row) for _ in range(size)]
    dist.all_gather(rows, row)
    return torch.cat(rows)


def all_gather_columns(rank, size):
    mine = torch.tensor([[10 * rank, 10 * rank + 1]] * 5)
    parts = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(parts, mine)
    return torch.cat(parts, dim=1)


def all_gather_int64(rank, size):
    mine = torch.tensor([1 + 2 * rank, 2 + 2 * rank])
    parts = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(parts, mine)
    return torch.cat(parts)


def scatter_rows(rank, size):
    rows = [torch.full((5,), float(q)) for q in range(size)] if rank == 0 else None
    mine = torch.zeros(5)
    dist.scatter(mine, rows, src=0)
    return mine


def scatter_pairs(rank, size):
    pairs = [torch.tensor([10 * q, 10 * q + 1]) for q in range(size)] if rank == 0 else None
    mine = torch.zeros(2, dtype=torch.int64)
    dist.scatter(mine, pairs, src=0)
    return mine


run(gather_rows, 4, lambda rank: [] if rank else [[q] * 5 for q in range(4)])
run(gather_columns, 4, lambda rank: [] if rank else COLUMNS)
run(all_gather_rows, 4, lambda rank: [[q] * 5 for q in range(4)])
run(all_gather_columns, 4, lambda rank: COLUMNS)
run(all_gather_int64, 4, lambda rank: list(range(1, 9)))
run(scatter_rows, 4, lambda rank: [float(rank)] * 5)
run(scatter_pairs, 3, lambda rank: [10 * rank, 10 * rank + 1])
