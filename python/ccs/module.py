"""Modules: compiled schedules, and how they are run.

    arguments --borrow--> Buffers of each rank --count, overlap--> ccs_run_with, grouped over ranks

All buffers are checked before any call is made, so that a mistake writes nothing.
"""

import ctypes
import os
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple, Union

from .buffers import (
    Buffer,
    borrow,
    check_dtype,
    dtype_number,
)
from .comm import Comm
from .ends import freed_with
from .errors import ArgumentError, BufferTypeError, CcsError, Status
from .gpu import Place, places, wait_for
from .messages import Request, Share
from .native import (
    COUNT_MAX,
    RANK_MAX,
    BufferInfo,
    RunOptions,
    as_int,
    check,
    last_error,
    library,
)
from .operators import Operator, operator_number
from .options import Options
from .plans import Plan, buffer_infos, module_info, plan_infos, plans_of

_SIDES = ("send", "receive")
_DIRECTIONS = ((True, False), (False, True), (True, True))  # ccs_direction: sends, receives


@dataclass(frozen=True)
class _Rank:
    """A rank's arguments of a call: its send and its receive buffer, and its stream on a GPU."""

    number: int
    place: Optional[Place]
    buffers: Tuple[Optional[Buffer], Optional[Buffer]]

    def name(self, side: int) -> str:
        return _buffer_name(self.number, side)


def _buffer_name(rank: int, side: int) -> str:
    return f"the {_SIDES[side]} buffer of rank {rank}"


def _addresses(rank: _Rank) -> List[Optional[int]]:
    return [buffer.address if buffer else None for buffer in rank.buffers]


def _check_comm(comm: object) -> None:
    if not isinstance(comm, Comm):
        raise BufferTypeError(f"run() needs a ccs.Comm first, not a {type(comm).__name__}")


# ---- buffers ---------------------------------------------------------------------------------


def _for_each_rank(objects: Any, comm: Comm, what: str) -> List[Any]:
    """An object for each rank of this process."""
    if objects is None:
        return [None] * len(comm.ranks)
    if not comm.is_tasks:
        return [objects]
    try:
        given = list(objects)
    except TypeError:
        raise BufferTypeError(
            f"a communicator of tasks takes a list of {comm.size} {what}, one for each rank, not "
            f"a {type(objects).__name__}"
        ) from None
    if len(given) != comm.size:
        raise ArgumentError(
            f"{len(given)} {what} were given for {comm.size} ranks: one for each"
        )
    return given


def _borrow(
    obj: Any, dtype: Optional[str], rank: int, side: int, place: Optional[Place]
) -> Optional[Buffer]:
    if obj is None:
        return None
    name = _buffer_name(rank, side)
    buffer = borrow(obj, dtype, name, place)
    if side == 1 and buffer.readonly:
        raise BufferTypeError(
            f"{name} is read-only: give memory that can be written, "
            "such as a bytearray, an array.array or a copy"
        )
    return buffer


