"""What the tests of the back end for torch.distributed share: checks, and groups of processes that
fork from one, which has loaded PyTorch once. Each test is a line: ok, not ok or skip."""

import os
import sys
import tempfile
import traceback
from datetime import timedelta

import torch.distributed as dist


# ---- checks ----------------------------------------------------------------------------------


def raised(kind, function, *arguments, **more):
    """The text of the exception that it raises."""
    try:
        function(*arguments, **more)
    except kind as error:
        return str(error)
    raise AssertionError(f"{function.__name__} did not raise {kind.__name__}")


def has(text, part):
    assert part in text, f"{part!r} is not in {text!r}"


def same(tensor, values):
    assert tensor.tolist() == values, f"{tensor.tolist()}, not {values}"


# ---- groups of processes ---------------------------------------------------------------------


def breaks_its_group(function):
    """A test after which the group cannot be used."""
    function.breaks_its_group = True
    return function


def one_rank(rank, n, function, store):
    """Runs it in a new process; returns the status."""
    try:
        dist.init_process_group(
            "ccs", init_method=f"file://{store}", rank=rank, world_size=n,
            timeout=timedelta(seconds=60),
        )
        function(rank, n)
        if not hasattr(function, "breaks_its_group"):
            dist.destroy_process_group()
        return 0
    except BaseException:
        traceback.print_exc()
        return 1


def by_ranks(n, function, folder):
    """Whether all ranks are content."""
    pids = []
    store = tempfile.mktemp(dir=folder)
    for rank in range(n):
        pid = os.fork()
        if pid == 0:
            status = one_rank(rank, n, function, store)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        pids.append(pid)
    return [os.waitpid(pid, 0)[1] for pid in pids] == [0] * n


def test(function, n, folder, **environment):
    what = f"{function.__name__.replace('_', ' ')}, {n} ranks"
    os.environ.update(environment)
    done = by_ranks(n, function, folder)
    for name in environment:
        del os.environ[name]
    print("ok" if done else "not ok", "-", what, flush=True)
    return done
