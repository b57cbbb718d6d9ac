"""Point to point: messages between two ranks, and batches of them that go on together; and requests:
these, or a schedule's runs, under way.

    send, recv --borrow--> Messages of a Batch --run--> over, or raised
                                               --start--> Request --wait, test--> over, or raised
    Module.start --> a Share of each rank -----begin-----> Request

A Request holds its buffers, and the communicator holds the Request, until it is over: a program may
drop one without waiting. Dropped requests are polled when more are begun, at the latest when there
are twice as many as last time.
"""

import ctypes
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    Type,
    TypeVar,
    Union,
)

from .buffers import borrow, check_dtype, dtype_number, dtype_size
from .ends import freed_with
from .errors import ArgumentError, BufferTypeError, CcsError, Status
from .gpu import Place, are_done, places, wait_for
from .native import ANY_SOURCE, RANK_MAX, as_int, check, library

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    from .comm import Comm

    End = ParamSpec("End")

Over = TypeVar("Over")

_LOOK = 0.00005  # seconds between two looks at a request with a limit, at first
_LOOK_MOST = 0.005
_LOOKS = 1000  # before a thread sleeps between two looks
_SWEEP = 16  # requests under way before any is looked at

AtEnd = Callable[[Optional[CcsError]], None]


@dataclass(frozen=True)
class Message:
    """An end of a message. `owner` keeps the memory in place; libccs writes the sender's rank to
    `source`; `place` is its place on a GPU."""

    sends: bool
    rank: int
    peer: int
    address: int
    count: int
    dtype: str
    owner: object = None
    tag: int = 0
    source: Optional[ctypes.c_int] = None
    place: Optional[Place] = None

    @property
    def name(self) -> str:
        """For people."""
        tag = f" with tag {self.tag}" if self.tag else ""
        if self.sends:
            return f"what rank {self.rank} sends to rank {self.peer}{tag}"
        peer = "any rank" if self.peer == ANY_SOURCE else f"rank {self.peer}"
        return f"what rank {self.rank} receives from {peer}{tag}"

    def released(self) -> "Message":
        """Without its memory."""
        return replace(self, address=0, owner=None)

    @property
    def end(self) -> int:
        """The address behind its memory."""
        return self.address + self.count * dtype_size(self.dtype)


@dataclass(frozen=True)
class Share:
    """A rank's part in a schedule's run."""

    name: str
    owner: object
    place: Optional[Place]

    def released(self) -> "Share":
        """Without its memory."""
        return replace(self, owner=None)


def _check_apart(messages: Sequence[Message]) -> None:
    """Nothing is received where another of them reads or writes. O(n log n)."""
    reader: Optional[Message] = None  # those so far that reach farthest
    writer: Optional[Message] = None
    for m in sorted((m for m in messages if m.count), key=lambda m: m.address):
        for other in (writer, None if m.sends else reader):
            if other is not None and m.address < other.end:
                raise ArgumentError(
                    f"{m.name} shares memory with {other.name}: a message that is received "
                    "in a batch needs memory that no other message of the batch uses"
                )
        if m.sends and (reader is None or m.end > reader.end):
            reader = m
        if not m.sends and (writer is None or m.end > writer.end):
            writer = m