def _borrow_all(
    comm: Comm, send: Any, recv: Any, dtype: Optional[str], stream: Any
) -> List[_Rank]:
    sends = _for_each_rank(send, comm, "send buffers")
    receives = _for_each_rank(recv, comm, "receive buffers")
    return [
        _Rank(rank, place, (_borrow(s, dtype, rank, 0, place), _borrow(r, dtype, rank, 1, place)))
        for rank, place, s, r in zip(comm.ranks, places(comm, stream), sends, receives)
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


def _length(rank: _Rank, side: int, element: int) -> int:
    """Number of elements, of `element` bytes each, that a buffer holds."""
    buffer = rank.buffers[side]
    assert buffer is not None
    if buffer.nbytes % element:
        raise ArgumentError(
            f"{rank.name(side)} has {buffer.nbytes} bytes, no whole number of elements of "
            f"{element}"
        )
    return buffer.nbytes // element


def _sized_lengths(buffers: Sequence[BufferInfo], sizes: Any, count: int) -> Tuple[int, int]:
    """Elements of a rank's send and receive buffers."""
    at, lengths = 0, [0, 0]
    for b in buffers:
        chunks = b.blocks * b.chunks if b.sized else 0
        elements = sum(sizes[at : at + chunks]) if b.sized else b.blocks * count
        at += chunks
        for side, used in enumerate(_DIRECTIONS[b.direction]):
            lengths[side] += elements if used else 0
    return lengths[0], lengths[1]


def _check_factors(how: Options, ranks: Sequence[_Rank]) -> None:
    """As many as the rank's send buffer has elements."""
    for rank, factors in zip(ranks, how.factors):
        send = rank.buffers[0]
        if factors and send and factors.nbytes != send.nbytes:
            raise ArgumentError(
                f"factors of rank {rank.number} are {factors.length}, and its send buffer has "
                f"{send.length} elements: one for each"
            )


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


def _check_apart(ranks: Sequence[_Rank], factors: Sequence[Tuple[int, int]]) -> None:
    """No rank writes memory that another rank reads or writes, or that holds factors. O(ranks log
    ranks)."""
    writers = sorted(
        (_range(r, 1) for r in ranks if r.buffers[1] and r.buffers[1].nbytes), key=lambda w: w[:2]
    )
    for one, next_one in zip(writers, writers[1:]):
        if next_one[0] < one[1]:
            _refuse_shared(one[2], next_one[2], 1)
    ends = [end for _, end, _ in writers]  # ascending, as writers are apart
    for begin, end in factors:
        at = bisect_left(ends, begin + 1)
        if at < len(writers) and writers[at][0] < end:
            raise ArgumentError(f"{writers[at][2].name(1)} shares memory with factors of the call")
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
        freed_with(self, library().ccs_module_free, handle)
        self._owner: object = None
        self.path: str = os.fsdecode(path)
        """The file that was loaded."""

    @classmethod
    def borrowed(cls, handle: ctypes.c_void_p, path: str, owner: object) -> "Module":
        """One that `owner` has loaded, and frees."""
        module = cls.__new__(cls)
        module._handle, module.path, module._owner = handle, path, owner
        return module

    @property
    def schedule(self) -> str:
        """The schedule's name."""
        text: bytes = library().ccs_module_schedule(self._handle)
        return text.decode()

    @property
    def contract(self) -> str:
        """The collective that it implements, such as "allreduce"."""
        text: bytes = library().ccs_module_contract(self._handle)
        return text.decode()

    @property
    def rooted(self) -> bool:
        """Whether run() takes a root."""
        return bool(library().ccs_module_rooted(self._handle))

    @property
    def sized(self) -> bool:
        """Whether run() takes sizes."""
        return bool(module_info(self._handle).sized)

    @property
    def ranks(self) -> Tuple[int, ...]:
        """The numbers of ranks that it was compiled for, ascending."""
        return tuple(dict.fromkeys(info.nranks for info in plan_infos(self._handle)))

    @property
    def plans(self) -> Tuple[Plan, ...]:
        """Its plans: one for each number of ranks and, if it is rooted, each root."""
        return plans_of(self._handle)

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
        op: Union[str, Operator] = "sum",
        root: int = 0,
        *,
        dtype: Optional[str] = None,
        count: Optional[int] = None,
        scalar: Any = None,
        factors: Any = None,
        rows: Optional[int] = None,
        sizes: Any = None,
        stream: Any = None,
    ) -> None:
        """Runs the schedule, and returns when this process's ranks are done.

        send, recv: a buffer each; with Comm.tasks a list of them, one for each rank. The same
            buffer twice: in place. None: this rank has none, as where it is not the root.
        op: one of operators(), or an Operator. An exception of its function is raised here, in the
        processes where it was called; the results of other processes are then undefined. root: the
        rank from which or to which data goes; ignored where the schedule has none. dtype: the type
        of the buffers' bits, if the buffers do not have it: bfloat16 in uint16, an 8-bit float in
        uint8, any type in bytes. count: elements of a block. Without it, it follows from the
        buffers, which must then have
            exactly the lengths of elements(comm.size, count); with it, they may be longer, and the
        rest of them stays as it is. scalar: every contribution is multiplied by it, and summed
        (NCCL's premul-sum); a number,
            or the memory of one element.
        factors: the same with a factor for each element of the send buffer: as a buffer, or, with
            Comm.tasks, a list of them.
        rows: of a schedule with a buffer `by column`: how many rows a block has, which is a matrix
            of `count` elements.
        sizes: of a schedule with a `sized` buffer: elements of each of its chunks on this rank,
            buffer by buffer, as a list of ints; with Comm.tasks a list of such lists. Of
            all-to-all: the elements that it sends to each rank, then the elements that it gets from
            each. Ranks compare them, and if two differ all fail.
        stream: on GPUs the stream that the call is put into, after the work that is there: a
            CUstream as an int, or a stream of PyTorch's or CuPy's; with all ranks in this process
            one for each, or for all. run() then returns when the call is in the stream, and the
            caller keeps the buffers until it is done. Without it, it is the default stream, and
            run() waits.

        ArgumentError, BufferTypeError: nothing was written. CcsError: the call failed, and the
        contents of receive buffers are undefined.
        """
        _check_comm(comm)
        with comm.lock:
            call, ranks = self._prepare(
                comm, send, recv, op, root, dtype, count, scalar, factors, rows, sizes, stream
            )
            begin = partial(call.of_rank, library().ccs_run_with, self._handle, comm.handles())
            _submit(begin, ranks, library().ccs_group_end)
            wait_for(rank.place for rank in ranks)
            call.tell(comm)

    def start(
        self,
        comm: Comm,
        send: Any = None,
        recv: Any = None,
        op: Union[str, Operator] = "sum",
        root: int = 0,
        *,
        dtype: Optional[str] = None,
        count: Optional[int] = None,
        scalar: Any = None,
        factors: Any = None,
        rows: Optional[int] = None,
        sizes: Any = None,
        stream: Any = None,
    ) -> Request:
        """run() that returns when it has begun; the request's wait() and test() raise the errors of
        run(). Until it is over the buffers are in use, and kept alive. Runs that were started on a
        communicator go on in their order."""
        _check_comm(comm)
        with comm.lock:
            call, ranks = self._prepare(
                comm, send, recv, op, root, dtype, count, scalar, factors, rows, sizes, stream
            )
            begin = partial(call.of_rank, library().ccs_run_with, self._handle, comm.handles())
            return call.start(begin, ranks, comm, self.schedule)

    def prepare(
        self,
        comm: Comm,
        send: Any = None,
        recv: Any = None,
        op: Union[str, Operator] = "sum",
        root: int = 0,
        *,
        dtype: Optional[str] = None,
        count: Optional[int] = None,
        scalar: Any = None,
        factors: Any = None,
        rows: Optional[int] = None,
        sizes: Any = None,
        stream: Any = None,
    ) -> "PreparedCall":
        """run() for many times: these arguments are checked now, and the buffers kept. With sizes
        processes compare them now, so that all of them prepare the call together."""
        _check_comm(comm)
        with comm.lock:
            call, ranks = self._prepare(
                comm, send, recv, op, root, dtype, count, scalar, factors, rows, sizes, stream
            )
            return PreparedCall(self, comm, call, ranks)

    def _prepare(
        self,
        comm: Comm,
        send: Any,
        recv: Any,
        op: Union[str, Operator],
        root: int,
        dtype: Optional[str],
        count: Optional[int],
        scalar: Any,
        factors: Any,
        rows: Optional[int],
        sizes: Any,
        stream: Any,
    ) -> Tuple["_Call", List[_Rank]]:
        """The call that right arguments make. Under comm.lock."""
        if dtype is not None:
            check_dtype(dtype)
        comm.handles()
        ranks = _borrow_all(comm, send, recv, dtype, stream)
        kind = _common_dtype(ranks, dtype)
        how = Options.made(op, scalar, rows, kind)
        given = _for_each_rank(factors, comm, "factors")
        how.add_factors(given, comm.ranks, op, kind, dtype, [rank.place for rank in ranks])
        call = _Call(kind, as_int(root, "root", RANK_MAX), how)
        if self.sized:
            self._take_sizes(call, comm, ranks, sizes, count)
        elif sizes is not None:
            raise ArgumentError(f"{self.schedule} has no `sized` buffer: leave sizes= out")
        else:
            call.count = self._count(comm.size, ranks, count, how.element(kind))
        _check_factors(how, ranks)
        _check_apart(ranks, how.reads())
        return call, ranks

    def run_at(
        self,
        comm: Comm,
        send: int,
        recv: int,
        count: int,
        dtype: str,
        op: str = "sum",
        root: int = 0,
        how: Optional[RunOptions] = None,
        stream: int = 0,
    ) -> None:
        """run() for this process's one rank, with addresses (0: none) for buffers, and in `how`.
        Nothing is checked: they must be as long as elements(), or the sizes, say, and stay in place
        until it returns, or, on a GPU, until it is done in the stream. CcsError, as run()."""
        head = (send or None, recv or None, count, dtype_number(dtype), operator_number(op), root)
        options, last = None if how is None else ctypes.byref(how), stream or None
        with comm.lock:
            check(library().ccs_run_with(self._handle, options, *head, comm.handles()[0], last))

    def _buffers(self, nranks: int, root: int) -> List[BufferInfo]:
        """The facts of the plan that a call takes. CcsError: there is none."""
        plan = library().ccs_module_find(self._handle, nranks, root)
        if plan < 0:
            check(library().ccs_module_elements(self._handle, nranks, 0, None, None))
        return buffer_infos(self._handle, plan)

    def _take_sizes(
        self,
        call: "_Call",
        comm: Comm,
        ranks: Sequence[_Rank],
        sizes: Any,
        count: Optional[int],
    ) -> None:
        """Each rank's sizes; its buffers were compared with them."""
        if not self.has(comm.size):
            raise CcsError(
                Status.ENOPLAN,
                f"{self.schedule} has no plan for {comm.size} ranks: compile it with "
                f"ranks={comm.size}",
            )
        buffers = self._buffers(comm.size, call.root)
        chunks = sum(b.blocks * b.chunks for b in buffers if b.sized)
        if sizes is None:
            raise ArgumentError(
                f"{self.schedule} has `sized` buffers: sizes= says how long each of their {chunks} "
                "chunks on a rank is"
            )
        if count is None and not all(b.sized for b in buffers):
            raise ArgumentError(f"{self.schedule} has buffers that are not `sized`: give count=")
        call.how.add_sizes(_for_each_rank(sizes, comm, "lists of sizes"), comm.ranks, chunks)
        call.count = 0 if count is None else as_int(count, "count", COUNT_MAX)
        for rank, own in zip(ranks, call.how.sizes):
            needed = _sized_lengths(buffers, own, call.count)
            for side, buffer in enumerate(rank.buffers):
                if buffer is not None:
                    have = _length(rank, side, call.how.element(call.dtype))
                    if have != needed[side]:
                        raise ArgumentError(
                            f"{rank.name(side)} has {have} elements, and its sizes are "
                            f"{needed[side]} together"
                        )

    def _count(
        self, nranks: int, ranks: Sequence[_Rank], count: Optional[int], element: int
    ) -> int:
        """The count, of elements of `element` bytes; every buffer was compared with it."""
        units = self.elements(nranks, 1)
        exact = count is None
        if count is None:
            count = self._derived(units, ranks, element)
        needed = self.elements(nranks, count)
        for rank in ranks:
            for side, buffer in enumerate(rank.buffers):
                if buffer is not None:
                    have = _length(rank, side, element)
                    self._check_length(rank.name(side), have, needed[side], count, exact)
        return count

    def _derived(self, units: Tuple[int, int], ranks: Iterable[_Rank], element: int) -> int:
        """The count, by the first buffer that determines it."""
        if units == (0, 0):
            return 0
        for rank in ranks:
            for side, buffer in enumerate(rank.buffers):
                if buffer is None or not units[side]:
                    continue
                have = _length(rank, side, element)
                if have % units[side]:
                    raise ArgumentError(
                        f"{rank.name(side)} has {have} elements, but {self.schedule} has "
                        f"{units[side]} blocks of one length there"
                    )
                return have // units[side]
        raise ArgumentError(
            f"{self.schedule} moves data, but no buffer was given: give count= on a rank that has "
            "none"
        )

    def _check_length(self, name: str, have: int, needed: int, count: int, exact: bool) -> None:
        if have < needed:
            raise ArgumentError(
                f"{name} is too short: it has {have} elements, and {self.schedule} needs "
                f"{needed} for count {count}"
            )
        if exact and have > needed:
            raise ArgumentError(
                f"{name} has {have} elements, and {self.schedule} needs {needed} for "
                f"count {count}: give count={count} if the rest is to stay as it is"
            )

    def __repr__(self) -> str:
        return f"<ccs.Module {self.schedule} ({self.contract}), {self.path}>"


