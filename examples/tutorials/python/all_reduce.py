"""all_reduce: every rank gets the sum, or the maximum, of what all have."""

import torch
import torch.distributed as dist
from tutorial import run


def all_reduce_sum(rank, size):
    t = torch.tensor([2.0 * rank])
    dist.all_reduce(t, op=dist.ReduceOp.SUM)
    return t


def all_reduce_max(rank, size):
    t = torch.tensor([2.0 * rank])
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    return t


def all_reduce_matrix(rank, size):
    t = torch.full((2, 5), float(rank))
    dist.all_reduce(t)
    return t


def parameter_server(rank, size):
    """By hand: the root collects, adds, broadcasts."""
    t = torch.tensor([2.0 * rank] * 2)
    parts = [torch.zeros(2) for _ in range(size)] if rank == 0 else None
    dist.gather(t, parts, dst=0)
    if rank == 0:
        t = torch.stack(parts).sum(0)
    dist.broadcast(t, src=0)
    return t


def all_reduce_int64(rank, size):
    """By a ring, with CCS_SCHEDULES=allreduce:ring_allreduce.ccs."""
    t = torch.ones(8, dtype=torch.int64)
    work = dist.all_reduce(t, async_op=True)
    work.wait()
    return t


def barrier(rank, size):
    """Nobody leaves before the last arrives."""
    dist.barrier()
    return [rank]


run(all_reduce_sum, 4, lambda rank: [12.0])
run(all_reduce_max, 4, lambda rank: [6.0])
run(all_reduce_matrix, 4, lambda rank: [[6.0] * 5] * 2)
run(parameter_server, 4, lambda rank: [12.0, 12.0])
run(all_reduce_int64, 4, lambda rank: [4] * 8)
run(barrier, 3, lambda rank: [rank])
