"""Collectives by hand, from sends and receives, or from other collectives."""

import torch
import torch.distributed as dist
from tutorial import run


def star_broadcast(rank, size):
    """The root sends to one rank after the other: N - 1 steps; broadcast takes clog2(N) by a tree."""
    t = torch.tensor([100, 100]) if rank == 0 else torch.zeros(2, dtype=torch.int64)
    if rank == 0:
        for q in range(1, size):
            dist.send(t, dst=q)
    else:
        dist.recv(t, src=0)
    return t


def gather_and_broadcast(rank, size):
    """all_gather: every block goes by way of rank 0."""
    mine = torch.tensor([1 + 2 * rank, 2 + 2 * rank])
    blocks = torch.empty(size, 2, dtype=torch.int64)
    dist.gather(mine, list(blocks) if rank == 0 else None, dst=0)
    dist.broadcast(blocks, src=0)
    return blocks.flatten()


def reduce_and_scatter(rank, size):
    """reduce_scatter: every sum goes by way of rank 0."""
    numbers = torch.arange(2 * size)
    dist.reduce(numbers, dst=0)
    mine = torch.zeros(2, dtype=torch.int64)
    dist.scatter(mine, list(numbers.split(2)) if rank == 0 else None, src=0)
    return mine


def ring(rank, size, first):
    """all_reduce around a ring; the ranks of `first` send first, the rest receive first."""
    t = torch.ones(size, dtype=torch.int64)
    for s in range(2 * (size - 1)):
        out = t[(rank - s) % size].reshape(1).clone()
        got = torch.zeros(1, dtype=torch.int64)
        if rank in first:
            dist.send(out, dst=(rank + 1) % size)
        dist.recv(got, src=(rank - 1) % size)
        if rank not in first:
            dist.send(out, dst=(rank + 1) % size)
        if s < size - 1:
            t[(rank - s - 1) % size] += got.item()
        else:
            t[(rank - s - 1) % size] = got.item()
    return t


def ring_rank_0_first(rank, size):
    """2N(N - 1) steps: each message waits for the one before it."""
    return ring(rank, size, {0})


def ring_even_ranks_first(rank, size):
    """4(N - 1) steps."""
    return ring(rank, size, range(0, size, 2))


run(star_broadcast, 4, lambda rank: [100, 100])
run(gather_and_broadcast, 4, lambda rank: list(range(1, 9)))
run(reduce_and_scatter, 4, lambda rank: [8 * rank, 8 * rank + 4])
run(ring_rank_0_first, 4, lambda rank: [4] * 4)
run(ring_even_ranks_first, 4, lambda rank: [4] * 4)
