"""What the programs here have in common: run() starts ranks, and compares what they return.

    python3 all_reduce.py gloo          # by PyTorch's own
    python3 all_reduce.py ccs           # by schedules; CCS_SCHEDULES says which

Each rank is a process, as torchrun would start it, but forked from this one, which has loaded
PyTorch already. PYTHONPATH must lead to the package ccs.
"""

import multiprocessing
import os
import sys
import tempfile
import traceback

import torch.distributed as dist

BACKEND = sys.argv[1] if len(sys.argv) > 1 else "gloo"
if BACKEND == "ccs":
    import ccs.torch  # makes the back end known

UNSUPPORTED = ("not support", "no support", "not implemented")


def _values(got):
    return got.tolist() if hasattr(got, "tolist") else got


def _rank(example, rank, size, store, answers):
    try:
        dist.init_process_group(BACKEND, init_method=f"file://{store}", rank=rank, world_size=size)
        got = _values(example(rank, size))
        dist.destroy_process_group()
        answers.put((rank, got, None))
    except Exception as error:  # pylint: disable=broad-except
        lacks = BACKEND != "ccs" and any(word in str(error) for word in UNSUPPORTED)
        answers.put((rank, None, "lacks" if lacks else traceback.format_exc()))


def run(example, ranks, wanted):
    """Runs example(rank, size) on so many ranks. What each returns, a tensor or a list, is
    printed; it must be wanted(rank)."""
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        processes = [
            fork.Process(target=_rank, args=(example, rank, ranks, store, answers))
            for rank in range(ranks)
        ]
        for process in processes:
            process.start()
        got = {rank: (value, error) for rank, value, error in (answers.get() for _ in processes)}
        for process in processes:
            process.join()
    if all(error == "lacks" for _, error in got.values()):
        print(f"{example.__name__}: {BACKEND} has no such call")
        return
    for rank in range(ranks):
        value, error = got[rank]
        if error:
            sys.exit(f"{example.__name__}, rank {rank}: {error}")
        print(f"{example.__name__}, rank {rank}: {value}")
        if value != wanted(rank):
            sys.exit(f"{example.__name__}, rank {rank}: {wanted(rank)} was wanted")
