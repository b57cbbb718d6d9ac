"""What is made of all_reduce: a weighted sum, softmax and the L2 norm over ranks."""

import math

import torch
import torch.distributed as dist
from tutorial import run

RANKS = 4


def rounded(t):
    return [round(x, 5) for x in t.tolist()]


def weighted_sum(rank, size):
    t = torch.tensor([rank + 1.0, rank + 2.0, rank + 3.0]) * torch.tensor([0.3, 0.3, 0.4])
    dist.all_reduce(t)
    return rounded(t)


def softmax(rank, size):
    x = torch.tensor([rank + 1.0, rank + 2.0, rank + 3.0])
    most = x.clone()
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    e = torch.exp(x - most)
    total = e.clone()
    dist.all_reduce(total)
    return rounded(e / total)


def l2_norm(rank, size):
    x = torch.tensor([rank + 1.0, rank + 2.0, rank + 3.0])
    squares = x * x
    dist.all_reduce(squares)
    return rounded(x / squares.sqrt())


def want_sum(rank):
    return [round(w * sum(q + k for q in range(RANKS)), 5) for k, w in ((1, 0.3), (2, 0.3), (3, 0.4))]


def want_softmax(rank):
    return [round(math.exp(rank) / sum(math.exp(q) for q in range(RANKS)), 5)] * 3


def want_norm(rank):
    norms = [math.sqrt(sum((q + k) ** 2 for q in range(RANKS))) for k in (1, 2, 3)]
    return [round((rank + k) / norm, 5) for k, norm in zip((1, 2, 3), norms)]


run(weighted_sum, RANKS, want_sum)
run(softmax, RANKS, want_softmax)
run(l2_norm, RANKS, want_norm)
