#!/usr/bin/env python3
"""Runs a text in PyTorch: a process a rank, over gloo, a layer a stage. Each rank's gradients are those of the same layers in
one process. usage: torch_run.py TEXT RANKS MICROBATCHES STAGE...     the stages are those of rank 0, then of rank 1, ..."""
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

WIDTH, ROWS = 8, 3


def layers(count):
    torch.manual_seed(1)
    return [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()) for _ in range(count)]


def loss(got, want):
    return ((got - want) ** 2).mean()


def rank_main(rank, folder, path, ranks, microbatches, placed):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    count, each = len(placed), len(placed) // ranks
    own, alone = layers(count), layers(count)
    stages = [PipelineStage(own[s], s, count, torch.device("cpu")) for s in placed[rank * each:(rank + 1) * each]]
    runtime = _PipelineScheduleRuntime(stages, microbatches, loss_fn=loss)
    runtime._load_csv(path, format="compute_comms")
    inputs, targets = torch.randn(2, ROWS * microbatches, WIDTH)
    mine = placed[rank * each:(rank + 1) * each]
    runtime.step(*([inputs] if 0 in mine else []), target=targets if count - 1 in mine else None, losses=[])
    for a, b in zip(inputs.chunk(microbatches), targets.chunk(microbatches)):
        (loss(torch.nn.Sequential(*alone)(a), b) / microbatches).backward()
    for s in mine:
        for got, want in zip(own[s].parameters(), alone[s].parameters()):
            torch.testing.assert_close(got.grad, want.grad)
    dist.destroy_process_group()


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    text_path, world, mbs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(rank_main, (folder, text_path, world, mbs, list(map(int, sys.argv[4:]))), nprocs=world)
    print("the gradients are right")
