"""The process group: torch's calls, run by schedules over processes of one host.

    all_reduce(t) --check, choose--> _Call --Worker--> Module.run_at(addresses)
                                       |
                                       +--> Work, the handle

    send(t, peer) --check--> Message --start--> Request of libccs --> MessageWork, the handle

Messages are no part of that order: they are begun at once, and go on by themselves, so that two
ranks may send to one another first. They have a communicator of their own, as the worker may be
inside a call on the other.

Arguments are looked at, and what runs a call is chosen, before it is put in its place; what is
wrong raises at once, in the caller. A list of tensors is joined in new memory, and taken apart
again, by the worker.
"""

import ctypes
import uuid
import weakref
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Callable, List, Optional, Sequence, Union

import torch
import torch._C._distributed_c10d as _c10d

from ..comm import Comm
from ..errors import ArgumentError, CcsError, Status
from ..messages import Message, start
from ..native import ANY_SOURCE, RANK_MAX, RunOptions
from ..options import size_array
from .agreed import Counts, entries, splits
from .monitored import MonitoredBarrier
from .schedules import P2P, Choice, Schedules
from .sparse import check_sparse, gathered_sum
from .tally import Tally
from .tensors import (
    Reduction,
    Tensor,
    check,
    check_alike,
    check_blocks,
    flat,
    moved,
    one,
    scatter_out,
)
from .work import MessageWork, Work, Worker

c10d: Any = _c10d  # what it has differs between versions of PyTorch
Handle = Any  # torch's Work: ours, or gloo's

_BOOT = "/proc/sys/kernel/random/boot_id"
_SECONDS_MAX = 4294966  # what libccs takes


# ---- meeting ---------------------------------------------------------------------------------


