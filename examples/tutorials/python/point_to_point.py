"""send, recv, isend, irecv and batch_isend_irecv: messages between two ranks."""

import torch
import torch.distributed as dist
from tutorial import run


def send_recv(rank, size):
    t = torch.zeros(1)
    if rank == 0:
        t += 1
        dist.send(t, dst=1)
    elif rank == 1:
        dist.recv(t, src=0)
    return t


def chain(rank, size):
    """With work between."""
    t = torch.tensor([100.0, 200.0]) if rank == 0 else torch.zeros(2)
    if rank > 0:
        dist.recv(t, src=rank - 1)
    if rank == 1:
        t *= 2
    if rank < size - 1:
        dist.send(t, dst=rank + 1)
    return t


def isend_irecv(rank, size):
    """The same without waiting: a tensor is in use until its handle was waited for."""
    t = torch.tensor([100.0, 200.0]) if rank == 0 else torch.zeros(2)
    steps = 0
    for source in range(size - 1):
        work = None
        if rank == source:
            work = dist.isend(t, dst=rank + 1)
        elif rank == source + 1:
            work = dist.irecv(t, src=rank - 1)
        steps += sum(1 for _ in range(1000))  # something else
        if work:
            work.wait()
        if source == 0 and rank == 1:
            t *= 2
    return t.tolist() + [steps]


def ten_isends(rank, size):
    """Messages of two ranks match in their order."""
    sent = [torch.tensor([i]) for i in range(10)]
    got = [torch.tensor([0]) for i in range(10)]
    works = []
    if rank == 0:
        works = [dist.isend(t, dst=2) for t in sent]
    elif rank == 2:
        works = [dist.irecv(t, src=0) for t in got]
    for work in works:
        work.wait()
    return sum(got)


def both_isend_first(rank, size):
    """Nobody waits before both have begun; with two sends, each might wait for the other."""
    t = torch.tensor([-1])
    work = dist.isend(torch.tensor([rank]), dst=1 - rank)
    dist.recv(t, src=1 - rank)
    work.wait()
    return t


def ring_exchange(rank, size):
    t = torch.tensor([-1])
    exchange = [
        dist.P2POp(dist.isend, torch.tensor([rank]), (rank + 1) % size),
        dist.P2POp(dist.irecv, t, (rank - 1) % size),
    ]
    for work in dist.batch_isend_irecv(exchange):
        work.wait()
    return t


run(send_recv, 4, lambda rank: [[1.0], [1.0], [0.0], [0.0]][rank])
run(chain, 3, lambda rank: [[100.0, 200.0], [200.0, 400.0], [200.0, 400.0]][rank])
run(isend_irecv, 3, lambda rank: [[100.0, 200.0], [200.0, 400.0], [200.0, 400.0]][rank] + [2000])
run(ten_isends, 3, lambda rank: [45 if rank == 2 else 0])
run(both_isend_first, 2, lambda rank: [1 - rank])
run(ring_exchange, 4, lambda rank: [(rank - 1) % 4])