@dataclass
class _Call:
    """The common arguments of all ranks' calls, and their options."""

    dtype: str
    root: int
    how: Options
    count: int = 0

    def tell(self, comm: Comm) -> None:
        """Once it is over: raises failures outside libccs."""
        if comm.devices[0] is not None:
            comm.check()
        if self.how.operator is not None:
            self.how.operator.tell()

    def of_rank(
        self, function: Any, module: ctypes.c_void_p, handles: Any, place: int, rank: _Rank
    ) -> int:
        """function(module, arguments): ccs_run_with, or ccs_prepare with its result."""
        send, recv = _addresses(rank)
        status: int = function(
            module,
            ctypes.byref(self.how.of(place)),
            send,
            recv,
            self.count,
            dtype_number(self.dtype),
            self.how.op,
            self.root,
            handles[place],
            rank.place.stream if rank.place else None,
        )
        return status

    def start(
        self,
        begin: Callable[[int, _Rank], int],
        ranks: Sequence[_Rank],
        comm: Comm,
        schedule: str,
        owner: object = None,
    ) -> Request:
        """The request of what each rank begins; it keeps `owner` until it is over."""
        handle = ctypes.c_void_p()
        _submit(begin, ranks, partial(library().ccs_group_submit, ctypes.byref(handle)))
        shares = [
            Share(f"the run of {schedule} by rank {rank.number}", (rank, self, owner), rank.place)
            for rank in ranks
        ]
        return Request(handle, shares, comm, also=partial(self.tell, comm))


