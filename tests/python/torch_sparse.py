"""Sums of sparse tensors, against sums of the same as dense ones."""

from datetime import timedelta

import torch
import torch.distributed as dist

import ccs
import ccs.torch
from torch_harness import breaks_its_group, has, raised, same


def drawn(rank, shape, sparse, entries, dtype):
    """A rank's tensor with that number of entries, some at one place; the same in every process."""
    torch.manual_seed(100 * rank + 7 * sum(shape) + entries)
    places = torch.stack([torch.randint(size, (entries,)) for size in shape[:sparse]])
    values = torch.randn([entries, *shape[sparse:]]).mul(100).to(dtype)
    return torch.sparse_coo_tensor(places, values, shape)


def summed(rank, n, shape, sparse, entries, dtype):
    """What all_reduce gives, and the sum of the dense ones, in the order of ranks."""
    t = drawn(rank, shape, sparse, entries(rank), dtype)
    dist.all_reduce(t)
    want = drawn(0, shape, sparse, entries(0), dtype).to_dense()
    for r in range(1, n):
        want = want + drawn(r, shape, sparse, entries(r), dtype).to_dense()
    assert t.is_sparse and t.is_coalesced() and t.shape == want.shape and t.dtype == dtype
    same(t.to_dense(), want.tolist())


def sparse_sums(rank, n):
    for dtype in (torch.float32, torch.float64, torch.int64):
        for shape, sparse in (((9,), 1), ((4, 5), 2), ((4, 5), 1), ((3, 2, 4), 2)):
            for entries in (lambda r: 3, lambda r: 5 * r, lambda r: 7 if r == 1 else 0):
                summed(rank, n, shape, sparse, entries, dtype)
    summed(rank, n, (6,), 1, lambda r: 0, torch.float32)  # no rank has any
    t = torch.eye(n).to_sparse()
    work = dist.all_reduce(t, async_op=True)
    work.wait()
    same(t.to_dense(), (n * torch.eye(n)).tolist())
    model = torch.nn.Embedding(8, 2, sparse=True)  # as gradients are
    model(torch.tensor([rank, 7])).sum().backward()
    dist.all_reduce(model.weight.grad)
    want = [[float(q < n)] * 2 for q in range(7)] + [[float(n)] * 2]
    same(model.weight.grad.to_dense(), want)
    has(ccs.torch.report(), "ccs.torch: allgather: ")
    has(ccs.torch.report(), " calls by bruck_allgather.ccs")


def sparse_sums_by_gloo(rank, n):
    summed(rank, n, (4, 5), 1, lambda r: r + 1, torch.float32)
    has(ccs.torch.report(), "allgather: 2 calls by gloo, as CCS_SCHEDULES says")


@breaks_its_group
def sparse_refused(rank, n):
    t = torch.eye(3).to_sparse()
    has(raised(ValueError, dist.all_reduce, t, dist.ReduceOp.MAX), "ReduceOp.SUM of numbers alone")
    text = raised(ValueError, dist.all_reduce, torch.eye(3 + (rank == 1)).to_sparse())
    has(text, "rank 1 has a sparse tensor, float32 of shape (4, 4) with 2 sparse dimensions")
    has(text, "rank 0 one of float32 of shape (3, 3)")
    dist.all_reduce(t)  # the group goes on
    same(t.to_dense(), (n * torch.eye(3)).tolist())
    mixed = torch.eye(3) if rank == 1 else t  # dense on one
    group = dist.new_group(timeout=timedelta(seconds=2))
    text = raised(ccs.CcsError, dist.all_reduce, mixed, group=group)
    # The first rank that times out reports to all: one that gathers, or the one that reduces.
    gathers = "for 2000 ms rank 1 has not called ccs_comm_gather, as rank"
    reduces = "no progress for 2000 ms: rank 0 has not called; "
    assert gathers in text or (reduces in text and "rank 1 waits at " in text), text
