"""The common part of all calls of a group: the interface that torch needs of a group, and how a
call is chosen, put in its place, and run. How its processes meet: meet.py.

    allreduce(t) --check, choose--> Call --Worker--> Module.run_at(addresses)
                                     |
                                     +--> Work, the handle
"""

import ctypes
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, List, Optional

import torch
import torch._C._distributed_c10d as _c10d

from ..comm import ABORTED, Comm, abort_all
from ..ends import Living, freed_with, reason
from ..errors import ArgumentError, CcsError, Status
from ..messages import Message
from ..native import RunOptions
from .meet import all_of, meet, seconds_of
from .monitored import MonitoredBarrier
from .recorder import Recorder
from .schedules import Choice, Schedules
from .tally import Tally
from .device import Device
from .tensors import Reduction, Tensor, check_plain, in_order, on_gpu
from .work import Carrier, Work, Worker

c10d: Any = _c10d  # its members differ between versions of PyTorch
Handle = Any  # torch's Work: ours, or gloo's

_living: "Living[Worker]" = Living()


def end_all() -> None:
    """At the process's end: waits until the calls of all groups are done, and frees their
    communicators. After an exception the calls fail first; threads must not be inside torch when
    the interpreter ends."""
    error = reason()
    if error is not None:
        abort_all(error)
    for worker in [worker for worker in _living if worker.end_soon()]:
        worker.join(None if error is None else ABORTED)


@dataclass(frozen=True)
class Call:
    """A collective on tensors, and the choice that runs it."""

    operation: str
    like: Optional[Tensor]  # of its tensors; None: it has none
    choice: Choice
    run: Callable[[Choice], None]
    gloo: Callable[[Any], Any]


def _is_gpu(device: Any) -> bool:
    return isinstance(device, torch.device) and device.type == "cuda"


class _OnGpus:
    """A group, as torch asks it for its GPUs: messages of a batch begin together there."""

    supports_coalescing = True

    def __init__(self, group: "Group") -> None:
        self._group = group

    def __getattr__(self, name: str) -> Any:
        return getattr(self._group, name)


class _Devices(List[torch.device]):
    """The devices of a group. As it has no half in C++, PyTorch's flight recorder cannot be attached
    to it, which tries unless this is false."""

    def __bool__(self) -> bool:
        return False


# ---- the group -------------------------------------------------------------------------------


