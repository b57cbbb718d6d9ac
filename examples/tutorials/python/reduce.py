"""reduce, reduce_scatter: sums that one rank gets, or of which each gets a part."""

import torch
import torch.distributed as dist
from tutorial import run


def reduce_to_0(rank, size):
    t = torch.tensor([rank + 1])
    dist.reduce(t, dst=0, op=dist.ReduceOp.SUM)
    return t if rank == 0 else torch.tensor([rank + 1])


def reduce_vector(rank, size):
    t = torch.full((5,), rank)
    dist.reduce(t, dst=0)
    return t if rank == 0 else []


def reduce_scatter(rank, size):
    out = torch.zeros(1)
    dist.reduce_scatter(out, list(torch.tensor([[1.0, 2.0], [3.0, 4.0]][rank]).split(1)))
    return out


def reduce_scatter_rows(rank, size):
    rows = [torch.full((1, 5), 10 * rank + i) for i in range(size)]
    out = torch.zeros(1, 5, dtype=torch.int64)
    dist.reduce_scatter(out, rows)
    return out


def reduce_scatter_columns(rank, size):
    matrix = torch.tensor([[10 * rank + j for j in range(size)]] * 5)
    out = torch.zeros(5, 1, dtype=torch.int64)
    dist.reduce_scatter(out, [column.contiguous() for column in matrix.split(1, dim=1)])
    return out


def reduce_scatter_views(rank, size):
    """The columns as views, which are not contiguous."""
    matrix = torch.tensor([[10 * rank + j for j in range(size)]] * 5)
    out = torch.zeros(5, 1, dtype=torch.int64)
    dist.reduce_scatter(out, list(torch.split(matrix, 1, dim=1)))
    return out


def reduce_scatter_int64(rank, size):
    out = torch.zeros(2, dtype=torch.int64)
    dist.reduce_scatter(out, list(torch.arange(8).split(2)))
    return out


run(reduce_to_0, 2, lambda rank: [[3], [2]][rank])
run(reduce_vector, 4, lambda rank: [] if rank else [6] * 5)
run(reduce_scatter, 2, lambda rank: [[4.0], [6.0]][rank])
run(reduce_scatter_rows, 4, lambda rank: [[60 + 4 * rank] * 5])
run(reduce_scatter_columns, 4, lambda rank: [[60 + 4 * rank]] * 5)
run(reduce_scatter_views, 4, lambda rank: [[60 + 4 * rank]] * 5)
run(reduce_scatter_int64, 4, lambda rank: [8 * rank, 8 * rank + 4])