def _submit(
    begin: Callable[[int, _Rank], int], ranks: Sequence[_Rank], end: Callable[[], int]
) -> None:
    """As a group, which begins when all ranks' calls are right, and its end."""
    lib = library()
    check(lib.ccs_group_start())
    try:
        for place, rank in enumerate(ranks):
            status = begin(place, rank)
            if status:
                raise last_error(status)
    except BaseException:
        # Also after Ctrl-C: a call without a module fails, and so does the whole group.
        lib.ccs_run(None, None, None, 0, 0, 0, 0, None, None)
        lib.ccs_group_end()
        raise
    check(end())


class PreparedCall:
    """A call whose arguments are checked, as Module.prepare() returns it: any number of runs, one at a
    time. It keeps its buffers, and reads and writes them in each run."""

    def __init__(self, module: Module, comm: Comm, call: _Call, ranks: List[_Rank]) -> None:
        self._module, self._comm, self._call, self._ranks = module, comm, call, ranks
        self._handles: List[ctypes.c_void_p] = []
        self._last: Optional[Request] = None
        prepare = library().ccs_prepare
        for place, rank in enumerate(ranks):
            handle = ctypes.c_void_p()
            one = partial(prepare, ctypes.byref(handle))
            check(call.of_rank(one, module._handle, comm.handles(), place, rank))
            freed_with(self, library().ccs_call_free, handle)
            self._handles.append(handle)

    def _begin(self, place: int, _: _Rank) -> int:
        status: int = library().ccs_start(self._handles[place])
        return status

    def run(self) -> None:
        """Module.run()."""
        with self._comm.lock:
            self._settle()
            if len(self._handles) == 1:
                check(self._begin(0, self._ranks[0]))
            else:
                _submit(self._begin, self._ranks, library().ccs_group_end)
            wait_for(rank.place for rank in self._ranks)
            self._call.tell(self._comm)

    def start(self) -> Request:
        """Module.start(). One run at a time: the next begins when the request is over."""
        with self._comm.lock:
            self._settle()
            name = self._module.schedule
            self._last = self._call.start(self._begin, self._ranks, self._comm, name, self)
            return self._last

    def _settle(self) -> None:
        """The last request may be over although the program has not asked. Under comm.lock."""
        self._comm.handles()
        if self._last is not None and self._last.look():
            self._last = None

    def __repr__(self) -> str:
        return f"<ccs.PreparedCall of {self._module.schedule}, {self._call.dtype}>"