class Group(c10d.ProcessGroup):  # type: ignore[misc]
    """A group, but for its calls (group.py)."""

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int,
        timeout: timedelta,
        schedules: Schedules,
        tally: Tally,
        recorder: Optional[Recorder] = None,
    ) -> None:
        super().__init__(rank, size)
        self._schedules, self._tally = schedules, tally
        self._rank, self._size = rank, size
        self._group_name = self._group_desc = "undefined"
        self._gloo: Any = None
        if schedules.uses_gloo:
            self._gloo = c10d.ProcessGroupGloo(
                c10d.PrefixStore("ccs/gloo", store), rank, size, timeout=timeout
            )
        comm = meet(store, rank, size, timeout)
        mail = all_of(comm, timeout)
        carrier = Carrier(mail) if mail.engine == "mpi" else None
        self._comm, self._mail, self._carrier = comm, mail, carrier
        self._device_store = c10d.PrefixStore("ccs/gpu", store)
        self._batch: Optional[List[Message]] = None  # of messages between GPUs

        devices: List[Device] = []  # one, once there was a call with tensors of a GPU
        self._devices = devices

        def at_end() -> None:
            for device in devices:
                device.close()
            if carrier is not None:
                carrier.end()
            mail.close()
            comm.close()

        self._worker = Worker("ccs.torch", at_end)
        _living.add(self._worker)
        freed_with(self, Worker.end, self._worker)
        self._sequence = 0
        self._timeout = timeout
        self._recorder = recorder
        if recorder is not None:
            recorder.join(self)
        self._monitored = MonitoredBarrier(c10d.PrefixStore("ccs/monitored", store), rank, size)

    # What torch asks.

    @property
    def _device_types(self) -> List[torch.device]:
        names = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
        return _Devices([torch.device(name) for name in names])

    def getBackendName(self) -> str:
        return "ccs"

    def _get_backend_name(self) -> str:
        return "ccs"

    def name(self) -> str:
        return "ccs"

    # Its name: torch 2's C++ asks for it by the one, Python by the other.

    def setGroupName(self, name: str) -> None:
        self._group_name = name

    _set_group_name = setGroupName

    def getGroupName(self) -> str:
        return self._group_name

    @property
    def group_name(self) -> str:
        return self._group_name

    def setGroupDesc(self, text: str) -> None:
        self._group_desc = text

    _set_group_desc = setGroupDesc

    def getGroupDesc(self) -> str:
        return self._group_desc

    @property
    def group_desc(self) -> str:
        return self._group_desc

    def _get_backend(self, device: Any) -> Any:
        if torch.device(device).type not in ("cpu", "cuda"):
            raise CcsError(
                Status.EUNSUPPORTED,
                f"the back end ccs has no device {device}: give it tensors on cpu or cuda",
            )
        return _OnGpus(self) if torch.device(device).type == "cuda" else self

    supports_splitting = False  # new_group() makes communicators of their own
    _supports_time_estimate = False

    @property
    def supports_coalescing(self) -> bool:
        return False

    def _start_coalescing(self, device: Any = None) -> None:
        """Calls of a batch are begun one by one, but for messages between GPUs."""
        self._batch = []

    def _end_coalescing(self, where: Any = None) -> Handle:
        """`where` is a device, or torch 1.13's list of handles."""
        messages, self._batch = self._batch or [], None
        if not messages and (not self._devices or not _is_gpu(where)):
            return None
        work = self._devices[0].send("a batch of messages", messages)
        if isinstance(where, list):
            where.append(work)
        return work

    def _set_sequence_number_for_group(self) -> None:
        self._sequence = 0

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout
        for comm in self._comms():
            comm.set_timeout(seconds_of(timeout))

    def _comms(self) -> List[Comm]:
        return [self._comm, self._mail, *(device.comm for device in self._devices)]

    def shutdown(self) -> None:
        """The group's calls end, and its communicators are freed."""
        self._worker.end()

    def abort(self) -> None:
        """The same without waiting: calls under way fail, on all ranks where these are on the
        CPU."""
        for comm in self._comms():
            with suppress(CcsError):  # it was given back
                comm.abort("its group was aborted")
        self.shutdown()

    # Calls.

    def _refuse(self, operation: str, error: CcsError) -> CcsError:
        self._tally.refused(operation, str(error))
        return error

    def _gpu(self, like: Optional[Tensor]) -> Optional[Device]:
        """Where a call with such a tensor goes; None: to the CPU. The first call that goes there is
        made by all ranks."""
        if like is None or not on_gpu(like):
            return None
        self._worker.check()
        if not self._devices:
            store, seconds = self._device_store, seconds_of(self._timeout)
            self._devices.append(Device(store, self._rank, self._size, like.device, seconds))
        return self._devices[0]

    def _choose(self, operation: str, block: int, like: Optional[Tensor]) -> Choice:
        engine = "cuda" if on_gpu(like) else self._comm.engine
        try:
            choice = self._schedules.choose(operation, self._size, block, engine)
        except CcsError as error:
            raise self._refuse(operation, error)
        if self._rank == 0:
            self._schedules.inform(operation, self._size, block, choice)
        return choice

    def _call(
        self,
        operation: str,
        like: Optional[Tensor],
        run: Callable[[Choice], None],
        gloo: Callable[[Any], Any],
    ) -> Call:
        """A call with a choice that depends on its block alone, which is a tensor."""
        block = 0 if like is None else like.numel() * like.element_size()
        choice = self._choose(operation, block, like)
        if choice.module is None and like is not None:
            self._checked(operation, check_plain, like)
        return Call(operation, like, choice, run, gloo)

    def _start(self, calls: List[Call], options: Any, result: List[Tensor]) -> Handle:
        """Puts them in their place, with one handle for all. It holds the tensors, as the calls'
        functions do, until they are done."""

        def function() -> None:
            for call in calls:
                if call.choice.module is None:
                    call.gloo(self._gloo).wait()
                else:
                    call.run(call.choice)
                self._tally.ran(call.operation, call.choice.label)

        return self._submit(calls[0].operation, options, result, function, calls[0].like)

    def _submit(
        self,
        operation: str,
        options: Any,
        result: List[Tensor],
        function: Callable[[], None],
        like: Optional[Tensor],
    ) -> Handle:
        """To where a tensor of it is."""
        self._sequence += 1
        device = self._gpu(like)
        if device is not None and like is not None:
            self._checked(operation, device.check, like)
            return device.submit(operation, function, result)
        if self._recorder is not None:
            function = self._recorder.recorded(self, operation, function, like, result)
        at_once = getattr(options, "asyncOp", True) is False
        return self._worker.submit(Work(operation, function, result), at_once)

    def _run(
        self,
        choice: Choice,
        send: Optional[Tensor],
        recv: Optional[Tensor],
        count: int,
        dtype: str,
        reduction: Optional[Reduction] = None,
        root: int = 0,
        sizes: Any = None,
    ) -> None:
        assert choice.module is not None
        how = RunOptions.from_buffer_copy(choice.options) if choice.options else RunOptions()
        if reduction:
            how.scalar = reduction.address or None
        if sizes is not None:
            how.sizes = ctypes.addressof(sizes)
        device = self._gpu(send if send is not None else recv)
        give = None if send is None else in_order(send)
        take = give if recv is send or recv is None else in_order(recv)
        choice.module.run_at(
            device.comm if device else self._comm,
            0 if give is None else give.data_ptr(),
            0 if take is None or recv is None else take.data_ptr(),
            count,
            dtype,
            reduction.op if reduction else "sum",
            root,
            how,
            device.stream if device else 0,
        )
        if recv is not None and take is not None and take.data_ptr() != recv.data_ptr():
            recv.detach().copy_(take.view(recv.shape))

    def _checked(self, operation: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(*arguments, operation); a call that it refuses is counted."""
        try:
            return function(*arguments, operation)
        except CcsError as error:
            raise self._refuse(operation, error)

    def _root(self, rank: int, what: str) -> int:
        if not 0 <= rank < self._size:
            raise ArgumentError(f"{what}: there is no rank {rank} among {self._size}")
        return rank