def _host() -> str:
    try:
        with open(_BOOT, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def _seconds(timeout: timedelta) -> int:
    return min(_SECONDS_MAX, max(1, int(timeout.total_seconds())))


def _meet(store: Any, rank: int, size: int, timeout: timedelta) -> Comm:
    """A communicator of the group's processes, which tell one another by the store where they
    are, and what name they meet by."""
    here = _host()
    store.set(f"ccs/host/{rank}", here)
    if rank == 0:
        store.set("ccs/job", f"torch-{uuid.uuid4().hex}")
    for other in range(size):
        if store.get(f"ccs/host/{other}").decode() != here:
            raise CcsError(
                Status.EUNSUPPORTED,
                f"ranks {rank} and {other} are on different hosts: the ranks of the back end ccs "
                "are processes of one host; gloo's, such as new_group(backend='gloo'), reach others",
            )
    job = store.get("ccs/job").decode()
    comm = Comm.procs(rank, size, job=job, seconds=_seconds(timeout))
    comm.set_timeout(_seconds(timeout))
    return comm


def _all_of(comm: Comm, timeout: timedelta) -> Comm:
    """Another communicator of all its ranks."""
    other = comm.split(0)
    assert isinstance(other, Comm)
    other.set_timeout(_seconds(timeout))
    return other


_live: "weakref.WeakSet[Worker]" = weakref.WeakSet()


def end_all() -> None:
    """Waits until the calls of all groups are done, and gives their communicators back."""
    workers = list(_live)
    for worker in workers:
        worker.end()
    for worker in workers:
        worker.join()


@dataclass(frozen=True)
class _Call:
    """A collective on tensors, and what runs it."""

    operation: str
    choice: Choice
    run: Callable[[Choice], None]
    gloo: Callable[[Any], Any]


def _bytes(tensor: Tensor) -> int:
    size: int = tensor.numel() * tensor.element_size()
    return size


def _only(lists: Sequence[Any], what: str) -> List[Tensor]:
    """The one list of a list."""
    if len(lists) != 1:
        raise ArgumentError(f"{what}: one list of tensors for each process, not {len(lists)}")
    return list(lists[0])


def _some(tensors: Sequence[Tensor], what: str) -> None:
    if not tensors:
        raise ArgumentError(f"{what}: there are no tensors")
    check(tensors, what)


def _pairs(outputs: Sequence[Tensor], inputs: Sequence[Tensor], what: str) -> None:
    _some(outputs, what)
    _some(inputs, what)
    if len(outputs) != len(inputs):
        raise ArgumentError(f"{what}: {len(outputs)} outputs for {len(inputs)} inputs")


def _lists(lists: Sequence[Sequence[Tensor]], size: int, tensors: int, what: str) -> None:
    """A list for each rank, each with so many tensors."""
    if len(lists) != size or any(len(parts) != tensors for parts in lists):
        raise ArgumentError(f"{what}: a list for each of {size} ranks, each of {tensors} tensors")


def _number(tensors: Sequence[Tensor], size: int, what: str) -> None:
    """A tensor for each rank, of one type."""
    if len(tensors) != size or len({tensor.dtype for tensor in tensors}) > 1:
        raise ArgumentError(f"{what}: one tensor for each of {size} ranks, all of one type")


def _blocks(tensor: Tensor, blocks: int) -> Sequence[Tensor]:
    """Its parts, one after another, where they lie."""
    parts: Sequence[Tensor] = tensor.detach().view(-1).chunk(blocks)
    return parts


def _tag(tag: int, what: str) -> None:
    if not 0 <= tag <= RANK_MAX:
        raise ArgumentError(f"{what}: a tag must be from 0 to {RANK_MAX}, not {tag}")


def _same(tensor: Tensor) -> Tensor:
    return tensor


class _Devices(List[torch.device]):
    """The devices of a group. As it has no half in C++, PyTorch's flight recorder cannot be attached
    to it, which tries unless this is false."""

    def __bool__(self) -> bool:
        return False


# ---- the group -------------------------------------------------------------------------------


class ProcessGroupCCS(c10d.ProcessGroup):  # type: ignore[misc]
    """The group that init_process_group("ccs") and new_group() make."""

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int,
        timeout: timedelta,
        schedules: Schedules,
        tally: Tally,
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
        comm = _meet(store, rank, size, timeout)
        mail = _all_of(comm, timeout)
        self._comm, self._mail = comm, mail

        def at_end() -> None:
            mail.close()
            comm.close()

        self._worker = Worker("ccs.torch", at_end)
        _live.add(self._worker)
        weakref.finalize(self, self._worker.end)
        self._sequence = 0
        self._timeout = timeout
        self._monitored = MonitoredBarrier(c10d.PrefixStore("ccs/monitored", store), rank, size)

    # What torch asks.

    @property
    def _device_types(self) -> List[torch.device]:
        return _Devices([torch.device("cpu")])

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

    def _get_backend(self, device: Any) -> "ProcessGroupCCS":
        if torch.device(device).type != "cpu":
            raise CcsError(
                Status.EUNSUPPORTED,
                f"the back end ccs has no device {device}: give it tensors on cpu",
            )
        return self

    @property
    def supports_coalescing(self) -> bool:
        return False

    def _start_coalescing(self, device: Any = None) -> None:
        """Calls of a batch are begun one by one."""

    def _end_coalescing(self, device: Any = None) -> Handle:
        return None

    def _set_sequence_number_for_group(self) -> None:
        self._sequence = 0

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout
        for comm in (self._comm, self._mail):
            comm.set_timeout(_seconds(timeout))

    def shutdown(self) -> None:
        """The group's calls end, and its communicator is given back."""
        self._worker.end()

    abort = shutdown

    # Calls.

    def _refuse(self, operation: str, error: CcsError) -> CcsError:
        self._tally.refused(operation, str(error))
        return error

    def _choose(self, operation: str, block: int) -> Choice:
        try:
            return self._schedules.choose(operation, self._size, block)
        except CcsError as error:
            raise self._refuse(operation, error)

    def _call(
        self,
        operation: str,
        block: int,
        run: Callable[[Choice], None],
        gloo: Callable[[Any], Any],
    ) -> _Call:
        """A call whose choice follows from the bytes of its block alone."""
        return _Call(operation, self._choose(operation, block), run, gloo)

    def _start(self, calls: List[_Call], options: Any, result: List[Tensor]) -> Handle:
        """Puts them in their place, with one handle for all. It holds the tensors, as the calls'
        functions do, until they are done."""

        def function() -> None:
            for call in calls:
                if call.choice.module is None:
                    call.gloo(self._gloo).wait()
                else:
                    call.run(call.choice)
                self._tally.ran(call.operation, call.choice.label)

        return self._submit(calls[0].operation, options, result, function)

    def _submit(
        self, operation: str, options: Any, result: List[Tensor], function: Callable[[], None]
    ) -> Handle:
        self._sequence += 1
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
        choice.module.run_at(
            self._comm,
            0 if send is None else send.data_ptr(),
            0 if recv is None else recv.data_ptr(),
            count,
            dtype,
            reduction.op if reduction else "sum",
            root,
            how,
        )

    def _checked(self, operation: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(*arguments, operation); what it refuses is counted."""
        try:
            return function(*arguments, operation)
        except CcsError as error:
            raise self._refuse(operation, error)

    # Reductions.

    def _allreduce(self, tensor: Tensor, op: Any) -> _Call:
        r = self._checked("allreduce", Reduction, op, tensor)
        options = c10d.AllreduceOptions()
        options.reduceOp = op
        return self._call(
            "allreduce",
            _bytes(tensor),
            lambda choice: self._run(choice, tensor, tensor, tensor.numel(), r.dtype, r),
            lambda gloo: gloo.allreduce([tensor], options),
        )

    def allreduce(self, tensors: List[Tensor], opts: Any = None) -> Handle:
        opts = opts or c10d.AllreduceOptions()
        if len(tensors) == 1 and getattr(tensors[0], "layout", None) == torch.sparse_coo:
            return self._sparse_allreduce(tensors[0], opts)
        tensor = self._checked("allreduce", one, tensors)
        return self._start([self._allreduce(tensor, opts.reduceOp)], opts, [tensor])

    def allreduce_coalesced(self, tensors: List[Tensor], opts: Any = None) -> Handle:
        """One after another."""
        opts = opts or c10d.AllreduceCoalescedOptions()
        self._checked("allreduce", _some, tensors)
        calls = [self._allreduce(tensor, opts.reduceOp) for tensor in tensors]
        return self._start(calls, opts, list(tensors))

    def _sparse_allreduce(self, tensor: Tensor, opts: Any) -> Handle:
        """What all ranks have is gathered, by what runs `allgather`."""
        self._checked("allreduce", check_sparse, tensor, opts.reduceOp)

        def gather(block: Tensor) -> Tensor:
            whole = block.new_empty((self._size, *block.shape))
            choice = self._choose("allgather", _bytes(block))
            if choice.module is None:
                self._gloo.allgather([list(whole)], [block]).wait()
            else:
                dtype, count = moved(block)
                self._run(choice, block, whole, count, dtype)
            self._tally.ran("allgather", choice.label)
            return whole

        def function() -> None:
            with torch.no_grad():
                mine = tensor.coalesce()
                numbers = self._checked("allreduce", partial(entries, self._comm), mine)
                tensor.copy_(gathered_sum(mine, numbers, gather))

        return self._submit("allreduce", opts, [tensor], function)

    def reduce(self, tensors: List[Tensor], opts: Any = None) -> Handle:
        opts = opts or c10d.ReduceOptions()
        tensor = self._checked("reduce", one, tensors)
        r = self._checked("reduce", Reduction, opts.reduceOp, tensor)
        root = self._checked("reduce", self._root, opts.rootRank)

        def run(choice: Choice) -> None:
            # What others than the root get means nothing, and must not change their tensors.
            out = tensor if self._rank == root else torch.empty_like(tensor)
            self._run(choice, tensor, out, tensor.numel(), r.dtype, r, root)

        call = self._call("reduce", _bytes(tensor), run, lambda gloo: gloo.reduce([tensor], opts))
        return self._start([call], opts, [tensor])

    def _reduce_scatter(self, out: Tensor, whole: Callable[[], Tensor], op: Any) -> _Call:
        """`whole` gives the input of all ranks, one after another."""
        r = self._checked("reduce_scatter", Reduction, op, out)
        options = c10d.ReduceScatterOptions()
        options.reduceOp = op

        def run(choice: Choice) -> None:
            self._run(choice, whole(), out, out.numel(), r.dtype, r)

        def gloo(group: Any) -> Any:
            return group.reduce_scatter([out], [list(_blocks(whole(), self._size))], options)

        return self._call("reduce_scatter", _bytes(out), run, gloo)

    def reduce_scatter(
        self, outputs: List[Tensor], inputs: List[List[Tensor]], opts: Any = None
    ) -> Handle:
        opts = opts or c10d.ReduceScatterOptions()
        out = self._checked("reduce_scatter", one, outputs)
        tensors = self._checked("reduce_scatter", _only, inputs)
        self._checked("reduce_scatter", check_alike, tensors, out, self._size)
        call = self._reduce_scatter(out, lambda: flat(tensors), opts.reduceOp)
        return self._start([call], opts, [out])

    def reduce_scatter_single_coalesced(
        self, outputs: List[Tensor], inputs: List[Tensor], opts: Any = None
    ) -> Handle:
        opts = opts or c10d.ReduceScatterOptions()
        self._checked("reduce_scatter", _pairs, outputs, inputs)
        calls = []
        for out, tensor in zip(outputs, inputs):
            self._checked("reduce_scatter", check_blocks, tensor, out, self._size)
            calls.append(self._reduce_scatter(out, partial(_same, tensor), opts.reduceOp))
        return self._start(calls, opts, list(outputs))

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Handle:
        return self.reduce_scatter_single_coalesced([output], [tensor], opts)

    _reduce_scatter_base = reduce_scatter_single

    # What only moves data.

    def broadcast(self, tensors: List[Tensor], opts: Any = None) -> Handle:
        opts = opts or c10d.BroadcastOptions()
        tensor = self._checked("broadcast", one, tensors)
        root = self._checked("broadcast", self._root, opts.rootRank)
        dtype, count = moved(tensor)
        call = self._call(
            "broadcast",
            _bytes(tensor),
            lambda choice: self._run(choice, tensor, tensor, count, dtype, root=root),
            lambda gloo: gloo.broadcast([tensor], opts),
        )
        return self._start([call], opts, [tensor])

    def _allgather(self, outputs: List[Tensor], tensor: Tensor) -> _Call:
        """To one tensor for each rank, or to one for all."""
        dtype, count = moved(tensor)

        def run(choice: Choice) -> None:
            if len(outputs) == 1:
                self._run(choice, tensor, outputs[0], count, dtype)
                return
            whole = tensor.new_empty(self._size * tensor.numel())
            self._run(choice, tensor, whole, count, dtype)
            scatter_out(outputs, whole)

        def gloo(group: Any) -> Any:
            parts = outputs if len(outputs) > 1 else list(_blocks(outputs[0], self._size))
            return group.allgather([parts], [tensor.view(-1) if parts is not outputs else tensor])

        return self._call("allgather", _bytes(tensor), run, gloo)

    def allgather(
        self, outputs: List[List[Tensor]], inputs: List[Tensor], opts: Any = None
    ) -> Handle:
        tensor = self._checked("allgather", one, inputs)
        parts = self._checked("allgather", _only, outputs)
        self._checked("allgather", check_alike, parts, tensor, self._size)
        return self._start([self._allgather(parts, tensor)], opts, parts)

    def allgather_coalesced(
        self, outputs: List[List[Tensor]], inputs: List[Tensor], opts: Any = None
    ) -> Handle:
        """A list of outputs for each rank, with one for each input."""
        self._checked("allgather", _some, inputs)
        self._checked("allgather", _lists, outputs, self._size, len(inputs))
        calls = []
        for tensor, *parts in zip(inputs, *outputs):
            self._checked("allgather", check_alike, parts, tensor, self._size)
            calls.append(self._allgather(parts, tensor))
        return self._start(calls, opts, [part for parts in outputs for part in parts])

    def all_gather_single_coalesced(
        self, outputs: List[Tensor], inputs: List[Tensor], opts: Any = None
    ) -> Handle:
        self._checked("allgather", _pairs, outputs, inputs)
        calls = []
        for out, tensor in zip(outputs, inputs):
            self._checked("allgather", check_blocks, out, tensor, self._size)
            calls.append(self._allgather([out], tensor))
        return self._start(calls, opts, list(outputs))

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def all_gather_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Handle:
        return self.all_gather_single_coalesced([output], [tensor], opts)

    _allgather_base = all_gather_single

    def gather(
        self, outputs: List[List[Tensor]], inputs: List[Tensor], opts: Any = None
    ) -> Handle:
        opts = opts or c10d.GatherOptions()
        tensor = self._checked("gather", one, inputs)
        root = self._checked("gather", self._root, opts.rootRank)
        parts: List[Tensor] = []
        if self._rank == root:
            parts = self._checked("gather", _only, outputs)
            self._checked("gather", check_alike, parts, tensor, self._size)
        dtype, count = moved(tensor)

        def run(choice: Choice) -> None:
            # Others than the root may need memory for what they pass on.
            whole = tensor.new_empty(self._size * tensor.numel())
            self._run(choice, tensor, whole, count, dtype, root=root)
            scatter_out(parts, whole)

        call = self._call(
            "gather", _bytes(tensor), run, lambda gloo: gloo.gather(outputs, inputs, opts)
        )
        return self._start([call], opts, parts)

    def scatter(
        self, outputs: List[Tensor], inputs: List[List[Tensor]], opts: Any = None
    ) -> Handle:
        opts = opts or c10d.ScatterOptions()
        out = self._checked("scatter", one, outputs)
        root = self._checked("scatter", self._root, opts.rootRank)
        parts: List[Tensor] = []
        if self._rank == root:
            parts = self._checked("scatter", _only, inputs)
            self._checked("scatter", check_alike, parts, out, self._size)
        dtype, count = moved(out)

        def run(choice: Choice) -> None:
            whole = flat(parts) if parts else out.new_empty(self._size * out.numel())
            self._run(choice, whole, out, count, dtype, root=root)

        call = self._call(
            "scatter", _bytes(out), run, lambda gloo: gloo.scatter(outputs, inputs, opts)
        )
        return self._start([call], opts, [out])

    def barrier(self, opts: Any = None) -> Handle:
        call = self._call(
            "barrier",
            0,
            lambda choice: self._run(choice, None, None, 0, "uint8"),
            lambda gloo: gloo.barrier(),
        )
        return self._start([call], opts, [])

    def monitored_barrier(
        self, timeout: Union[timedelta, float, None] = None, wait_all_ranks: bool = False
    ) -> None:
        """The timeout may be seconds, as gloo's."""
        self._worker.check()
        if timeout is None:
            timeout = self._timeout
        elif not isinstance(timeout, timedelta):
            timeout = timedelta(seconds=timeout)
        try:
            self._monitored.wait(timeout, wait_all_ranks)
        except CcsError as error:
            raise self._refuse("monitored_barrier", error)
        self._tally.ran("monitored_barrier", "torch's store")

    # All to all. Whether it is even, and so what runs it, follows from all ranks' counts.

    def all_to_all_single(
        self,
        output: Tensor,
        tensor: Tensor,
        output_splits: List[int],
        input_splits: List[int],
        opts: Any = None,
    ) -> Handle:
        self._checked("alltoall", check, [output, tensor])
        send = self._checked("alltoall", splits, input_splits, tensor, self._size)
        receive = self._checked("alltoall", splits, output_splits, output, self._size)

        def gloo() -> None:
            self._gloo.alltoall_base(
                output, tensor, output_splits, input_splits, c10d.AllToAllOptions()
            ).wait()

        def function() -> None:
            out, values = output.detach().view(-1), tensor.detach().view(-1)
            self._exchange(out, values, send, receive, gloo)

        return self._submit("alltoall", opts, [output], function)

    alltoall_base = all_to_all_single

    def alltoall(
        self, outputs: List[Tensor], inputs: List[Tensor], opts: Any = None
    ) -> Handle:
        for tensors in (outputs, inputs):
            self._checked("alltoall", check, tensors)
            self._checked("alltoall", _number, tensors, self._size)
        send, receive = ([t.numel() for t in tensors] for tensors in (inputs, outputs))

        def function() -> None:
            values = flat(inputs)
            out = values.new_empty(sum(receive))
            # Of gloo, too, these are joined: torch has no alltoall of gloo's up to 2.0.
            gloo = partial(self._gloo_flat, out, values, receive, send)
            self._exchange(out, values, send, receive, gloo)
            scatter_out(outputs, out)

        return self._submit("alltoall", opts, list(outputs), function)

    def _gloo_flat(
        self, out: Tensor, values: Tensor, receive: List[int], send: List[int]
    ) -> None:
        options = c10d.AllToAllOptions()
        self._gloo.alltoall_base(out, values, receive, send, options).wait()

    def _exchange(
        self,
        out: Tensor,
        values: Tensor,
        send: List[int],
        receive: List[int],
        gloo: Callable[[], None],
    ) -> None:
        """By the worker: asks what all ranks send, and runs it."""
        try:
            counts = Counts.agree(self._comm, send, receive, str(values.dtype))
        except ArgumentError as error:
            raise self._refuse("alltoall", error)
        operation = "alltoall" if counts.even else "alltoallv"
        choice = self._choose(operation, counts.most * values.element_size())
        dtype, count = moved(values[: counts.most])
        if choice.module is None:
            gloo()
        elif counts.even:
            self._run(choice, values, out, count, dtype)
        else:
            scale = moved(values[:0].new_empty(1))[1]  # bytes, of what ccs has no type for
            sizes = size_array([n * scale for n in send + receive], "sizes")
            self._run(choice, values, out, 0, dtype, sizes=sizes)
        self._tally.ran(operation, choice.label)

    # Point to point.

    def _by_gloo(self, block: int) -> Optional[Choice]:
        """gloo, if the user said so."""
        return self._schedules.said(P2P, self._size, block)

    def _message(self, sends: bool, tensors: List[Tensor], peer: int, tag: int) -> Handle:
        operation = "send" if sends else "recv"
        tensor = self._checked(operation, one, tensors)
        choice = self._by_gloo(_bytes(tensor))
        if choice is not None:
            self._tally.ran(operation, choice.label)
            if peer == ANY_SOURCE:
                return self._gloo.recv_anysource(tensors, tag)
            return getattr(self._gloo, operation)(tensors, peer, tag)
        if peer != ANY_SOURCE:
            self._checked(operation, self._root, peer)
        self._checked(operation, _tag, tag)
        dtype, count = moved(tensor)
        source = None if sends else ctypes.c_int(peer)
        message = Message(
            sends, self._rank, peer, tensor.data_ptr(), count, dtype, tensor, tag, source
        )
        self._worker.check()
        at_end = partial(self._message_ended, operation)
        return MessageWork(operation, start(self._mail, [message], at_end), tensors)

    def _message_ended(self, operation: str, error: Optional[CcsError]) -> None:
        if error is None:
            self._tally.ran(operation, f"ccs_{operation}")
        else:
            self._tally.refused(operation, str(error))

    def send(self, tensors: List[Tensor], peer: int, tag: int = 0) -> Handle:
        return self._message(True, tensors, peer, tag)

    def recv(self, tensors: List[Tensor], peer: int, tag: int = 0) -> Handle:
        return self._message(False, tensors, peer, tag)

    def recv_anysource(self, tensors: List[Tensor], tag: int = 0) -> Handle:
        return self._message(False, tensors, ANY_SOURCE, tag)

    def _root(self, rank: int, what: str) -> int:
        if not 0 <= rank < self._size:
            raise ArgumentError(f"{what}: there is no rank {rank} among {self._size}")
        return rank
