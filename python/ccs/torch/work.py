"""Calls under way: a worker thread for each group, which runs them in their order, and the
handles that torch waits for.

    submit(job) --worker, or at once--> job's function --> Work is done: value or exception
    message     --begun by its caller-> libccs --> MessageWork is done; by MPI a Carrier moves it

A job holds its tensors until it is done. A call that the caller waits for, with no other before
it, is run at once, in the caller's thread.
"""

import queue
import threading
import time
from collections import deque
from datetime import timedelta
from typing import Any, Callable, Deque, List, Optional

import torch
import torch._C._distributed_c10d as _c10d

from ..comm import Comm
from ..errors import CcsError, Status
from ..messages import Request

_Work: Any = _c10d.Work  # typed otherwise by each version of PyTorch

# Up to 1.13, torch's C++ code does not keep Python's half of a Work. The latest _KEPT of
# them are kept for it, and all that are under way; DDP has one for each of its buckets.
_KEPT = 4096
_LOOK, _LOOK_MOST = 0.00005, 0.0005  # seconds between two looks at messages by MPI


def told(what: str, error: BaseException) -> BaseException:
    """As torch's users know it: a time-out is the group's."""
    if isinstance(error, CcsError) and error.status == Status.ETIMEOUT:
        return CcsError(error.status, f"{what}: the group's timeout has passed: {error}")
    return error


class Work(_Work):  # type: ignore[misc]
    """The handle of a call."""

    def __init__(self, what: str, function: Callable[[], Any], result: List[torch.Tensor]) -> None:
        super().__init__()
        self._what = what
        self._function: Optional[Callable[[], Any]] = function
        self._result = result
        self._error: Optional[BaseException] = None
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._base: Any = None
        self._future: Any = None

    def run(self) -> None:
        """By the worker. Never raises: the handle has the exception."""
        function, self._function = self._function, None  # and with it the tensors that it holds
        try:
            assert function is not None
            function()
        except BaseException as error:  # pylint: disable=broad-except
            self._error = told(self._what, error)
        with self._lock:
            self._done.set()
            base = self._base
        if base is not None:
            base.set_result(None)

    # The methods that torch calls.

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        seconds = timeout.total_seconds() if timeout else None
        if not self._done.wait(seconds):
            raise CcsError(
                Status.ETIMEOUT, f"{self._what} was not done within {seconds} s; it goes on"
            )
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self._done.is_set()

    def is_success(self) -> bool:
        return self._done.is_set() and self._error is None

    def exception(self) -> Optional[BaseException]:
        return self._error

    def result(self) -> List[torch.Tensor]:
        self.wait()
        return self._result

    def get_future(self) -> Any:
        with self._lock:
            if self._future is None:
                base: Any = torch.futures.Future()
                # Only an exception of a callback is an error for C++, too.
                self._future = base.then(self._value)
                if self._done.is_set():
                    base.set_result(None)
                else:
                    self._base = base
            return self._future

    def _value(self, _: Any) -> List[torch.Tensor]:
        if self._error is not None:
            raise self._error
        return self._result


class MessageWork(_Work):  # type: ignore[misc]
    """The handle of a message. As with gloo's, there is no future."""

    def __init__(self, what: str, request: Request, tensors: List[torch.Tensor]) -> None:
        super().__init__()
        self._what = what
        self._request = request
        self._tensors = list(tensors)

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        try:
            self._request.wait(timeout.total_seconds() if timeout else None)
        except CcsError as error:
            if self._request.error is None:  # it goes on
                raise
            raise told(self._what, error)
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self._request.look()

    def is_success(self) -> bool:
        return self._request.look() and self._request.error is None

    def exception(self) -> Optional[BaseException]:
        return self._request.error

    def source_rank(self) -> int:
        """Of a receive: the sender's rank."""
        return self._request.source

    _source_rank = source_rank

    def result(self) -> List[torch.Tensor]:
        self.wait()
        return self._tensors


class Carrier:
    """Goes on with the messages of a communicator by MPI, which move only inside MPI's calls: by a
    thread, from the first message on, while any is under way."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm
        self._news = threading.Event()
        self._lock = threading.Lock()
        self._runs = self._ended = False

    def go(self) -> None:
        """A message has begun."""
        with self._lock:
            first, self._runs = not self._runs, True
        if first:
            threading.Thread(target=self._loop, name="ccs.torch.messages", daemon=True).start()
        self._news.set()

    def _loop(self) -> None:
        while not self._ended:
            self._news.wait()
            self._news.clear()
            nap = _LOOK
            while not self._ended and self._comm.pending.sweep():
                time.sleep(nap)
                nap = _LOOK if self._news.is_set() else min(2 * nap, _LOOK_MOST)
                self._news.clear()

    def end(self) -> None:
        """The communicator is about to be closed, which waits for its messages."""
        self._ended = True
        self._news.set()


class Worker:
    """Runs a group's calls, one at a time, in the order of submit()."""

    def __init__(self, name: str, at_end: Callable[[], None]) -> None:
        self._name = name
        self._at_end = at_end
        self._gate = threading.Lock()  # held while a call is put in its place
        self._jobs: "queue.SimpleQueue[Optional[Work]]" = queue.SimpleQueue()
        self._thread: Optional[threading.Thread] = None
        self._kept: Deque[Work] = deque()
        self._ended = False

    def submit(self, work: Work, at_once: bool) -> Work:
        with self._gate:
            self.check()
            idle = not self._kept or self._kept[-1].is_completed()
            self._keep(work)
            if at_once and idle:
                work.run()
            else:
                self._start()
                self._jobs.put(work)
        return work

    def check(self) -> None:
        """CcsError: the group was destroyed."""
        if self._ended:
            raise CcsError(Status.EABORTED, "the group was destroyed: make a new one")

    def _keep(self, work: Work) -> None:
        self._kept.append(work)
        while len(self._kept) > _KEPT and self._kept[0].is_completed():
            self._kept.popleft()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
            self._thread.start()

    def _loop(self) -> None:
        while True:
            work = self._jobs.get()
            if work is None:
                break
            work.run()
            del work  # its tensors are not held until the next call
        self._at_end()

    def end(self) -> None:
        """When all calls are done the communicator is freed, without waiting for it here."""
        with self._gate:
            self._end()

    def _end(self, start: bool = True) -> None:
        if self._ended:
            return
        self._ended = True
        if start:
            self._start()
        self._jobs.put(None)

    def end_soon(self) -> bool:
        """The same at the process's end, where no thread can be made; join() does the rest. False:
        a thread is inside a call, and it is a daemon."""
        if not self._gate.acquire(blocking=False):
            return False
        self._end(start=False)
        self._gate.release()
        return True

    def join(self, seconds: Optional[float] = None) -> None:
        """Waits for that, or does it; with a limit it only waits."""
        if self._thread is None and seconds is None:
            self._loop()
        elif self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)
