"""Processes that end with work under way. Pairs of ranks fork from this process, begin something, and
end, each in one of several ways; a signal, a wrong status, or a word on stderr that is not the
exception's is a failure.

usage: ends.py [torch] PAIRS [SEED]
"""

import array
import gc
import itertools
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import warnings
from datetime import timedelta

warnings.simplefilter("ignore")

import ccs
from support import SCHEDULES, floats, schedule

LONG = 100_000
RINGS = {n: schedule("ring_allreduce", n) for n in (2, 3)}
_LONGEST = 200  # seconds
KEPT = []  # what lives until the interpreter's end


# ---- ways to end -----------------------------------------------------------------------------


def by_exception():
    raise KeyError("the end")


ENDS = {
    "the last line": (0, lambda: None),
    "an exception": (1, by_exception),
    "sys.exit(0)": (0, lambda: sys.exit(0)),
    "sys.exit(3)": (3, lambda: sys.exit(3)),
    "os._exit": (4, lambda: os._exit(4)),
}

# ---- calls under way, of plain communicators -----------------------------------------------


def in_thread(function, *arguments):
    """A daemon that goes on until the process has ended. It may see calls fail by then."""

    def body():
        try:
            function(*arguments)
        except ccs.CcsError:
            pass

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    time.sleep(0.01)


def many(value):
    return array.array("f", [value]) * LONG


def dropped_messages(comm):
    peer = 1 - comm.rank
    comm.isend(many(1), peer)
    comm.irecv(many(0), peer)


def kept_messages(comm):
    KEPT.extend([comm.isend(many(1), 1 - comm.rank), comm.irecv(many(0), 1 - comm.rank)])


def message_to_none(comm):
    comm.set_timeout(0.3)
    KEPT.append(comm.irecv(floats(0), 1 - comm.rank, tag=3))


def one_message(comm):
    if comm.rank:
        comm.irecv(many(0), 0)
    else:
        comm.isend(many(1), 1)


def polled_message(comm):
    request = comm.irecv(floats(0), 1 - comm.rank)

    def poll():
        while not request.test():
            pass

    in_thread(poll)


def awaited_message(comm):
    in_thread(comm.irecv(floats(0), 1 - comm.rank).wait)
    in_thread(lambda: comm.recv(floats(0), tag=2))


def dropped_run(comm):
    data = many(1)
    RINGS[2].start(comm, data, data)


def run_of_one(comm):
    comm.set_timeout(0.3)
    if comm.rank:
        KEPT.append(RINGS[2].start(comm, floats(1), floats(1)))


def run_in_thread(comm):
    in_thread(RINGS[2].run, comm, floats(1), floats(1)) if comm.rank else None


def runs_in_thread(comm):
    def body():
        while True:
            RINGS[2].run(comm, floats(1), floats(1))

    in_thread(body)


def own_operator(comm):
    def add(result, first, second):
        time.sleep(0.005)
        for i, (a, b) in enumerate(zip(first, second)):
            result[i] = a + b

    data = floats(*range(40))
    RINGS[2].start(comm, data, data, ccs.Operator(add, commutes=True))


def tasks(comm):
    here = ccs.Comm.tasks(3)
    data = [many(rank) for rank in range(3)]
    RINGS[3].start(here, data, data)
    KEPT.append(here.irecv(floats(0), 1, rank=0))
    here.set_timeout(0.2)
    in_thread(lambda: here.recv(floats(0), 2, rank=1))


def children(comm):
    KEPT.append((comm.split(0), comm.split(comm.rank)))
    dropped_messages(KEPT[-1][0])
    comm.split(0).barrier()


def hook(comm):
    import atexit

    def late():
        try:
            comm.barrier()
        except ccs.CcsError:
            pass

    atexit.register(late)


def work_of_a_child():
    tasks(None)


def process_of_multiprocessing(comm):
    dropped_messages(comm)
    child = multiprocessing.get_context("fork").Process(target=work_of_a_child)
    child.start()
    child.join()
    assert child.exitcode == 0, child.exitcode


PLAIN = [
    dropped_messages, kept_messages, message_to_none, one_message, polled_message,
    awaited_message, dropped_run, run_of_one, run_in_thread, runs_in_thread, own_operator, tasks,
    children, hook, process_of_multiprocessing,
]

# ---- the same of torch's groups --------------------------------------------------------------


