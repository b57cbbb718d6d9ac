"""How a group of ranks begins: env://, tcp://, mp.spawn, a world of one; begins again after its end; has groups
of another back end, and a mesh. As any program that mp.spawn starts, it is guarded by __name__.

    python3 starting.py ccs
"""

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from tutorial import BACKEND

RANKS = 4


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def total(rank, group=None):
    t = torch.tensor([rank + 1])
    dist.all_reduce(t, group=group)
    return t.item()


def check(what, rank, got, wanted):
    sys.stdout.write(f"{what}, rank {rank}: {got}\n")
    if got != wanted:
        sys.exit(f"{what}, rank {rank}: {wanted} was wanted")


def by_env(rank, port):
    """What torchrun does."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group(BACKEND)  # env:// is the default
    check("env", rank, total(rank), 10)
    check("group of gloo", rank, total(rank, dist.new_group(backend="gloo")), 10)
    pair = dist.new_group([1, 3])
    if rank in (1, 3):
        check("pair", rank, total(rank, pair), 6)
        if hasattr(dist, "get_process_group_ranks"):
            check("ranks of the pair", rank, dist.get_process_group_ranks(pair), [1, 3])
    dist.destroy_process_group()


def by_tcp(rank, port):
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group(BACKEND, init_method=address, rank=rank, world_size=RANKS)
    check("tcp", rank, total(rank), 10)
    if hasattr(dist, "init_device_mesh"):  # from PyTorch 2.2 on
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
        check("columns of the mesh", rank, total(rank, mesh.get_group("columns")), 3 if rank < 2 else 7)
    dist.destroy_process_group()


def rank_main(rank, ports):
    by_env(rank, ports[0])
    by_tcp(rank, ports[1])


if __name__ == "__main__":
    mp.spawn(rank_main, args=([free_port(), free_port()],), nprocs=RANKS)
    dist.init_process_group(BACKEND, init_method=f"tcp://127.0.0.1:{free_port()}", rank=0, world_size=1)
    check("a world of one", 0, total(0), 1)
    dist.destroy_process_group()
