"""The back end for torch.distributed over several hosts, by MPI: four ranks that mpirun has started,
two on each host. With `pretend` all are on one host, and only believe that they are not.

usage: mpirun -np 4 python3 torch_mpi.py FOLDER [pretend]"""

import os
import sys

from torch_harness import breaks_its_group, has, one_rank, raised, same
import torch
import torch.distributed as dist

import ccs
import ccs.torch
from ccs.torch import meet, tally
from torch_ranks import (
    TORCH_2,
    a_late_rank,
    all_to_all,
    groups,
    handles,
    lengths,
    mesh,
    messages,
    moves,
    objects,
    reductions,
    refused,
    strided,
    types_and_operators,
)
from torch_sparse import sparse_sums


def engine_of(group):
    return group._comm.engine


def groups_over_hosts(rank, n):
    """A group over both hosts is by MPI, and one of a host over its memory; whatever the order."""
    assert engine_of(dist.distributed_c10d._get_default_group()) == "mpi"
    for ranks, engine in ([3, 0], "mpi"), ([0, 1], "procs"), ([1, 2, 3], "mpi"), ([2, 3], "procs"):
        group = dist.new_group(ranks)
        if rank in ranks:
            assert engine_of(group) == engine, (ranks, engine_of(group))
            t = torch.tensor([10.0**rank])
            dist.all_reduce(t, group=group)
            same(t, [sum(10.0**r for r in ranks)])
            work = dist.all_reduce(torch.ones(3), group=group, async_op=True)
            t = torch.tensor([rank])
            if rank == ranks[0]:
                dist.send(t, ranks[-1], group=group)
            elif rank == ranks[-1]:
                dist.recv(t, ranks[0], group=group)
                same(t, [ranks[0]])
            work.wait()
    dist.barrier()


def messages_by_themselves(rank, n):
    """A rank that has begun to send, and waits in a call, holds up no other rank."""
    right, left = (rank + 1) % n, (rank - 1) % n
    mine, got = torch.full((500_000,), float(rank)), torch.empty(500_000)
    work = dist.isend(mine, right)
    if rank % 2:
        dist.recv(got, left)
        dist.barrier()
    else:
        dist.barrier()
        dist.recv(got, left)
    work.wait()
    assert (got == left).all()
    has(raised(ccs.CcsError, dist.send, mine, right, tag=3), "messages have no tags here")
    has(raised(ccs.CcsError, dist.recv, got), "a receive must name its peer")


def by_a_tuning(rank, n):
    t = torch.ones(100)
    dist.all_reduce(t)
    same(t, [n] * 100)
    has(ccs.torch.report(), "ccs.torch: allreduce: 1 call by ring4.so, tile 4K\n")


by_a_tuning.schedules = "@{folder}/mpi.tuning"


@breaks_its_group
def sends_in_a_circle(rank, n):
    dist.distributed_c10d._get_default_group().set_timeout(meet.timedelta(seconds=8))
    text = raised(RuntimeError, dist.send, torch.ones(2), (rank + 1) % n)
    for r in range(n):
        has(text, f"rank {r} waits for rank {(r + 1) % n} to receive 2 of float32 from it")


@breaks_its_group
def a_rank_that_fails(rank, n):
    """The other ranks' calls have its exception's text."""
    if rank == 1:
        dist.distributed_c10d._get_default_group()._comm.abort("out of luck")
    text = raised(ccs.CcsError, dist.all_reduce, torch.ones(4))
    has(text, "rank 1 aborted the communicator: out of luck")


TESTS = [
    groups_over_hosts, messages_by_themselves, reductions, moves, strided, objects, all_to_all,
    types_and_operators, lengths, sparse_sums, messages, handles, a_late_rank, groups, refused,
    by_a_tuning,
    sends_in_a_circle, a_rank_that_fails,
]


def main(folder, pretend):
    place = meet.Place.here()
    rank, n = place.rank, place.size
    if pretend:
        meet.host = lambda: f"host {rank // 2}"
    right = True
    for test in TESTS + [mesh] * TORCH_2:
        ccs.torch._tally = tally.Tally()  # a report for each
        os.environ["CCS_SCHEDULES"] = getattr(test, "schedules", "").format(folder=folder)
        ccs.torch._schedules.cache_clear()
        status = one_rank(rank, n, test, os.path.join(folder, f"store-{test.__name__}"))
        if dist.is_initialized():  # of a test that has failed, or that breaks its group
            dist.destroy_process_group()
        meet._job.set_timeout(100)
        statuses = [byte[0] for byte in meet._job.gather(bytes([status]))]
        if rank == 0:
            print("not ok" if any(statuses) else "ok", "-", test.__name__.replace("_", " "),
                  flush=True)
        right &= not any(statuses)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:] == ["pretend"]))
