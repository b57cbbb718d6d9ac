"""Ranks that do not arrive: PyTorch's own analyser of flight recorders, unaltered, names the missing rank from the files that
ccs.torch has written, and the line of the schedule at which the other ranks wait.
usage: torch_recorder.py FOLDER STALLS SEED     the number of stalls with 4 ranks, and with 8"""

import os
import pickle
import random
import re
import sys
import time
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

import ccs.torch  # noqa: F401

try:
    from torch.distributed.flight_recorder import fr_trace
except ImportError:
    fr_trace = None


def reduce_scatter(t, n):
    dist.reduce_scatter_tensor(t, t.repeat(n))


CALLS = {
    "all_reduce": lambda t, n: dist.all_reduce(t),
    "broadcast": lambda t, n: dist.broadcast(t, 0),
    "all_gather": lambda t, n: dist.all_gather([torch.empty_like(t) for _ in range(n)], t),
    "reduce_scatter": reduce_scatter,
    "all_to_all": lambda t, n: dist.all_to_all_single(torch.empty(n), torch.ones(n)),
    "barrier": lambda t, n: dist.barrier(),
    "all_reduce of several": lambda t, n: dist.all_reduce_coalesced([t, torch.ones(3)]),
    "all_reduce, asynchronous": lambda t, n: dist.all_reduce(t, async_op=True).wait(),
}
# In these every rank waits for every other one.
STALLS = ("all_reduce", "all_gather", "reduce_scatter", "barrier", "all_reduce, asynchronous")


def one_rank(rank, n, rng, missing, folder):
    """All ranks have the same numbers of `rng`."""
    os.environ["TORCH_NCCL_DEBUG_INFO_TEMP_FILE" if rng.random() < 0.5 else "TORCH_FR_DUMP_TEMP_FILE"] = folder + "/files/rank_"
    dist.init_process_group("ccs", init_method=f"file://{folder}/store", rank=rank, world_size=n, timeout=timedelta(seconds=30))
    group = dist.new_group(list(range(n)), timeout=timedelta(seconds=2)) if rng.random() < 0.3 else dist.group.WORLD
    for _ in range(rng.choice((0, 1, 5, 20))):
        CALLS[rng.choice(list(CALLS))](torch.ones(rng.randint(1, 5000)), n)
    dist.barrier()
    dist.distributed_c10d._get_default_group().set_timeout(timedelta(seconds=2))
    late, call, count = rng.random() < 0.5, rng.choice(STALLS), rng.randint(1, 5000)
    if rank == missing:
        end = time.monotonic() + 60
        while len(files(folder)) < n and time.monotonic() < end:
            time.sleep(0.05)
        if not late:
            return
    try:
        if group is dist.group.WORLD:
            CALLS[call](torch.ones(count), n)
        else:
            dist.all_reduce(torch.ones(count), group=group)
    except ccs.CcsError as error:
        if rank != missing and f"rank {missing} has not called" not in str(error):
            raise
        return
    raise AssertionError("the call succeeded")


def files(folder):
    """Of ranks that have been written."""
    where = folder + "/files"
    return [name for name in (os.listdir(where) if os.path.isdir(where) else []) if name.startswith("rank_")]


def forked(function, *arguments, output=None):
    """The process that runs it, and ends with status 0 or 1."""
    pid = os.fork()
    if pid:
        return pid
    try:
        if output:
            to = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(to, 1)
            os.dup2(to, 2)
        function(*arguments)
        sys.stdout.flush()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def stall(n, seed, folder):
    """Why the analyser's answer is wrong; an empty text if it is right."""
    rng = random.Random(seed)
    missing = rng.randrange(n)
    os.makedirs(folder)
    seed = rng.random()
    pids = [forked(one_rank, rank, n, random.Random(seed), missing, folder, output=f"{folder}/out{rank}") for rank in range(n)]
    for rank, pid in enumerate(pids):
        if os.waitpid(pid, 0)[1]:
            return f"rank {rank}: {open(f'{folder}/out{rank}').read()[-500:]}"
    if fr_trace is None:
        return stands(n, missing, folder)
    pid = forked(fr_trace.main, [folder + "/files"], output=folder + "/trace")
    status = os.waitpid(pid, 0)[1]
    text = open(folder + "/trace").read()
    named = re.findall(r"missing ranks: (.*)", text)
    if status or named != ["{%d}" % missing] or "error msg" in text:
        return f"rank {missing} is missing, and the analyser says: {text[-1500:]}"
    if not re.search(r"^ ?rank \d+ waits .* at \S+\.ccs:[1-9]\d*$", text, re.M):
        return f"no line of a schedule: {text[-700:]}"
    return ""


def stands(n, missing, folder):
    """The same of the files alone, for a PyTorch without the analyser: the call in which all ranks but one stand is not in that
    one's file."""
    last = {}
    for name in files(folder):
        with open(f"{folder}/files/{name}", "rb") as f:
            entries = pickle.load(f)["entries"]
        last[int(name.removeprefix("rank_"))] = max((e["collective_seq_id"] for e in entries if e["state"] != "completed"), default=0)
    if sorted(last) != list(range(n)):
        return f"files of ranks {sorted(last)}"
    waiting = {seq for rank, seq in last.items() if rank != missing}
    return "" if len(waiting) == 1 and last[missing] not in waiting and 0 not in waiting else f"rank {missing} is missing: {last}"


def main():
    folder, stalls, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for n in (4, 8):
        what = f"{stalls} stalls of {n} ranks: PyTorch's analyser names the missing rank, and the line"
        if fr_trace is None:
            print(f"skip - {what}: this PyTorch has none")
            what = f"{stalls} stalls of {n} ranks: files in which all but one stand in one call"
        wrong = [w for i in range(stalls) for w in [stall(n, seed + i, f"{folder}/{n}-{i}")] if w]
        for text in wrong[:3]:
            print("#", text.replace("\n", "\n# "))
        print(f"{'not ok' if wrong else 'ok'} - {what}" + (f": {len(wrong)} wrong" if wrong else ""), flush=True)


main()