class Pending:
    """A communicator's requests that are not known to be over, and the number of threads that are
    inside libccs for one of them. Until they return it is not freed."""

    def __init__(self) -> None:
        self._gate = threading.Condition()
        self._inside = 0
        self._lock = threading.Lock()
        self._requests: Set["Request"] = set()
        self._limit = _SWEEP

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Held by a thread that is inside."""
        with self._gate:
            self._inside += 1
        try:
            yield
        finally:
            with self._gate:
                self._inside -= 1
                self._gate.notify_all()

    @property
    def is_busy(self) -> bool:
        """Whether a thread is inside."""
        return self._inside > 0

    def close(self, free: Callable[[], object], seconds: Optional[float]) -> bool:
        """free(), while no thread is inside. All requests are over then. False: one was for so
        long."""
        with self._gate:
            if not self._gate.wait_for(lambda: self._inside == 0, seconds):
                return False
            free()
        self.sweep()
        return True

    def add(self, request: "Request") -> None:
        with self._lock:
            self._requests.add(request)
            full = len(self._requests) >= self._limit
        if full:
            self.sweep()

    def discard(self, request: "Request") -> None:
        with self._lock:
            self._requests.discard(request)

    def sweep(self) -> int:
        """Polls all of them, and drops the ones that are over. Returns the number of the rest."""
        with self._lock:
            requests = list(self._requests)
        for request in requests:
            request.look()
        with self._lock:
            self._limit = max(_SWEEP, 2 * len(self._requests))
            return len(self._requests)


class Request:
    """Calls under way, as Module.start(), Batch.start(), Comm.isend() and Comm.irecv() return it.
    Their buffers are in use until it is over. Any thread may ask."""

    def __init__(
        self,
        handle: ctypes.c_void_p,
        parts: Union[Sequence[Message], Sequence[Share]],
        comm: "Comm",
        at_end: Optional[AtEnd] = None,
        also: Optional[Callable[[], None]] = None,
    ) -> None:
        """`also` raises failures outside libccs, once it is over."""
        self._handle = handle
        freed_with(self, library().ccs_request_free, handle)
        self._parts = parts
        self._comm = comm
        self._at_end = at_end
        self._also = also
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._through = False  # as libccs knows; on GPUs the messages are in their streams
        self.error: Optional[CcsError] = None
        """The failure, once it is over."""
        comm.pending.add(self)

    def test(self) -> bool:
        """Whether it is over; does not wait. CcsError, every time: a call of it has failed."""
        self.look()
        if self._over.is_set():
            self._tell()
        return self._over.is_set()

    def wait(self, timeout: Optional[float] = None) -> None:
        """Until it is over. CcsError: a call of it has failed, or, with ETIMEOUT, it was not over
        within `timeout` seconds; then it goes on. Without one, the communicator's counts."""
        if timeout is not None:
            self._wait_at_most(timeout)
        elif not self._over.is_set():
            with self._lock:
                if not self._over.is_set():
                    self._settle(self._wait())
        self._tell()

    def _wait(self) -> Optional[CcsError]:
        """What went wrong."""
        try:
            if self._comm.engine == "mpi":
                self._poll()
            elif not self._through:
                with self._comm.turn():
                    check(library().ccs_wait(self._handle))
                self._through = True
            wait_for(part.place for part in self._parts)
        except CcsError as error:
            return error
        return None

    def _poll(self) -> None:
        """Until it is over, where one thread at a time calls MPI: between two looks it is the turn
        of other threads."""
        looks = 0
        while not self._is_done():
            time.sleep(0 if looks < _LOOKS else _LOOK)
            looks += 1

    def _wait_at_most(self, seconds: float) -> None:
        end, nap = time.monotonic() + seconds, _LOOK
        while not self.look():
            left = end - time.monotonic()
            if left <= 0:
                raise CcsError(
                    Status.ETIMEOUT,
                    f"{self._parts[0].name} was not through within {seconds} s; it goes on",
                )
            self._over.wait(min(nap, left))
            nap = min(2 * nap, _LOOK_MOST)

    def look(self) -> bool:
        """test() that raises nothing."""
        if self._over.is_set() or not self._lock.acquire(blocking=False):
            return self._over.is_set()  # the waiting thread will see it
        try:
            if not self._over.is_set():
                try:
                    if self._is_done():
                        self._settle(None)
                except CcsError as error:
                    self._settle(error)
        finally:
            self._lock.release()
        return self._over.is_set()

    def _is_done(self) -> bool:
        done = ctypes.c_int(self._through)
        if not self._through:
            with self._comm.turn():
                check(library().ccs_test(self._handle, ctypes.byref(done)))
            self._through = bool(done.value)
        return self._through and are_done(part.place for part in self._parts)

    def _settle(self, error: Optional[CcsError]) -> None:
        self.error = error
        self._parts = [part.released() for part in self._parts]  # type: ignore[assignment]
        self._over.set()
        self._comm.pending.discard(self)
        if self._at_end is not None:
            self._at_end(error)

    @property
    def source(self) -> int:
        """The sender of the first message that it received; before that, the peer of that
        message."""
        first = self._parts[0]
        if not isinstance(first, Message):
            raise ArgumentError("a schedule's run receives from no one rank")
        known = self._over.is_set() and self.error is None and first.source is not None
        return first.source.value if known and first.source is not None else first.peer

    def _tell(self) -> None:
        if self.error is not None:
            raise CcsError(self.error.status, self.error.text)
        if self._also is not None:
            self._also()

    def __repr__(self) -> str:
        state = "over" if self._over.is_set() else "under way"
        return f"<ccs.Request of {len(self._parts)} calls, {state}>"


def _call(m: Message, handle: ctypes.c_void_p) -> None:
    lib = library()
    head = (m.address, m.count, dtype_number(m.dtype), m.peer, m.tag)
    stream = m.place.stream if m.place else None
    if m.sends:
        check(lib.ccs_send_tagged(*head, handle, stream))
    else:
        source = None if m.source is None else ctypes.byref(m.source)
        check(lib.ccs_recv_tagged(*head, source, handle, stream))


def _group(comm: "Comm", messages: Sequence[Message], end: Callable[[], int]) -> None:
    """The calls of a group, and its end. Under comm.lock."""
    lib, handles = library(), dict(zip(comm.ranks, comm.handles()))
    check(lib.ccs_group_start())
    try:
        for m in messages:
            _call(m, handles[m.rank])
    except BaseException:
        # Also after Ctrl-C: a call without a communicator fails, and so does the whole group.
        lib.ccs_send(None, 0, 0, 0, None, None)
        lib.ccs_group_end()
        raise
    check(end())


def run_together(comm: "Comm", messages: Sequence[Message]) -> None:
    """Returns when all are done, or, if they name streams, are in these. Only ranks and peers are
    checked."""
    with comm.lock:
        _group(comm, messages, library().ccs_group_end)


