"""Objects: anything that pickle takes travels as bytes, by the collectives of tensors."""

import torch.distributed as dist
from tutorial import run

OBJECTS = ["foo", 12, {1: 2}]


def broadcast_object_list(rank, size):
    got = list(OBJECTS) if rank == 0 else [None] * 3
    dist.broadcast_object_list(got, src=0)
    return got


def all_gather_object(rank, size):
    got = [None] * size
    dist.all_gather_object(got, OBJECTS[rank])
    return got


run(broadcast_object_list, 3, lambda rank: OBJECTS)
run(all_gather_object, 3, lambda rank: OBJECTS)
