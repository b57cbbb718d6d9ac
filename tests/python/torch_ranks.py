"""The back end for torch.distributed, in groups of processes (torch_harness.py)."""

import functools
import operator
import os
import sys
import warnings
from datetime import timedelta

warnings.simplefilter("ignore")

import torch
import torch.distributed as dist

import ccs
import ccs.torch
from torch_harness import breaks_its_group, has, raised, same, test
from torch_sparse import sparse_refused, sparse_sums, sparse_sums_by_gloo

TORCH_2 = not torch.__version__.startswith("1.")
MOVED = ["bool", "int16", "complex64", "float64"]
REDUCED = "int8 uint8 int16 int32 int64 float16 bfloat16 float32 float64".split()


# ---- collectives -----------------------------------------------------------------------------


def reductions(rank, n):
    t = torch.full((5,), float(rank + 1))
    dist.all_reduce(t)
    same(t, [n * (n + 1) / 2] * 5)
    t = torch.full((2, 3), rank + 1)
    dist.reduce(t, 1)
    same(t, [[n * (n + 1) // 2 if rank == 1 else rank + 1] * 3] * 2)
    out = torch.empty(2)
    dist.reduce_scatter(out, [torch.full((2,), float(10 * rank + q)) for q in range(n)])
    same(out, [sum(10 * r + rank for r in range(n))] * 2)
    dist.reduce_scatter_tensor(out, torch.arange(2.0 * n))
    same(out, [2.0 * n * rank, n * (2.0 * rank + 1)])
    pair = [torch.ones(3), torch.full((2,), float(rank))]
    dist.all_reduce_coalesced(pair)
    same(pair[0], [n] * 3)
    same(pair[1], [n * (n - 1) / 2] * 2)


def moves(rank, n):
    for name in MOVED:
        t = torch.full((3, 2), rank).to(getattr(torch, name))
        dist.broadcast(t, 1)
        assert (t == torch.full((3, 2), 1).to(t.dtype)).all(), name
    mine = torch.tensor([2 * rank, 2 * rank + 1])
    whole = torch.empty(2 * n, dtype=torch.int64)
    dist.all_gather_into_tensor(whole, mine)
    same(whole, list(range(2 * n)))
    parts = [torch.empty(2, dtype=torch.int64) for _ in range(n)]
    dist.all_gather(parts, mine)
    same(torch.cat(parts), list(range(2 * n)))
    lists = [[torch.empty(2), torch.empty(1)] for _ in range(n)]
    dist.all_gather_coalesced(lists, [torch.full((2,), rank + 0.5), torch.tensor([2.0 * rank])])
    same(torch.cat([torch.cat(parts) for parts in lists]), [
        value for r in range(n) for value in (r + 0.5, r + 0.5, 2.0 * r)
    ])
    parts = [torch.empty(2, dtype=torch.int64) for _ in range(n)] if rank == 1 else None
    dist.gather(mine, parts, dst=1)
    if rank == 1:
        same(torch.cat(parts), list(range(2 * n)))
    got = torch.empty(2, dtype=torch.int64)
    dist.scatter(got, parts, src=1)
    same(got, mine.tolist())
    dist.barrier()


def strided(rank, n):
    """Lists with any strides, and dense tensors with their dimensions in another order, on some
    ranks alone too: the elements are in the order of the tensor."""
    def columns(r):
        return torch.arange(4.0 * n).view(4, n) + r

    out = torch.empty(4, 1)
    dist.reduce_scatter(out, list(torch.split(columns(rank), 1, dim=1)))
    want = sum(columns(r) for r in range(n))
    assert torch.equal(out, want[:, rank : rank + 1])
    whole = torch.zeros(4, n)
    dist.all_gather(list(whole.split(1, dim=1)), out)
    assert torch.equal(whole, want)
    dist.scatter(out, list(columns(7).split(1, dim=1)) if rank == 1 else None, src=1)
    assert torch.equal(out, columns(7)[:, rank : rank + 1])
    whole = torch.zeros(4, n)
    dist.gather(out, list(whole.split(1, dim=1)) if rank == 1 else None, dst=1)
    assert torch.equal(whole, columns(7) if rank == 1 else torch.zeros(4, n))
    got = torch.zeros(4, n)
    dist.all_to_all(list(got.split(1, dim=1)), list(columns(rank).split(1, dim=1)))
    assert torch.equal(got, torch.stack([columns(q)[:, rank] for q in range(n)], 1))
    for t in (columns(rank), columns(rank).t().contiguous().t(), columns(rank)):
        dist.all_reduce(t)
        assert torch.equal(t, want)
    t = columns(rank).t() if rank else columns(rank).t().contiguous()
    dist.reduce(t, 1)
    assert torch.equal(t, want.t() if rank == 1 else columns(rank).t())
    dist.broadcast(t, 1)
    assert torch.equal(t, want.t())
    whole = torch.zeros(4, 2 * n).t()
    dist.all_gather_into_tensor(whole, torch.full((2, 4), float(rank)))
    assert torch.equal(whole, torch.arange(float(n)).repeat_interleave(2)[:, None].expand(2 * n, 4))
    dist.all_to_all_single(whole, torch.arange(8.0 * n).view(4, 2 * n).t() + rank)
    assert torch.equal(whole[::2], torch.stack([torch.arange(4.0) * 2 * n + 2 * rank + q for q in range(n)]))
    t = torch._neg_view(torch.full((3,), 2.0 + rank))  # its memory has others
    dist.broadcast(t, 1)
    same(t, [-3.0] * 3)
    parts = [torch.full((q, 2), 1.0 + rank) for q in range(n)]
    out = torch.zeros(2, rank).t()
    dist.reduce_scatter(out, parts)
    assert torch.equal(out, torch.full((rank, 2), n * (n + 1) / 2))
    has(ccs.torch.report(), f"ccs.torch: reduce: {n + 1} calls by binomial_reduce.ccs")


def objects(rank, n):
    got = [None] * n
    dist.all_gather_object(got, {"rank": rank})
    assert got == [{"rank": r} for r in range(n)]
    box = ["word"] if rank == 0 else [None]
    dist.broadcast_object_list(box, 0)
    assert box == ["word"]


def all_to_all(rank, n):
    out = torch.empty(n, dtype=torch.int64)
    dist.all_to_all_single(out, torch.arange(n) + n * rank)
    same(out, [n * q + rank for q in range(n)])
    # rank p sends p + q + 1 rows of two to rank q
    rows = [rank + q + 1 for q in range(n)]
    out = torch.full((sum(rows), 2), -1)
    give = torch.cat([torch.full((c, 2), 10 * rank + q) for q, c in enumerate(rows)])
    dist.all_to_all_single(out, give, rows, rows)
    same(out, [[10 * q + rank] * 2 for q, c in enumerate(rows) for _ in range(c)])
    outs = [torch.empty(c) for c in rows]
    dist.all_to_all(outs, [torch.full((c,), float(q)) for q, c in enumerate(rows)])
    assert all((o == rank).all() for o in outs)
    wide = torch.full((sum(rows),), 1 + 2j) * (rank + 1)
    out = torch.empty_like(wide)
    dist.all_to_all_single(out, wide, rows, rows)
    want = [(q + 1) * (1 + 2j) for q, c in enumerate(rows) for _ in range(c)]
    same(out, want)
    has(ccs.torch.report(), "ccs.torch: alltoallv: 3 calls by uneven_all_to_all.ccs\n")
    some = torch.arange(3) if rank == 0 else torch.empty(0, dtype=torch.int64)
    got = torch.empty(int(rank == 1) * 3, dtype=torch.int64)
    dist.all_to_all_single(  # most have nothing
        got, some, [3 * (rank == 1 and q == 0) for q in range(n)],
        [3 * (rank == 0 and q == 1) for q in range(n)],
    )
    same(got, [0, 1, 2] if rank == 1 else [])
    same_for_all = raised(
        ValueError, dist.all_to_all_single, torch.empty(n + (rank == 0)), torch.empty(n),
        [1 + (rank == 0)] + [1] * (n - 1), [1] * n,
    )
    assert same_for_all == "alltoall: rank 0 sends 1 elements to rank 0, which wants 2 from it"
    text = raised(
        ValueError, dist.all_to_all_single,
        *(torch.empty(n, dtype=torch.float32 if rank else torch.int32) for _ in range(2)),
    )
    assert text == "alltoall: rank 1 has torch.float32, rank 0 torch.int32"


def types_and_operators(rank, n):
    for name in REDUCED:
        kind = getattr(torch, name)
        for op, value in (("SUM", sum), ("MIN", min), ("MAX", max)):
            t = torch.full((3,), rank + 1).to(kind)
            dist.all_reduce(t, op=getattr(dist.ReduceOp, op))
            same(t, [value(range(1, n + 1))] * 3)
    bits = {"BAND": operator.and_, "BOR": operator.or_, "BXOR": operator.xor}
    for op, combine in bits.items():
        for kind in (torch.int16, torch.uint8, torch.int64, torch.bool):
            t = torch.tensor([rank + 1, 6, 3 * rank]).to(kind)
            dist.all_reduce(t, op=getattr(dist.ReduceOp, op))
            mine = [torch.tensor([r + 1, 6, 3 * r]).to(kind) for r in range(n)]
            same(t, functools.reduce(combine, mine).tolist())
    t = torch.tensor([rank == 1, False])
    dist.all_reduce(t)
    same(t, [True, False])
    dist.all_reduce(t, op=dist.ReduceOp.PRODUCT)
    same(t, [True, False])
    t = torch.tensor([2.0 * rank])
    dist.all_reduce(t, op=dist.ReduceOp.AVG)
    same(t, [n - 1.0])
    t = torch.tensor([rank + 1.0])
    factor = dist._make_nccl_premul_sum(0.5 * (rank + 1))
    if not factor.__getstate__():  # built without NCCL
        has(raised(ValueError, dist.all_reduce, t, factor), "does not give the factor")
    else:
        dist.all_reduce(t, op=factor)
        same(t, [sum(0.5 * (r + 1) ** 2 for r in range(n))])
    t = torch.ones(2, dtype=torch.complex64) * (1 + 2j)
    dist.all_reduce(t)
    same(t, [n * (1 + 2j)] * 2)


def lengths(rank, n):
    for count in (0, 1, 1000, 4097, 300_001):
        t = torch.arange(count, dtype=torch.int32) + rank
        dist.all_reduce(t)
        assert torch.equal(t, torch.arange(count, dtype=torch.int32) * n + n * (n - 1) // 2)
        whole = torch.empty(n * count, dtype=torch.uint8)
        dist.all_gather_into_tensor(whole, torch.full((count,), rank, dtype=torch.uint8))
        assert torch.equal(whole.view(n, count)[rank], torch.full((count,), rank).to(torch.uint8))


# ---- handles and groups ----------------------------------------------------------------------


def handles(rank, n):
    tensors = [torch.full((50_000,), float(i)) for i in range(20)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    works[-1].wait()
    assert all(w.is_completed() for w in works), "calls of a group run in their order"
    assert all((t == n * i).all() for i, t in enumerate(tensors))
    future = dist.all_reduce(torch.ones(2), async_op=True).get_future()
    same(future.then(lambda f: f.value()[0] + 1).wait(), [n + 1.0] * 2)
    work = dist.barrier(async_op=True)
    work.wait(timedelta(seconds=60))
    assert work.wait(), "waiting twice is allowed"
    work = dist.all_gather(  # no other reference to these
        [torch.empty(100_000) for _ in range(n)], torch.ones(100_000), async_op=True
    )
    torch.full((100_000,), 7.0)
    work.wait()
    assert all((t == 1).all() for t in work.result())


def a_late_rank(rank, n):
    group = dist.new_group(list(range(n)))
    if rank:
        dist.barrier()
        dist.all_reduce(torch.ones(1), group=group)
        return
    work = dist.all_reduce(torch.ones(1), group=group, async_op=True)
    has(raised(ccs.CcsError, work.wait, timedelta(milliseconds=20)), "not done within 0.02 s")
    assert not work.is_completed()
    dist.barrier()
    work.wait()


def groups(rank, n):
    pair = dist.new_group([0, 1])
    others = dist.new_group([n - 1])
    if rank < 2:
        t = torch.tensor([rank + 1])
        dist.all_reduce(t, group=pair)
        same(t, [3])
        dist.destroy_process_group(pair)
        has(raised(Exception, pair.allreduce, [t]), "destroyed") if TORCH_2 else None
    if rank == n - 1:
        t = torch.tensor([5])
        dist.all_reduce(t, group=others)
        same(t, [5])
    dist.barrier()


def who_is_missing(rank, n):
    world = dist.distributed_c10d._get_default_group()
    for _ in range(3):
        world.monitored_barrier(timedelta(seconds=60))
    if TORCH_2:
        dist.monitored_barrier()
    short = timedelta(milliseconds=300)
    if rank == 0:
        text = raised(RuntimeError, world.monitored_barrier, short)
        has(text, "Rank 2 failed to pass monitoredBarrier in 300 ms")
        text = raised(RuntimeError, world.monitored_barrier, short, wait_all_ranks=True)
        has(text, "Ranks 1, 2 failed to pass")
        has(ccs.torch.report(), "monitored_barrier: 1 call not run: Ranks 1, 2 failed")
    if rank == 1:  # it waits for rank 0, which knows
        text = raised(RuntimeError, world.monitored_barrier, timedelta(seconds=60))
        has(text, "Rank 1 successfully reached monitoredBarrier")
        has(text, "Rank 2 failed to pass")
    dist.barrier()


# ---- messages --------------------------------------------------------------------------------


def messages(rank, n):
    right, left = (rank + 1) % n, (rank - 1) % n
    if rank == 0:
        dist.send(torch.tensor([1.5, 2.5]), 1)
    if rank == 1:
        t = torch.zeros(2)
        assert dist.recv(t, 0) == 0
        same(t, [1.5, 2.5])
    for name in MOVED:  # all send first
        mine = torch.full((70_000,), rank).to(getattr(torch, name))
        got = torch.empty_like(mine)
        sent = dist.isend(mine, right)
        dist.irecv(got, left).wait()
        assert (got == torch.full((1,), left).to(got.dtype)).all(), name
        sent.wait(timedelta(seconds=60))
        assert sent.is_completed() and sent.is_success()
    got = torch.empty(3)
    ring = [dist.P2POp(dist.isend, torch.full((3,), float(rank)), right),
            dist.P2POp(dist.irecv, got, left)]
    for work in dist.batch_isend_irecv(ring):
        work.wait()
    same(got, [left] * 3)
    if rank == 0:
        for i in range(30):
            dist.isend(torch.full((1000,), float(i)), 1)  # no reference to these
    if rank == 1:
        parts = [torch.empty(1000) for _ in range(30)]
        works = [dist.irecv(t, 0) for t in parts]
        for work in reversed(works):
            work.wait()
        assert all((t == i).all() for i, t in enumerate(parts))
    dist.barrier()
    report = ccs.torch.report()
    has(report, f"ccs.torch: recv: {36 if rank == 1 else 5} calls by ccs_recv\n")
    has(report, "calls by ccs_send")


def messages_beside_calls(rank, n):
    """A call that waits for the peer holds up no message to it, in groups either."""
    group = dist.new_group([1, 0])
    if rank == 0:
        work = dist.all_reduce(torch.ones(1), async_op=True)
        dist.send(torch.tensor([7]), 1)
        work.wait()
    else:
        t = torch.tensor([0])
        dist.recv(t, 0)
        same(t, [7])
        dist.all_reduce(torch.ones(1))
    t = torch.tensor([rank])
    box = [None]
    if rank == 0:
        dist.send(t, 1, group=group)
        if TORCH_2:
            dist.send_object_list(["word"], 1)
    else:
        dist.recv(t, 0, group=group)
        same(t, [0])
        if TORCH_2:
            dist.recv_object_list(box, 0)
            assert box == ["word"]
    group.shutdown()
    has(raised(ccs.CcsError, group.send, [t], 1 - rank, 0), "destroyed")


def tagged_messages(rank, n):
    """Matched by tag, and from any rank; a message without a receive is kept."""
    if rank == 0:
        for tag in (2, 1, 0):
            dist.send(torch.full((1000,), float(tag)), 1, tag=tag)
    if rank == 1:
        t = torch.empty(1000)
        for tag in (0, 1, 2):
            dist.recv(t, 0, tag=tag)
            assert (t == tag).all()
    t = torch.full((2,), rank)
    if rank:
        for _ in range(4):
            dist.send(t, 0, tag=9)
    else:
        work = dist.irecv(t, tag=9)
        work.wait()
        senders = [work._source_rank()]
        assert (t == senders[0]).all()
        for _ in range(4 * (n - 1) - 1):
            senders.append(dist.recv(t, tag=9))
            assert (t == senders[-1]).all()
        assert sorted(senders) == sorted(4 * list(range(1, n)))
    ring = [dist.P2POp(dist.isend, torch.tensor([rank, tag]), (rank + 1) % n, tag=tag)
            for tag in (5, 6)]
    got = [torch.empty(2, dtype=torch.int64) for _ in (6, 5)]
    ring += [dist.P2POp(dist.irecv, got[i], (rank - 1) % n, tag=6 - i) for i in range(2)]
    for work in dist.batch_isend_irecv(ring):
        work.wait()
    same(torch.cat(got), [(rank - 1) % n, 6, (rank - 1) % n, 5])
    group = dist.new_group([1, 2], timeout=timedelta(seconds=1))
    if rank == 1:
        text = raised(RuntimeError, dist.recv, t, group=group, tag=4)
        has(text, "recv: the group's timeout has passed: no progress for 1000 ms")
        has(text, "rank 0 waits for any rank to send 2 of int64 to it, with tag 4")
    dist.barrier()


@breaks_its_group
def messages_refused(rank, n):
    t, peer = torch.ones(4, 4), 1 - rank
    has(raised(ValueError, dist.send, t.t(), peer), "not contiguous: give tensor.contiguous()")
    has(raised(ValueError, dist.isend, t, peer, tag=-3), "a tag must be from 0")
    world = dist.distributed_c10d._get_default_group()
    has(raised(ValueError, world.send, [t], 2, 0), "there is no rank 2 among 2")
    call = dist.recv if rank else dist.send
    text = raised(ccs.CcsError, call, torch.ones(4 + rank), peer)
    has(text, "rank 0 sends 4 of float32 to rank 1, which receives 5")
    text = raised(ccs.CcsError, call, torch.ones(4, dtype=torch.int32 if rank else None), peer)
    has(text, "of float32 to rank 1, which receives 4 of int32")
    report = ccs.torch.report()
    has(report, ("send", "recv")[rank] + ": 1 call not run: rank 0 sends 4 of float32")
    has(report, "send: 1 call not run: send: a tag must be from 0")
    call(t, peer)  # the group goes on
    dist.barrier()
    if rank == 1:
        os._exit(0)
    has(raised(ccs.CcsError, dist.recv, t, 1), "rank 1")


# ---- refusals --------------------------------------------------------------------------------


def refused(rank, n):
    t = torch.ones(4, 4)
    column = t[:, 1:2]
    for call in (dist.all_reduce, lambda t: dist.broadcast(t, 0), lambda t: dist.all_gather([t] * n, t)):
        has(raised(ValueError, call, column), "not contiguous, nor is one with its dimensions")
    same(t, torch.ones(4, 4).tolist())
    shared = torch.zeros(1).expand(4)
    text = raised(ValueError, dist.all_gather, [shared] * n, torch.ones(4))
    has(text, "elements of a tensor share memory")
    if hasattr(torch, "float8_e5m2fnuz"):
        odd = torch.zeros(4, dtype=torch.float8_e5m2fnuz)
        has(raised(TypeError, dist.all_reduce, odd), "cannot reduce float8_e5m2fnuz")
    has(raised(ValueError, dist.all_reduce, t.clone(), dist.ReduceOp.BAND), "BAND of float32")
    has(raised(TypeError, dist.broadcast, torch.empty(2, device="meta"), 0), "on meta")
    has(raised(TypeError, dist.all_reduce, torch.eye(3).to_sparse_csr()), "takes dense ones")
    has(raised(TypeError, dist.broadcast, torch.eye(3).to_sparse(), 0), "takes dense ones")
    parts = [torch.empty(2 + q) for q in range(n)]
    has(raised(ValueError, dist.all_gather, parts, torch.ones(2)), "rank 1 has 3 elements")
    has(ccs.torch.report(), "allreduce: 1 call not run: allreduce: a tensor is not contiguous")



@breaks_its_group
def calls_that_differ(rank, n):
    text = raised(ccs.CcsError, dist.all_reduce, torch.ones(4 + (rank == 1)))
    has(text, "calls differ")
    has(text, "count 5 of float32")
    told = [None] * n
    with open(os.environ["SAID"] + str(rank), "w") as file:
        file.write(text)
    has(raised(ccs.CcsError, dist.all_reduce, torch.ones(4)), "calls differ")
    work = dist.barrier(async_op=True)
    has(raised(RuntimeError, work.get_future().wait), "calls differ")


@breaks_its_group
def types_that_differ(rank, n):
    kind = torch.int32 if rank else torch.float32

    def two_calls():  # a root that has sent may be done before others look
        dist.broadcast(torch.ones(4, dtype=kind), 0)
        dist.barrier()

    has(raised(ccs.CcsError, two_calls), "calls differ")


@breaks_its_group
def a_rank_that_ends(rank, n):
    if rank == 1:
        os._exit(0)
    text = raised(ccs.CcsError, dist.all_reduce, torch.ones(4))
    has(text, "rank 1")


# ---- CCS_SCHEDULES ---------------------------------------------------------------------------


def by_what(rank, n):
    for count in (4, 400, 400_000):
        t = torch.ones(count)
        dist.all_reduce(t)
        assert (t == n).all()
    dist.barrier()
    report = ccs.torch.report()
    ring = os.environ["RING"]
    has(report, f"ccs.torch: allreduce: 1 call by {ring}\n")
    has(report, "ccs.torch: allreduce: 1 call by one_shot_allreduce.ccs\n")
    has(report, "ccs.torch: allreduce: 1 call by ring_allreduce.ccs\n")
    has(report, "ccs.torch: gather: 0 calls by gloo, as CCS_SCHEDULES says\n")
    has(report, "ccs.torch: barrier: 1 call by dissemination_barrier.ccs\n")


def by_a_tuning(rank, n):
    for count in (4, 400_000):
        t = torch.ones(count)
        dist.all_reduce(t)
        assert (t == n).all()
    dist.broadcast(t, 0)  # of which it has nothing
    report = ccs.torch.report()
    has(report, "ccs.torch: allreduce: 1 call by rd.so, tile auto\n")
    has(report, "ccs.torch: allreduce: 1 call by ring.so, tile 4K\n")
    has(report, "ccs.torch: broadcast: 1 call by binomial_broadcast.ccs\n")


def by_gloo(rank, n):
    moves(rank, n)
    has(raised(ValueError, dist.all_reduce, torch.ones(4, 2).t()), "not contiguous")
    t = torch.tensor([float(rank)])
    dist.all_reduce(t)
    same(t, [n * (n - 1) / 2])
    if rank == 0:
        dist.send(torch.tensor([1.0]), 1)
    if rank == 1:
        dist.recv(t, 0)
        same(t, [1.0])
    report = ccs.torch.report()
    has(report, "allreduce: 1 call by gloo, as CCS_SCHEDULES says")
    has(report, "allgather: 4 calls by gloo")
    has(report, "broadcast: 4 calls by binomial_broadcast.ccs")
    if rank < 2:
        has(report, ("send", "recv")[rank] + ": 1 call by gloo")


def without_plan(rank, n):
    text = raised(ccs.CcsError, dist.all_reduce, torch.ones(1))
    has(text, f"has no plan for {n} ranks")
    has(raised(ccs.CcsError, dist.broadcast, torch.ones(1), 0), "implements allreduce")
    has(ccs.torch.report(), "allreduce: 1 call not run: CCS_SCHEDULES: allreduce:")
    dist.barrier()  # others are as before


WRONG = {
    "allreduce": "is not COLLECTIVE:FILE",
    "allredoce:ring.so": "no such collective",
    "allreduce:ring.txt": "must be a .so",
    "allreduce:ring.so@64k-": "is not a range of sizes",
    "allreduce:ring.so@64K": "a range has a -",
    "allreduce:ring.so -D X=2": "-D is for a .ccs",
    "allreduce:gloo -DX=2": "-D is for a .ccs",
    "allreduce:ring.ccs -D X@1K-": "write -D NAME=NUMBER",
    "allreduce:ring.ccs -D": "write -D NAME=NUMBER",
    "allreduce:ring.so@2-1": "FROM is larger",
    "p2p:ring.so": "p2p:gloo alone",
    "@": "is not COLLECTIVE:FILE",
}


def wrong_texts():
    from ccs.torch.schedules import Schedules, parse

    for text, why in WRONG.items():
        has(raised(ValueError, parse, text), why)
    part = parse("reduce_scatter_block:a.so@1K-2M")[0]
    assert (part.collective, part.least, part.most) == ("reduce_scatter", 1024, 2 << 20)
    lost = Schedules("allreduce:no_such_file.ccs,barrier:/no/such.so")
    has(raised(ccs.CcsError, lost.choose, "allreduce", 2, 8), "library's are looked for in")
    has(raised(ccs.CcsError, lost.choose, "barrier", 2, 0), "/no/such.so")
    lost = Schedules("@/no/such.tuning")
    has(raised(ccs.CcsError, lost.choose, "barrier", 2, 0), "CCS_SCHEDULES: @/no/such.tuning: ")
    swapped = Schedules("alltoall:uneven_all_to_all.ccs,alltoallv:pairwise_all_to_all.ccs")
    has(raised(ccs.CcsError, swapped.choose, "alltoall", 2, 8), "name it for alltoallv")
    has(raised(ccs.CcsError, swapped.choose, "alltoallv", 2, 8), "name it for alltoall")


def refused_hosts():
    from ccs.torch import meet

    place, far = (lambda rank, size: meet.Place(f"host {rank % 2}", rank, size)), meet.Place("far")
    assert meet.Place.read(place(1, 2).text()) == place(1, 2)
    for places, why in (
        ([place(0, 2), far], "start all ranks with mpirun, as rank 1 was not"),
        ([place(0, 3), place(0, 3), place(1, 3)], "start all ranks with one mpirun"),
        ([place(0, 2), place(1, 3)], "start all ranks with one mpirun"),
        ([place(0, 4), place(1, 4)], "must have all 4 processes that mpirun has started, and it has 2"),
    ):
        text = raised(ccs.CcsError, meet._by_mpi, None, 0, places, 0)
        has(text, "are on different hosts, which the back end ccs connects by MPI: ")
        has(text, why)
        has(text, "new_group(backend='gloo')")


def numbers_of_parameters():
    from ccs.torch.schedules import Schedules

    ring = "allreduce:ring2d_allreduce.ccs"
    said = Schedules(f"{ring} -D X=5 -DX=1@-1K,{ring}")
    first, second = (said.choose("allreduce", 6, block) for block in (1024, 1025))
    assert first.label == "ring2d_allreduce.ccs -D X=5 -D X=1", first.label
    for choice, x in (first, 1), (second, 2):
        same_numbers = ccs.compile("ring2d_allreduce", 6, options=["-D", f"X={x}"])
        assert choice.module.plans == same_numbers.plans
    assert first.module.plans != second.module.plans
    wrong = Schedules(f"{ring} -D X=5")
    has(raised(ccs.CcsError, wrong.choose, "allreduce", 6, 8), "ring2d_allreduce.ccs -D X=5: ")


# ---- what torch builds on it -----------------------------------------------------------------


def losses(rank, n, group):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(10, 20), torch.nn.ReLU(), torch.nn.Linear(20, 1))
    model = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
    step = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(100 + rank)
    got = []
    for _ in range(6):
        x = torch.randn(8, 10)
        step.zero_grad()
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        step.step()
        got.append(loss.item())
    return got


def ddp(rank, n):
    mine = losses(rank, n, None)
    theirs = losses(rank, n, dist.new_group(backend="gloo"))
    assert mine == theirs, f"{mine} by ccs, {theirs} by gloo"
    assert len(set(mine)) == 6


def mesh(rank, n):
    from torch.distributed.device_mesh import init_device_mesh

    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
    t = torch.tensor([rank])
    dist.all_reduce(t, group=grid.get_group("columns"))
    same(t, [1 if rank < 2 else 5])
    import torch.distributed._functional_collectives as functional

    t = functional.all_reduce(torch.ones(2), "sum", grid["rows"])
    same(t + 0, [2.0, 2.0])


# ---- running them ----------------------------------------------------------------------------


def main(folder):
    ring = os.path.join(folder, "ring.so")
    done = []
    wrong_texts()
    print("ok - what CCS_SCHEDULES may say", flush=True)
    numbers_of_parameters()
    print("ok - CCS_SCHEDULES sets parameters", flush=True)
    refused_hosts()
    print("ok - ranks on several hosts that no mpirun has started", flush=True)
    for function in (reductions, moves, strided, objects, all_to_all, types_and_operators, lengths):
        done.append(test(function, 3, folder))
    done.append(test(sparse_sums, 3, folder))
    done.append(test(sparse_sums_by_gloo, 2, folder, CCS_SCHEDULES="allgather:gloo"))
    done.append(test(sparse_refused, 3, folder))
    done.append(test(messages, 3, folder))
    done.append(test(tagged_messages, 3, folder))
    done.append(test(who_is_missing, 3, folder))
    for function in (messages_beside_calls, messages_refused):
        done.append(test(function, 2, folder))
    for function in (handles, a_late_rank, groups, refused, types_that_differ, a_rank_that_ends):
        done.append(test(function, 2, folder))
    said = os.path.join(folder, "said")
    done.append(test(calls_that_differ, 2, folder, SAID=said))
    with open(said + "0") as zero, open(said + "1") as one:
        alike = zero.read() == one.read()
    print("ok" if alike else "not ok", "- ... all ranks say the same", flush=True)
    text = f"allreduce:{ring}@-16,allreduce:one_shot_allreduce.ccs@17-1600,gather:gloo"
    done.append(test(by_what, 2, folder, CCS_SCHEDULES=text, RING=ring))
    for text in (f"@{folder}/host.tuning", f"allreduce:{ring}@1G-,@{folder}/host.tuning"):
        done.append(test(by_a_tuning, 2, folder, CCS_SCHEDULES=text))
    text = "allreduce:gloo,allgather:gloo,gather:gloo,p2p:gloo"
    done.append(test(by_gloo, 3, folder, CCS_SCHEDULES=text))
    text = f"allreduce:{ring},broadcast:{ring}"
    done.append(test(without_plan, 3, folder, CCS_SCHEDULES=text))
    done.append(test(ddp, 2, folder))
    if TORCH_2:
        done.append(test(mesh, 4, folder))
    else:
        print("skip - DeviceMesh: this PyTorch,", torch.__version__ + ", has none")
    return 0 if all(done) and alike else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
