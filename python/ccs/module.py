"""Modules: compiled schedules, and how they are run.

    arguments --borrow--> Buffers of each rank --count, overlap--> ccs_run, grouped over ranks

All buffers are looked at before any call is made, so that a mistake writes nothing.
"""

import ctypes
import os
import weakref
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Iterable, List, Optional, Sequence, Tuple, Union

from .buffers import (
    Buffer,
    borrow,
    check_dtype,
    dtype_number,
    dtype_size,
    element_bytes,
)
from .comm import Comm
from .errors import ArgumentError, BufferTypeError
from .native import COUNT_MAX, RANK_MAX, as_int, check, last_error, library

_SIDES = ("send", "receive")


@lru_cache(maxsize=1)
def operators() -> Tuple[str, ...]:
    """The names of all operators: "sum", "prod", ..."""
    names: List[str] = []
    while True:
        name = library().ccs_redop_name(len(names))
        if name is None:
            return tuple(names)
        names.append(name.decode())


def _operator_number(op: object) -> int:
    names = operators()
    if op not in names:
        raise ArgumentError(f"op={op!r} is none of ccs's: {', '.join(names)}")
    return names.index(str(op))


@dataclass(frozen=True)
class _Rank:
    """What a rank gives to a call: its send and its receive buffer."""

    number: int
    buffers: Tuple[Optional[Buffer], Optional[Buffer]]

    def name(self, side: int) -> str:
        return _buffer_name(self.number, side)


def _buffer_name(rank: int, side: int) -> str:
    return f"the {_SIDES[side]} buffer of rank {rank}"


def _addresses(rank: _Rank) -> List[Optional[int]]:
    return [buffer.address if buffer else None for buffer in rank.buffers]


# ---- buffers ---------------------------------------------------------------------------------


def _for_each_rank(objects: Any, comm: Comm, side: int) -> List[Any]:
    """An object for each rank of this process."""
    if objects is None:
        return [None] * len(comm.ranks)
    if not comm.is_tasks:
        return [objects]
    try:
        given = list(objects)
    except TypeError:
        raise BufferTypeError(
            f"a communicator of tasks takes a list of {comm.size} {_SIDES[side]} buffers, one for "
            f"each rank, not a {type(objects).__name__}"
        ) from None
    if len(given) != comm.size:
        raise ArgumentError(
            f"{len(given)} {_SIDES[side]} buffers were given for {comm.size} ranks: one for each"
        )
    return given


def _borrow(obj: Any, dtype: Optional[str], rank: int, side: int) -> Optional[Buffer]:
    if obj is None:
        return None
    name = _buffer_name(rank, side)
    buffer = borrow(obj, dtype, name)
    if side == 1 and buffer.readonly:
        raise BufferTypeError(
            f"{name} is read-only: give memory that can be written, "
            "such as a bytearray, an array.array or a copy"
        )
    return buffer


def _borrow_all(comm: Comm, send: Any, recv: Any, dtype: Optional[str]) -> List[_Rank]:
    sends = _for_each_rank(send, comm, 0)
    receives = _for_each_rank(recv, comm, 1)
    return [
        _Rank(rank, (_borrow(s, dtype, rank, 0), _borrow(r, dtype, rank, 1)))
        for rank, s, r in zip(comm.ranks, sends, receives)
    ]


def _common_dtype(ranks: Sequence[_Rank], dtype: Optional[str]) -> str:
    """The one type of all buffers."""
    first = None
    for rank in ranks:
        for side, buffer in enumerate(rank.buffers):
            if buffer is None:
                continue
            if first is None:
                first = (buffer.dtype, rank.name(side))
            elif buffer.dtype != first[0]:
                raise BufferTypeError(
                    f"{rank.name(side)} is {buffer.dtype}, but {first[1]} is {first[0]}: "
                    "all buffers of a call have one type"
                )
    if first:
        return first[0]
    return dtype or "float32"  # nothing is moved, so that any will do


# ---- memory that two ranks share -------------------------------------------------------------


def _range(rank: _Rank, side: int) -> Tuple[int, int, _Rank]:
    buffer = rank.buffers[side]
    assert buffer is not None
    return buffer.address, buffer.address + buffer.nbytes, rank


def _refuse_shared(writer: _Rank, other: _Rank, side: int) -> None:
    raise ArgumentError(
        f"{writer.name(1)} shares memory with {other.name(side)}: ranks need receive buffers of "
        "their own (a list such as [b] * n has one buffer n times)"
    )


