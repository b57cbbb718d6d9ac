"""broadcast: what one rank has, all get."""

import torch
import torch.distributed as dist
from tutorial import run


def broadcast(rank, size):
    t = torch.full((4,), 42.0) if rank == 0 else torch.zeros(4)
    dist.broadcast(t, src=0)
    return t


def two_in_a_row(rank, size):
    first = torch.tensor([1, 2, 3, 4, 5]) if rank == 0 else torch.zeros(5, dtype=torch.int64)
    second = torch.tensor([10, 20, 30]) if rank == 1 else torch.zeros(3, dtype=torch.int64)
    dist.broadcast(first, src=0)
    dist.broadcast(second, src=1)
    return torch.cat([first, second])


run(broadcast, 2, lambda rank: [42.0] * 4)
run(two_in_a_row, 3, lambda rank: [1, 2, 3, 4, 5, 10, 20, 30])
