"""Communicators: the ranks that take part in a call."""

import ctypes
import operator
import threading
from contextlib import suppress
from types import TracebackType
from typing import (
    Any,
    Callable,
    ContextManager,
    List,
    Optional,
    Sequence,
    Tuple,
    Type,
    Union,
)

from .ends import COMMS, Living, at_end, freed_with, keep_for_ever, reason
from .errors import ArgumentError, CcsError, Status
from .gpu import places, wait_for
from .messages import Batch, Pending, alone
from .native import ID_BYTES, RANK_MAX, Procs, as_int, check, library

_NO_COLOR = -1  # CCS_NO_COLOR
_DESCRIPTION = 512  # bytes of ccs_comm_describe's text
ABORTED = 10  # seconds that calls take to end after abort(), at most


def _as_key(value: object) -> int:
    """Any number that C's int holds."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"a key must be an int, not {value!r}") from None
    if not -RANK_MAX - 1 <= number <= RANK_MAX:
        raise ArgumentError(f"a key must fit into 32 bits, not be {number}")
    return number


def _free(handles: List[ctypes.c_void_p]) -> None:
    lib = library()
    for handle in handles:
        lib.ccs_comm_free(handle)


_living: "Living[Comm]" = Living()


def abort_all(error: BaseException) -> None:
    """At the process's end by an exception: calls under way fail, as far as they can."""
    for comm in _living:
        with suppress(CcsError):
            comm.abort(_why(error))


def _why(error: Optional[BaseException]) -> str:
    return f"its process ends by {type(error).__name__}: {error}" if error else "its process ends"


def _end() -> None:
    error = reason()
    for comm in _living:
        comm.end(error)