def start(
    comm: "Comm", messages: Sequence[Message], at_end: Optional[AtEnd] = None
) -> Request:
    """Begins them, together. Only ranks and peers are checked. `at_end` is called once, by the
    thread that sees their end, with the failure or None."""
    handle = ctypes.c_void_p()
    with comm.lock:
        _group(comm, messages, lambda: library().ccs_group_submit(ctypes.byref(handle)))
    return Request(handle, messages, comm, at_end)


class Batch:
    """Messages that go on together, in any order, so that an exchange cannot deadlock. Made by
    Comm.batch(). At the end of a `with` it is run."""

    def __init__(self, comm: "Comm") -> None:
        self._comm = comm
        self._messages: List[Message] = []

    def send(
        self,
        buffer: Any,
        peer: int,
        *,
        rank: Optional[int] = None,
        dtype: Optional[str] = None,
        tag: int = 0,
        stream: Any = None,
    ) -> None:
        """As Comm.send(), when the batch is run."""
        self._add(True, buffer, as_int(peer, "a peer", RANK_MAX), rank, dtype, tag, stream)

    def recv(
        self,
        buffer: Any,
        peer: Optional[int] = None,
        *,
        rank: Optional[int] = None,
        dtype: Optional[str] = None,
        tag: int = 0,
        stream: Any = None,
    ) -> None:
        """As Comm.recv(), when the batch is run."""
        source = ANY_SOURCE if peer is None else as_int(peer, "a peer", RANK_MAX)
        self._add(False, buffer, source, rank, dtype, tag, stream)

    def run(self) -> None:
        """Returns when all are done. Then the batch is empty. CcsError: the first failure."""
        self._run()

    def _run(self) -> List[Message]:
        """The messages that were run."""
        messages, comm = self._take(), self._comm
        alone = len(messages) == 1 and messages[0]
        if alone and (not comm.is_tasks or alone.peer == alone.rank):  # which is refused
            with comm.lock:
                _call(alone, comm.handles()[comm.ranks.index(alone.rank)])
        elif comm.is_tasks and messages:  # no lock: its peers need it
            start(comm, messages).wait()
        else:
            run_together(comm, messages)
        wait_for(m.place for m in messages)
        return messages

    def received(self) -> int:
        """run(); then the sender of the first message that it received."""
        source = self._run()[0].source
        assert source is not None
        return source.value

    def start(self) -> Request:
        """Returns when they have begun. Then the batch is empty. ArgumentError: it is empty."""
        messages = self._take()
        if not messages:
            raise ArgumentError("the batch has no messages to start")
        return start(self._comm, messages)

    def _take(self) -> List[Message]:
        _check_apart(self._messages)
        messages, self._messages = self._messages, []
        return messages

    def _add(
        self,
        sends: bool,
        obj: Any,
        peer: int,
        rank: Optional[int],
        dtype: Optional[str],
        tag: int,
        stream: Any,
    ) -> None:
        if dtype is not None:
            check_dtype(dtype)
        own, tag = self._rank(rank), as_int(tag, "a tag", RANK_MAX)
        name = Message(sends, own, peer, 0, 0, "", tag=tag).name
        place = places(self._comm, stream)[self._comm.ranks.index(own)]
        buffer = borrow(obj, dtype, name, place)
        if not sends and buffer.readonly:
            raise BufferTypeError(
                f"{name} is read-only: give memory that can be written, "
                "such as a bytearray, an array.array or a copy"
            )
        source = None if sends else ctypes.c_int(peer)
        self._messages.append(
            Message(
                sends,
                own,
                peer,
                buffer.address,
                buffer.length,
                buffer.dtype,
                buffer,
                tag,
                source,
                place,
            )
        )

    def _rank(self, rank: Optional[int]) -> int:
        """The rank at this end of the message."""
        comm = self._comm
        if rank is None and comm.is_tasks:
            raise ArgumentError("this process has all ranks: say which by rank=")
        own = comm.ranks[0] if rank is None else as_int(rank, "rank", RANK_MAX)
        if own not in comm.ranks:
            raise ArgumentError(f"rank {own} is not of this process, which has {comm.ranks}")
        return own

    def __enter__(self) -> "Batch":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if kind is None:
            self.run()


def alone(
    name: str,
    add: "Callable[Concatenate[Batch, End], None]",
    go: "Callable[[Batch], Over]",
    text: str,
) -> "Callable[Concatenate[Comm, End], Over]":
    """A method of Comm, of that name and text: a batch of the one message that `add` puts there,
    with the arguments of `add`; the result is that of `go`."""

    @wraps(add)
    def call(comm: "Comm", *args: "End.args", **how: "End.kwargs") -> Over:
        batch = Batch(comm)
        add(batch, *args, **how)
        return go(batch)

    call.__name__, call.__qualname__, call.__doc__ = name, f"Comm.{name}", text
    given, made = signature(add), signature(go)
    setattr(call, "__signature__", given.replace(return_annotation=made.return_annotation))
    return call
