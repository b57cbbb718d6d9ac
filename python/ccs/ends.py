"""When libccs's handles are given back: once nothing refers to their object any more, or at the
process's end.

    freed_with(object, free, handle) ---------nothing refers to it--> free(handle)
    at_end(function, order) ----the interpreter, or a child of multiprocessing, ends--> function()

At the process's end no handle is freed because of that alone: another thread, or another function
that is called at the end, may be using it still, and the system takes its memory anyway. Only the
things that other processes wait for are ended then: the calls of groups, and then the communicators
(comm.py), in the order in which they were made, which is the same on all ranks.
"""

import ctypes
import os
import sys
import weakref
from multiprocessing import util
from typing import Callable, Dict, Generic, Iterator, Optional, Set, TypeVar

Any = TypeVar("Any")

GROUPS, COMMS, _LAST = 1, 0, -1  # the larger goes first
_refs: Dict[int, object] = {}
_asked: Set[Callable[[], object]] = set()
os.register_at_fork(after_in_child=_asked.clear)
os.register_at_fork(after_in_child=_refs.clear)


def freed_with(
    owner: object, free: Callable[[Any], object], handle: Any
) -> Callable[[], None]:
    """Has free(handle) called when nothing refers to `owner` any more; or before, by the function
    that it returns, which then does nothing. Unlike weakref.finalize it does nothing at the
    process's end, nor in a process that has forked, in which threads are missing."""

    def once(_: object = None, refs: Dict[int, object] = _refs) -> None:
        if refs.pop(id(ref), None) is not None:
            free(handle)

    ref = weakref.ref(owner, once)
    _refs[id(ref)] = ref
    return once


class Living(Generic[Any]):
    """The objects that were added in this process and are still referred to, the oldest first."""

    def __init__(self) -> None:
        self._refs: Dict["weakref.ref[Any]", None] = {}
        os.register_at_fork(after_in_child=self._refs.clear)

    def add(self, item: Any) -> None:
        self._refs[weakref.ref(item, lambda ref: self._refs.pop(ref, None))] = None

    def __iter__(self) -> Iterator[Any]:
        # A tuple of a dict is made at once, whatever other threads do.
        return (item for item in (ref() for ref in tuple(self._refs)) if item is not None)


def at_end(function: Callable[[], object], order: int) -> None:
    """Has it called at the end of this process, once; not in processes that fork from it."""
    if not _asked:
        util.Finalize(None, _refs.clear, exitpriority=_LAST)
    if function not in _asked:
        _asked.add(function)
        # Not by atexit: processes of multiprocessing, as mp.spawn() makes them, do without.
        util.Finalize(None, function, exitpriority=order)


def reason() -> Optional[BaseException]:
    """The exception by which the process ends. Of sys.exit(1) only children of multiprocessing
    know."""
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return None
    return error if error or hasattr(sys, "ps1") else getattr(sys, "last_value", None)


def keep_for_ever(item: object) -> None:
    """The state with which threads go on while the interpreter ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
