"""A group's calls on tensors of a GPU: a communicator of the processes' GPUs, and a stream for its
calls, apart from the stream of the caller's computations.

    submit --the stream waits for the caller's--> function puts the call there --event--> StreamWork
                                                                          wait: the caller's waits

The host does not wait. Memory that a call uses is kept until its event has come. A rank's calls are
done in the order of the stream.
"""

import threading
from collections import deque
from dataclasses import replace
from datetime import timedelta
from time import monotonic, sleep
from typing import Any, Callable, Deque, List, Optional, Tuple

import torch
import torch._C._distributed_c10d as _c10d

from ..comm import Comm
from ..errors import ArgumentError, CcsError, Status
from ..gpu import Place
from ..messages import Message, run_together
from .tensors import in_order

Tensor = torch.Tensor
_Work: Any = _c10d.Work  # typed otherwise by each version of PyTorch
_cuda: Any = torch.cuda
_NAP = 0.0005  # seconds between two looks at an event


class StreamWork(_Work):  # type: ignore[misc]
    """The handle of work that was put into the stream."""

    def __init__(self, what: str, device: "Device", event: Any, result: List[Tensor]) -> None:
        super().__init__()
        self._what, self._device, self._event, self._result = what, device, event, result

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Work that the caller puts into its stream from now on comes after it. With a timeout the
        caller itself waits."""
        end = monotonic() + timeout.total_seconds()
        while timeout and not self._event.query():
            if monotonic() > end:
                raise CcsError(
                    Status.ETIMEOUT, f"{self._what} was not done within {timeout}; it goes on"
                )
            sleep(_NAP)
        self._device.comm.check()
        self._device.current().wait_event(self._event)
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        done: bool = self._event.query()
        return done

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def exception(self) -> Optional[BaseException]:
        try:
            self._device.comm.check()
        except CcsError as error:
            return error
        return None

    def result(self) -> List[Tensor]:
        self.wait()
        return self._result

    def get_future(self) -> Any:
        """Callbacks and waits of this future come after it in their streams."""
        future: Any = torch.futures.Future(devices=[self._device.device])
        with self._device.inside():
            _cuda.current_stream(self._device.device).wait_event(self._event)
            future.set_result(self._result)
        return future


class Device:
    """This process's GPU in a group. It is made by the first call with tensors of a GPU, which all
    ranks of the group make."""

    def __init__(
        self, store: Any, rank: int, size: int, device: torch.device, seconds: int
    ) -> None:
        if rank == 0:
            store.set("id", Comm.unique_id().hex())
        meeting = bytes.fromhex(store.get("id").decode())
        self.device = device
        self.comm = Comm.cuda_procs(rank, size, id=meeting, device=device.index)
        self.comm.set_timeout(seconds)
        self._stream: Any = _cuda.Stream(device)
        self._lock = threading.Lock()  # held while a call is put into the stream
        self._busy: Deque[Tuple[Any, object]] = deque()

    @property
    def stream(self) -> int:
        """CUstream."""
        handle: int = self._stream.cuda_stream
        return handle

    def inside(self) -> Any:
        """A context in which torch's own calls go into the stream."""
        return _cuda.stream(self._stream)

    def current(self) -> Any:
        """The caller's stream."""
        return _cuda.current_stream(self.device)

    def check(self, tensor: Tensor, what: str) -> None:
        """It is the group's GPU."""
        if tensor.device != self.device:
            raise ArgumentError(
                f"{what}: a tensor is on {tensor.device}, and this rank of the group is on "
                f"{self.device}: a rank has one GPU"
            )

    def submit(self, what: str, function: Callable[[], None], result: List[Tensor]) -> StreamWork:
        """The handle of the work that `function` puts into the stream. The objects that it refers
        to are kept until it is done."""
        with self._lock:
            while self._busy and self._busy[0][0].query():
                self._busy.popleft()
            self._stream.wait_stream(self.current())
            with self.inside():
                function()
                event = self._stream.record_event()
            self._busy.append((event, (function, result)))
        return StreamWork(what, self, event, result)

    def message(self, message: Message) -> Message:
        """One that goes into the stream."""
        return replace(message, place=Place(self.device.index, self.stream, False))

    def send(self, what: str, messages: List[Message]) -> StreamWork:
        """Puts them there, together. Their tensors are their owners."""

        def function() -> None:
            owners: List[Any] = [message.owner for message in messages]
            plain = [in_order(tensor) for tensor in owners]
            run_together(
                self.comm, [replace(m, address=t.data_ptr()) for m, t in zip(messages, plain)]
            )
            for message, tensor, moved in zip(messages, owners, plain):
                if not message.sends and moved.data_ptr() != message.address:
                    tensor.detach().copy_(moved)

        return self.submit(what, function, [])

    def close(self) -> None:
        """When the work in the stream is done."""
        self._stream.synchronize()
        self._busy.clear()
        self.comm.close()