class Comm:
    """A communicator. Made by Comm.tasks(), Comm.procs() or Comm.mpi(), or, on GPUs, by Comm.cuda()
    or Comm.cuda_procs(); a context manager, which frees it. One thread uses it at a time: other
    threads wait until its call is over."""

    def __init__(self, handles: List[ctypes.c_void_p], tasks: bool) -> None:
        lib = library()
        self._handles: Optional[List[ctypes.c_void_p]] = handles
        self._lock = threading.RLock()
        self._free = freed_with(self, _free, handles)
        self.is_tasks: bool = tasks
        """Whether all ranks are in this process, so that calls take lists of buffers."""
        self.size: int = lib.ccs_comm_size(handles[0])
        """The number of ranks."""
        self.ranks: Tuple[int, ...] = tuple(lib.ccs_comm_rank(handle) for handle in handles)
        """The ranks of this process."""
        self.engine: str = lib.ccs_comm_engine(handles[0]).decode()
        """The engine that runs it: "tasks", "procs", "mpi", "cuda" or "hosts"."""
        numbers = [lib.ccs_comm_device(handle) for handle in handles]
        self.devices: Tuple[Optional[int], ...] = tuple(n if n >= 0 else None for n in numbers)
        """The GPU of each of these ranks, as this process numbers them; None: it is on the CPU."""
        self.pending = Pending()
        """Its requests."""
        _living.add(self)
        at_end(_end, COMMS)

    @classmethod
    def tasks(cls, nranks: int) -> "Comm":
        """All ranks in this process, as tasks on its cores."""
        lib = library()
        return cls._here(nranks, lib.ccs_comm_init_all)

    @classmethod
    def _here(cls, nranks: int, init: Callable[[Any, int], int]) -> "Comm":
        """All ranks in this process."""
        count = as_int(nranks, "the number of ranks", RANK_MAX)
        try:
            array = (ctypes.c_void_p * count)()
        except (MemoryError, OverflowError):
            raise CcsError(Status.ENOMEM, f"no memory for {count} ranks") from None
        check(init(array, count))
        return cls([ctypes.c_void_p(handle) for handle in array], tasks=True)

    @classmethod
    def cuda(cls, nranks: int, devices: Union[None, int, Sequence[int]] = None) -> "Comm":
        """All ranks in this process, on GPUs: on the one of that number, on those of a list, which
        has one for each rank, or, without, on all of this machine, in blocks as even as can be.
        Calls take lists, as with Comm.tasks, of memory of the ranks' GPUs, and modules must have
        kernels: compile(..., target="cuda")."""
        lib = library()
        if devices is None:
            return cls._here(nranks, lambda to, n: int(lib.ccs_comm_init_devices(to, n, None)))
        if isinstance(devices, int):
            one = as_int(devices, "a GPU", RANK_MAX)
            return cls._here(nranks, lambda to, n: int(lib.ccs_comm_init_cuda(to, n, one)))
        listed = [as_int(device, "a GPU", RANK_MAX) for device in devices]
        if len(listed) != nranks:
            raise ArgumentError(f"{len(listed)} GPUs were given for {nranks} ranks: one for each")
        array = (ctypes.c_int * len(listed))(*listed)
        return cls._here(nranks, lambda to, n: int(lib.ccs_comm_init_devices(to, n, array)))

    @staticmethod
    def unique_id() -> bytes:
        """An identifier by which the processes of Comm.cuda_procs() find one another: one process
        makes it, and sends it to the rest. It needs NCCL."""
        made = ctypes.create_string_buffer(ID_BYTES)
        check(library().ccs_get_unique_id(made))
        return made.raw

    @classmethod
    def cuda_procs(
        cls,
        rank: Optional[int] = None,
        nranks: Optional[int] = None,
        *,
        id: Optional[bytes] = None,  # pylint: disable=redefined-builtin
        device: int = 0,
    ) -> "Comm":
        """A process for each rank, on a GPU each. Without arguments, as torchrun, mpirun or srun
        has put them into the environment. Else by the identifier that one of them got from
        unique_id(). Returns when all are there."""
        handle = ctypes.c_void_p()
        if id is None:
            if rank is not None or nranks is not None:
                raise ArgumentError("Comm.cuda_procs: rank and nranks need id=, of unique_id()")
            check(library().ccs_comm_init_env(ctypes.byref(handle)))
            return cls([handle], tasks=False)
        if not isinstance(id, bytes) or len(id) != ID_BYTES:
            raise ArgumentError(f"id= must be the {ID_BYTES} bytes of unique_id()")
        numbers = as_int(nranks, "nranks", RANK_MAX), as_int(rank, "rank", RANK_MAX)
        where = as_int(device, "a GPU", RANK_MAX)
        check(library().ccs_comm_init_rank(ctypes.byref(handle), numbers[0], id, numbers[1], where))
        return cls([handle], tasks=False)

    @classmethod
    def procs(
        cls,
        rank: Optional[int] = None,
        nranks: Optional[int] = None,
        *,
        job: Optional[str] = None,
        address: Optional[str] = None,
        seconds: int = 0,
    ) -> "Comm":
        """A process for each rank, on one host, over shared memory. Without `rank` and `nranks`,
        as torchrun, mpirun or srun has put them into the environment. Else the processes find
        one another by `job`, a name that no other job on this host has, or by `address`,
        HOST:PORT, where rank 0 listens; within `seconds` (0: 300). Returns when all are there."""
        handle = ctypes.c_void_p()
        if rank is None and nranks is None:
            if job is not None or address is not None or seconds:
                raise ArgumentError("Comm.procs: job, address and seconds need rank and nranks")
            check(library().ccs_comm_init_procs(ctypes.byref(handle), None))
            return cls([handle], tasks=False)
        how = Procs(
            as_int(rank, "rank", RANK_MAX),
            as_int(nranks, "nranks", RANK_MAX),
            None if job is None else job.encode(),
            None if address is None else address.encode(),
            as_int(seconds, "seconds", 2**32 - 1),
        )
        check(library().ccs_comm_init_procs(ctypes.byref(handle), ctypes.byref(how)))
        return cls([handle], tasks=False)

    @classmethod
    def mpi(cls, *, threads: bool = False) -> "Comm":
        """The processes that mpirun has started, on one host or several, by MPI's messages. One
        thread at a time may use such communicators; with `threads`, a thread each. CcsError: MPI
        cannot do that."""
        handle = ctypes.c_void_p()
        lib = library()
        init = lib.ccs_comm_init_mpi_threads if threads else lib.ccs_comm_init_mpi
        check(init(ctypes.byref(handle)))
        return cls([handle], tasks=False)

    @property
    def rank(self) -> int:
        """This process's rank. ArgumentError if the process has all ranks: see `ranks`."""
        if self.is_tasks:
            raise ArgumentError("this process has all ranks: use comm.ranks")
        return self.ranks[0]

    def handles(self) -> List[ctypes.c_void_p]:
        """libccs's handles, in the order of `ranks`. CcsError: the communicator was closed."""
        if self._handles is None:
            raise CcsError(Status.EABORTED, "the communicator was closed: make a new one")
        return self._handles

    @property
    def lock(self) -> threading.RLock:
        """Held during a call."""
        return self._lock

    def turn(self) -> ContextManager[object]:
        """The lock that a thread holds while it waits for a request: other threads go on meanwhile,
        but one thread at a time calls MPI."""
        return self._lock if self.engine == "mpi" else self.pending.looking()

    def describe(self) -> str:
        """Where the ranks run, in words."""
        with self._lock:
            text = ctypes.create_string_buffer(_DESCRIPTION)
            check(library().ccs_comm_describe(self.handles()[0], text, _DESCRIPTION))
            return text.value.decode(errors="replace")

    def _each(self, call: Callable[[int, ctypes.c_void_p], object]) -> None:
        """Calls for each rank of this process, by its place among them, as a group."""
        lib = library()
        with self._lock:
            handles = self.handles()
            check(lib.ccs_group_start())
            try:
                for place, handle in enumerate(handles):
                    call(place, handle)
            except BaseException:
                lib.ccs_barrier(None, None)  # fails, and so does the whole group
                lib.ccs_group_end()
                raise
            check(lib.ccs_group_end())

    def _per_rank(self, value: object, what: str) -> List[object]:
        """Of tasks a list, one for each rank; else one."""
        if not self.is_tasks:
            return [value]
        if not isinstance(value, Sequence) or len(value) != self.size:
            raise ArgumentError(f"{what} must be a list of {self.size}, one for each rank")
        return list(value)

    def split(
        self,
        color: Union[None, int, Sequence[Optional[int]]],
        key: Union[int, Sequence[int]] = 0,
    ) -> Union[None, "Comm", List[Optional["Comm"]]]:
        """A communicator for each colour (0 or more), of the ranks that give it, in the order of
        their keys and then of their ranks. All ranks call it. A process gets its own, or None if
        its colour is None; for tasks colours, and keys if there are any, are lists, and the result
        is a list: for each rank its communicator, or None."""
        colors = [
            _NO_COLOR if one is None else as_int(one, "a colour", RANK_MAX)
            for one in self._per_rank(color, "color")
        ]
        if key == 0 and self.is_tasks:
            key = [0] * self.size
        keys = [_as_key(one) for one in self._per_rank(key, "key")]
        made = [ctypes.c_void_p() for _ in self.ranks]
        lib = library()
        self._each(
            lambda i, handle: lib.ccs_comm_split(handle, colors[i], keys[i], ctypes.byref(made[i]))
        )
        parts = {c: Comm._of(made, colors, c, self.is_tasks) for c in set(colors) - {_NO_COLOR}}
        ours = [parts.get(c) for c in colors]
        return ours if self.is_tasks else ours[0]

    @classmethod
    def _of(
        cls, made: List[ctypes.c_void_p], colors: List[int], color: int, tasks: bool
    ) -> "Comm":
        handles = [handle for handle, own in zip(made, colors) if own == color]
        return cls(sorted(handles, key=library().ccs_comm_rank), tasks)

    def group(self, ranks: Sequence[int]) -> Optional["Comm"]:
        """A communicator of the given ranks, in the order of the list. All ranks call it with the
        same list. A process that is not in it gets None."""
        members = [as_int(rank, "a rank", RANK_MAX) for rank in ranks]
        array = (ctypes.c_int * len(members))(*members)
        made = [ctypes.c_void_p() for _ in self.ranks]
        lib = library()
        self._each(
            lambda i, handle: lib.ccs_comm_group(
                handle, array, len(members), ctypes.byref(made[i])
            )
        )
        colors = [0 if handle else _NO_COLOR for handle in made]
        return Comm._of(made, colors, 0, self.is_tasks) if 0 in colors else None

    def members(self, ranks: Sequence[int], tag: int = 0) -> "Comm":
        """group() of Comm.mpi(), but the given ranks alone call it, of which this process's is one.
        It waits for them without a limit. `tag`, up to 32767, separates calls of several threads.
        CcsError: not by MPI."""
        members = [as_int(rank, "a rank", RANK_MAX) for rank in ranks]
        array = (ctypes.c_int * len(members))(*members)
        made = ctypes.c_void_p()
        number = as_int(tag, "a tag", RANK_MAX)
        with self._lock:
            check(
                library().ccs_comm_create_group(
                    self.handles()[0], array, len(members), number, ctypes.byref(made)
                )
            )
        return Comm([made], tasks=False)

    def barrier(self, stream: Any = None) -> None:
        """Returns when all ranks have called it; if all are in this process, it calls for all. On
        GPUs work put into the stream after it comes after the work that was in the streams of all
        ranks; without stream= it is the default one, and waited for."""
        lib, where = library(), places(self, stream)
        streams = [place.stream if place else None for place in where]
        self._each(lambda i, handle: lib.ccs_barrier(handle, streams[i]))
        wait_for(where)

    def check(self) -> None:
        """CcsError: a call that has returned has failed since, on a GPU. The communicator stays
        so."""
        with self._lock:
            check(library().ccs_comm_check(self.handles()[0]))

    def waits(self) -> str:
        """The ranks of this process that have waited on GPUs for longer than the timeout since the
        last call, with the place and the rank waited for; "" if none has."""
        with self._lock:
            text = ctypes.create_string_buffer(_DESCRIPTION * 4)
            check(library().ccs_comm_waits(self.handles()[0], text, len(text)))
        return text.value.decode()

    def batch(self) -> Batch:
        """An empty batch of messages, to be filled by its send() and recv(), and run at the end of
        a `with`, by its run() or by its start()."""
        return Batch(self)

    send = alone(
        "send",
        Batch.send,
        Batch.run,
        """Sends a buffer's elements to rank `peer`, which receives as many of the same type.
        Messages of two ranks and one tag match in the order of their calls. Returns when the
        message is received: two ranks that send to one another first wait until the timeout; a
        batch() does not.

        rank: the sender, of tasks; else this process's rank.
        dtype, stream: as with Module.run().
        tag: from 0 on; only 0 with Comm.mpi() and on GPUs.

        ArgumentError, BufferTypeError: nothing was begun. CcsError, on both ranks: lengths or
        types differ; nothing was written, and the communicator goes on. Other failures end it.""",
    )
    recv = alone(
        "recv",
        Batch.recv,
        Batch.received,
        """Receives a message from rank `peer` into the whole buffer; with None, the first message
        with this tag from any rank. Returns the sender's rank. Earlier messages of the peer with
        other tags are kept, up to 256 MiB. The rest is as with send().""",
    )
    isend = alone("isend", Batch.send, Batch.start, "send() that returns when it has begun.")
    irecv = alone(
        "irecv",
        Batch.recv,
        Batch.start,
        "recv() that returns when it has begun; the request's `source` is the sender's rank.",
    )

    def gather(self, mine: bytes) -> List[bytes]:
        """The data that every rank's process gives in its call, all of one length, in the order of
        ranks. It waits for all. If one process has all ranks, each gives the same."""
        everyone = ctypes.create_string_buffer(max(1, self.size * len(mine)))
        with self._lock:
            check(library().ccs_comm_gather(self.handles()[0], mine, everyone, len(mine)))
        step = len(mine)
        return [everyone.raw[rank * step : (rank + 1) * step] for rank in range(self.size)]

    def set_timeout(self, seconds: float) -> None:
        """The time without any progress after which a call fails (default 30 s; 0: never), rounded
        up to milliseconds. For all ranks."""
        if not 0 <= seconds < 2**32 / 1000 - 1:
            raise ArgumentError(f"a timeout must be from 0 to 4294966 seconds, not {seconds}")
        milliseconds = -int(-seconds * 1000 // 1)
        with self._lock:
            check(library().ccs_comm_set_timeout(self.handles()[0], milliseconds))

    def set_threads(self, threads: int) -> None:
        """How many threads run the tasks (0: one for each core). Before the first call only."""
        count = as_int(threads, "threads", RANK_MAX)
        with self._lock:
            check(library().ccs_comm_set_threads(self.handles()[0], count))

    def abort(self, why: str) -> None:
        """Ends its calls, also calls of other threads and later calls, with a CcsError that has the
        reason; if the ranks are processes on CPUs, in all of them. It does not wait. CcsError: not
        with Comm.mpi() without threads=True."""
        with self.pending.looking():
            check(library().ccs_comm_abort(self.handles()[0], why.encode(errors="replace")))

    def close(self) -> None:
        """Frees it; a second close() does nothing. A process waits until the other processes end
        the communicator, as they may use its memory, but no longer than the timeout; and for
        messages under way."""
        with self._lock:
            self._close(None)

    def _close(self, seconds: Optional[float]) -> None:
        """Waits no longer for threads that are inside; then it is left as it is."""
        self._handles = None
        if not self.pending.close(self._free, seconds):
            keep_for_ever(self)

    def end(self, error: Optional[BaseException]) -> None:
        """At the process's end, with the exception that ends it: close(), with requests under way,
        as other ranks may need them. Threads that are inside are daemons, and are not waited for,
        nor is anything after an exception: then abort() comes before."""
        if self._handles is None:
            return
        idle = self._lock.acquire(blocking=False)
        if error is not None or not idle or self.pending.is_busy:
            try:
                self.abort(_why(error))
            except CcsError:
                keep_for_ever(self)
                return
        if idle or self._lock.acquire(timeout=ABORTED):
            self._close(ABORTED)
        else:
            keep_for_ever(self)

    def __enter__(self) -> "Comm":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self._handles is None else ""
        return f"<ccs.Comm {self.engine}, {self.size} ranks{state}>"