def torch_works():
    import torch
    import torch.distributed as dist
    import torch.utils.data

    import ccs.torch

    def messages(rank):
        dist.isend(torch.ones(LONG), 1 - rank)
        dist.irecv(torch.empty(LONG), 1 - rank)

    def kept(rank):
        KEPT.append(dist.irecv(torch.empty(LONG), 1 - rank))
        KEPT.append(dist.isend(torch.ones(LONG), 1 - rank))

    def calls(rank):
        KEPT.extend(dist.all_reduce(torch.ones(LONG), async_op=True) for _ in range(5))
        dist.barrier(async_op=True)

    def call_of_one(rank):
        dist.all_reduce(torch.ones(4), async_op=True) if rank else None

    def call_in_thread(rank):
        in_thread(dist.all_reduce, torch.ones(4)) if rank else None

    def groups(rank):
        group = dist.new_group([0, 1])
        dist.all_reduce(torch.ones(LONG), group=group, async_op=True)
        messages(rank)
        dist.destroy_process_group(group)
        dist.new_group([0])

    def destroyed(rank):
        messages(rank)
        calls(rank)
        dist.destroy_process_group()

    def loader(rank):
        messages(rank)
        data = torch.utils.data.DataLoader(torch.arange(4), num_workers=2)
        KEPT.append(iter(data))
        next(KEPT[-1])
        calls(rank)

    return [messages, kept, calls, call_of_one, call_in_thread, groups, destroyed, loader]


# ---- pairs of ranks --------------------------------------------------------------------------


def begin_plain(work, rank, name):
    KEPT.append(ccs.Comm.procs(rank, 2, job=name, seconds=60))
    KEPT[0].set_timeout(20)
    work(KEPT[0])


def begin_torch(work, rank, name):
    import torch.distributed as dist

    dist.init_process_group(
        "ccs", init_method=f"file://{name}", rank=rank, world_size=2,
        timeout=timedelta(seconds=20),
    )
    work(rank)


def expected(text, end):
    """Whether stderr has nothing but what belongs to such an end."""
    if end == "an exception":
        text = re.sub(r"(?m)^\[rank[01]\]: ", "", text)  # PyTorch 2's
        text, found = re.subn(r"Traceback \(most.*\n(  .*\n|\n)*KeyError: 'the end'\n", "", text)
        if not found:
            return False
    return not text


def ended(pid, file, end):
    """Why its end is wrong; None: it is right."""
    status = os.waitpid(pid, 0)[1]
    file.seek(0)
    text = file.read()
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}: {text}"
    if os.WEXITSTATUS(status) != ENDS[end][0]:
        return f"status {os.WEXITSTATUS(status)}: {text}"
    return None if expected(text, end) else f"stderr: {text}"


def run(works, begin, number, seed):
    """Here: how many have failed. In a rank: how it is to end."""
    pairs = list(itertools.product(works, ENDS, ENDS))
    random.Random(seed).shuffle(pairs)
    pairs = itertools.cycle(pairs)
    gc.collect()
    gc.freeze()  # objects that exist already cost no rank's end any time
    folder, failed = tempfile.mkdtemp(), 0
    for i in range(number):
        work, *ends = next(pairs)
        name = os.path.join(folder, str(i)) if begin is begin_torch else f"ends-{os.getpid()}-{i}"
        ranks = []
        for rank, end in enumerate(ends):
            file = tempfile.TemporaryFile("w+")
            pid = os.fork()
            if pid == 0:
                os.dup2(file.fileno(), 2)
                signal.alarm(_LONGEST)
                try:
                    begin(work, rank, name)
                except ccs.CcsError as error:  # as the other has ended already
                    KEPT.append(error)
                return ENDS[end][1]
            ranks.append((pid, file, end))
        for rank, (pid, file, end) in enumerate(ranks):
            wrong = ended(pid, file, end)
            file.close()
            if wrong:
                print(f"# {work.__name__}, rank {rank} of {ends}: {wrong}", flush=True)
                failed += 1
    os.rmdir(folder) if begin is begin_plain else None
    print(f"{2 * number} ends, {failed} wrong", flush=True)
    return lambda: sys.exit(failed > 0)


arguments = sys.argv[1:]
if arguments[0] == "torch":
    end = run(torch_works(), begin_torch, *map(int, (arguments + ["0"])[1:3]))
else:
    end = run(PLAIN, begin_plain, *map(int, (arguments + ["0"])[:2]))
end()
