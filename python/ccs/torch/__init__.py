"""A back end for torch.distributed: collectives of tensors, on the CPU or on GPUs, between processes
of one host, or of several that mpirun has started, by schedules that ccc has compiled and proved.

    import torch.distributed as dist
    import ccs.torch                       # registers it

    dist.init_process_group("ccs")         # as torchrun, or anything else, starts the processes
    dist.all_reduce(tensor)
    print(ccs.torch.report())

CCS_SCHEDULES names the schedule for each collective (docs/torch.md). No call silently runs on a
substitute: report() has the schedule that ran each operation, and the calls that were not run, and
why; rank 0 prints it at the end.
"""

import inspect
import os
from datetime import timedelta
from functools import lru_cache, wraps
from typing import Any, Optional

from ..ends import GROUPS, at_end
from ..errors import ArgumentError

try:
    import torch.distributed as dist
except ImportError as _error:
    raise ImportError("ccs.torch needs PyTorch, which cannot be imported here") from _error
if not dist.is_available():
    raise ImportError("ccs.torch needs a PyTorch that was built with torch.distributed")

# pylint: disable=wrong-import-position
from .base import end_all
from .group import ProcessGroupCCS
from .recorder import Recorder
from .schedules import VARIABLE, Schedules
from .tally import Tally, print_at_end

__all__ = ["ProcessGroupCCS", "report"]

_tally = Tally()
_recorder: Optional[Recorder] = None


def _forget() -> None:
    """In a process that has forked: its groups are its own, and threads that are not here may
    hold the locks."""
    global _tally, _recorder  # pylint: disable=global-statement
    _tally, _recorder = Tally(), None
    _schedules.cache_clear()


@lru_cache(maxsize=1)
def _schedules() -> Schedules:
    """The environment's settings when the first group is made."""
    return Schedules(os.environ.get(VARIABLE))


os.register_at_fork(after_in_child=_forget)


def _check_alike(store: Any, rank: int, size: int) -> None:
    """All ranks have one text: they choose by it without asking."""
    mine = os.environ.get(VARIABLE, "")
    store.set(f"ccs/schedules/{rank}", f"'{mine}'")
    for other in range(size):
        theirs = store.get(f"ccs/schedules/{other}").decode()
        if theirs != f"'{mine}'":
            raise ArgumentError(f"{VARIABLE} is '{mine}' on rank {rank}, but {theirs} on {other}")


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> ProcessGroupCCS:
    _check_alike(store, rank, size)
    at_end(_end, GROUPS)
    schedules = _schedules()
    global _recorder  # pylint: disable=global-statement
    if _tally.rank is None:
        _tally.rank = rank
        _recorder = Recorder.wanted(rank, size)
        for part in schedules.parts:
            if not part.tuning:
                _tally.ran(part.collective, part.label, 0)
    return ProcessGroupCCS(store, rank, size, timeout, schedules, _tally, _recorder)


def _end() -> None:
    end_all()
    print_at_end(_tally)


def report() -> str:
    """The schedules that ran the calls of this process so far, and the calls that were not run, and
    why: a line each."""
    return _tally.text()


def _register() -> None:
    register: Any = dist.Backend.register_backend
    more = {}
    if "devices" in inspect.signature(register).parameters:  # PyTorch 2
        more["devices"] = ["cpu", "cuda"]
    register("ccs", _create, **more)


def _lift_refusal() -> None:
    """PyTorch 1.13 refuses monitored_barrier() of any back end but its own: for groups of this back
    end it becomes the group's method. Other groups', and PyTorch 2's, stay as they are."""
    c10d: Any = dist.distributed_c10d
    theirs = c10d.monitored_barrier
    if "GLOO" not in theirs.__code__.co_names:
        return

    @wraps(theirs)
    def monitored_barrier(
        group: Any = None, timeout: Any = None, wait_all_ranks: bool = False
    ) -> None:
        used = c10d._get_default_group() if group in (None, c10d.GroupMember.WORLD) else group
        if isinstance(used, ProcessGroupCCS):
            used.monitored_barrier(timeout, wait_all_ranks)
        else:
            theirs(group, timeout, wait_all_ranks)

    setattr(c10d, "monitored_barrier", monitored_barrier)
    setattr(dist, "monitored_barrier", monitored_barrier)


_register()
_lift_refusal()