def _check_apart(ranks: Sequence[_Rank]) -> None:
    """No rank writes where another reads or writes. O(ranks log ranks)."""
    writers = sorted(
        (_range(r, 1) for r in ranks if r.buffers[1] and r.buffers[1].nbytes), key=lambda w: w[:2]
    )
    for one, next_one in zip(writers, writers[1:]):
        if next_one[0] < one[1]:
            _refuse_shared(one[2], next_one[2], 1)
    ends = [end for _, end, _ in writers]  # ascending, as writers are apart
    for rank in ranks:
        if not rank.buffers[0] or not rank.buffers[0].nbytes:
            continue
        begin, end, _ = _range(rank, 0)
        at = bisect_left(ends, begin + 1)
        while at < len(writers) and writers[at][0] < end:
            if writers[at][2] is not rank:
                _refuse_shared(writers[at][2], rank, 0)
            at += 1


# ---- modules ---------------------------------------------------------------------------------


class Module:
    """A schedule that ccc has compiled, to be run any number of times, by any threads."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Loads an `ar.so`. No code of the file is run. CcsError: it is no module of this
        version, or is damaged."""
        handle = ctypes.c_void_p()
        check(library().ccs_module_load(ctypes.byref(handle), os.fsencode(path)))
        self._handle = handle
        self._finalizer = weakref.finalize(self, library().ccs_module_free, handle)
        self.path: str = os.fsdecode(path)
        """The file that was loaded."""

    @property
    def schedule(self) -> str:
        """The schedule's name."""
        text: bytes = library().ccs_module_schedule(self._handle)
        return text.decode()

    @property
    def contract(self) -> str:
        """What it implements, such as "allreduce"."""
        text: bytes = library().ccs_module_contract(self._handle)
        return text.decode()

    @property
    def rooted(self) -> bool:
        """Whether run() takes a root."""
        return bool(library().ccs_module_rooted(self._handle))

    def has(self, nranks: int) -> bool:
        """Whether it was compiled for that number of ranks."""
        number = as_int(nranks, "the number of ranks", RANK_MAX)
        return bool(library().ccs_module_has(self._handle, number))

    def elements(self, nranks: int, count: int) -> Tuple[int, int]:
        """How many elements a rank's send and receive buffers hold for `count`: NCCL's count of
        the same collective, which is a block of the contract."""
        send, recv = ctypes.c_size_t(), ctypes.c_size_t()
        check(
            library().ccs_module_elements(
                self._handle,
                as_int(nranks, "the number of ranks", RANK_MAX),
                as_int(count, "count", COUNT_MAX),
                ctypes.byref(send),
                ctypes.byref(recv),
            )
        )
        return send.value, recv.value

    def verify(self) -> None:
        """Proves it again, from its bytes: for modules from elsewhere. CcsError: it is wrong."""
        check(library().ccs_module_verify(self._handle, None, None))

    def run(
        self,
        comm: Comm,
        send: Any = None,
        recv: Any = None,
        op: str = "sum",
        root: int = 0,
        *,
        dtype: Optional[str] = None,
        count: Optional[int] = None,
        scalar: Any = None,
    ) -> None:
        """Runs the schedule, and returns when this process's ranks are done.

        send, recv: a buffer each; with Comm.tasks a list of them, one for each rank. The same
            buffer twice: in place. None: this rank has none, as where it is not the root.
        op: one of operators().
        root: the rank from which or to which data goes; ignored where the schedule has none.
        dtype: what the bits of the buffers are, where they do not say: bfloat16 in uint16, an
            8-bit float in uint8, any type in bytes.
        count: elements of a block. Without it, it follows from the buffers, which must then have
            exactly the lengths of elements(comm.size, count); with it, they may be longer, and
            what is beyond stays as it is.
        scalar: every contribution is multiplied by it, and summed (NCCL's premul-sum); a number,
            or the memory of one element.

        ArgumentError, BufferTypeError: nothing was written. CcsError: the call failed, and what
        receive buffers hold is undefined.
        """
        if not isinstance(comm, Comm):
            raise BufferTypeError(f"run() needs a ccs.Comm first, not a {type(comm).__name__}")
        if dtype is not None:
            check_dtype(dtype)
        with comm.lock:
            handles = comm.handles()
            ranks = _borrow_all(comm, send, recv, dtype)
            call = _Call(
                _common_dtype(ranks, dtype), _operator_number(op), as_int(root, "root", RANK_MAX)
            )
            call.count = self._count(comm.size, ranks, count)
            call.set_scalar(scalar, op)
            _check_apart(ranks)
            self._run_ranks(call, ranks, handles)

    def run_at(
        self,
        comm: Comm,
        send: int,
        recv: int,
        count: int,
        dtype: str,
        op: str = "sum",
        root: int = 0,
        scalar: int = 0,
    ) -> None:
        """run() for this process's one rank, with addresses (0: none) for buffers, and for the
        scalar. Nothing is looked at: they are as long as elements() says, and stay where they are
        until it returns. CcsError, as run()."""
        head = (self._handle, send or None, recv or None, count, dtype_number(dtype))
        lib = library()
        with comm.lock:
            handle = comm.handles()[0]
            if scalar:
                check(lib.ccs_run_premul(*head, scalar, root, handle, None))
            else:
                check(lib.ccs_run(*head, _operator_number(op), root, handle, None))

    def _run_ranks(
        self, call: "_Call", ranks: Sequence[_Rank], handles: Sequence[ctypes.c_void_p]
    ) -> None:
        """As a group, which begins when all ranks' calls are right."""
        lib = library()
        check(lib.ccs_group_start())
        try:
            for rank, handle in zip(ranks, handles):
                status = call.submit(self._handle, rank, handle)
                if status:
                    raise last_error(status)
        except BaseException:
            # Also after Ctrl-C: a call without a module fails, and so does the whole group.
            lib.ccs_run(None, None, None, 0, 0, 0, 0, None, None)
            lib.ccs_group_end()
            raise
        check(lib.ccs_group_end())

    def _count(self, nranks: int, ranks: Sequence[_Rank], count: Optional[int]) -> int:
        """The count, which every buffer was compared with."""
        units = self.elements(nranks, 1)
        exact = count is None
        if count is None:
            count = self._derived(units, ranks)
        needed = self.elements(nranks, count)
        for rank in ranks:
            for side, buffer in enumerate(rank.buffers):
                if buffer is not None:
                    self._check_length(rank, side, needed[side], count, exact)
        return count

    def _derived(self, units: Tuple[int, int], ranks: Iterable[_Rank]) -> int:
        """The count by the first buffer that tells it."""
        if units == (0, 0):
            return 0
        for rank in ranks:
            for side, buffer in enumerate(rank.buffers):
                if buffer is None or not units[side]:
                    continue
                if buffer.length % units[side]:
                    raise ArgumentError(
                        f"{rank.name(side)} has {buffer.length} elements, but {self.schedule} has "
                        f"{units[side]} blocks of one length there"
                    )
                return buffer.length // units[side]
        raise ArgumentError(
            f"{self.schedule} moves data, but no buffer was given: give count= on a rank that has "
            "none"
        )

    def _check_length(self, rank: _Rank, side: int, needed: int, count: int, exact: bool) -> None:
        buffer = rank.buffers[side]
        assert buffer is not None
        have = buffer.length
        if have < needed:
            raise ArgumentError(
                f"{rank.name(side)} is too short: it has {have} elements, and {self.schedule} "
                f"needs {needed} for count {count}"
            )
        if exact and have > needed:
            raise ArgumentError(
                f"{rank.name(side)} has {have} elements, and {self.schedule} needs {needed} for "
                f"count {count}: give count={count} if the rest is to stay as it is"
            )

    def __repr__(self) -> str:
        return f"<ccs.Module {self.schedule} ({self.contract}), {self.path}>"


@dataclass
class _Call:
    """What the calls of all ranks have in common."""

    dtype: str
    op: int
    root: int
    count: int = 0
    scalar: Optional["ctypes.Array[ctypes.c_char]"] = None

    def set_scalar(self, scalar: Any, op: str) -> None:
        if scalar is None:
            return
        if op != "sum":
            raise ArgumentError(f"scalar= is for op='sum', not {op!r}")
        self.scalar = ctypes.create_string_buffer(
            element_bytes(scalar, self.dtype), dtype_size(self.dtype)
        )

    def submit(self, module: ctypes.c_void_p, rank: _Rank, handle: ctypes.c_void_p) -> int:
        lib = library()
        send, recv = _addresses(rank)
        head = (module, send, recv, self.count, dtype_number(self.dtype))
        status: int
        if self.scalar is None:
            status = lib.ccs_run(*head, self.op, self.root, handle, None)
        else:
            status = lib.ccs_run_premul(*head, self.scalar, self.root, handle, None)
        return status
