"""The process group: torch's calls, run by schedules over processes. How a call is put
in its place, and run: base.py.

    send(t, peer) --check--> Message --start--> Request of libccs --> MessageWork, the handle

Messages are no part of the calls' order: they are begun at once, and go on by themselves, so that
two ranks may send to one another first. They have a separate communicator, as the worker may be
inside a call on the group's.

Arguments are checked, and the schedule of a call is chosen, before it is put in its place; a
mistake raises at once, in the caller. A list of tensors is joined in new memory, and taken apart
again, by the worker.
"""

import ctypes
from datetime import timedelta
from functools import partial
from typing import Any, Callable, List, Optional, Sequence, Union

import torch

from ..errors import ArgumentError, CcsError
from ..messages import Message, start
from ..native import ANY_SOURCE, RANK_MAX
from ..options import size_array
from .agreed import Counts, entries, splits
from .base import Call, Group, Handle, c10d
from .device import Device
from .schedules import P2P, Choice
from .sparse import check_sparse, gathered_sum
from .tensors import (
    Reduction,
    Tensor,
    check,
    check_alike,
    check_blocks,
    check_each,
    check_plain,
    check_strided,
    check_together,
    flat,
    in_order,
    moved,
    on_gpu,
    one,
    scatter_out,
)
from .work import MessageWork


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
    """A list for each rank, each with `tensors` tensors."""
    if len(lists) != size or any(len(parts) != tensors for parts in lists):
        raise ArgumentError(f"{what}: a list for each of {size} ranks, each of {tensors} tensors")


def _number(tensors: Sequence[Tensor], size: int, what: str) -> None:
    """A tensor for each rank, of one type."""
    if len(tensors) != size or len({tensor.dtype for tensor in tensors}) > 1:
        raise ArgumentError(f"{what}: one tensor for each of {size} ranks, all of one type")


def _blocks(tensor: Tensor, blocks: int) -> Sequence[Tensor]:
    """Its parts, in place, one after another."""
    parts: Sequence[Tensor] = tensor.detach().view(-1).chunk(blocks)
    return parts


def _tag(tag: int, what: str) -> None:
    if not 0 <= tag <= RANK_MAX:
        raise ArgumentError(f"{what}: a tag must be from 0 to {RANK_MAX}, not {tag}")


def _same(tensor: Tensor) -> Tensor:
    return tensor


# ---- the group -------------------------------------------------------------------------------


class ProcessGroupCCS(Group):
    """The group that init_process_group("ccs") and new_group() make."""

    # Reductions.

    def _allreduce(self, tensor: Tensor, op: Any) -> Call:
        r = self._checked("allreduce", Reduction, op, tensor)
        options = c10d.AllreduceOptions()
        options.reduceOp = op
        return self._call(
            "allreduce",
            tensor,
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
        """Gathers the tensors of all ranks, by the schedule of `allgather`."""
        self._checked("allreduce", check_sparse, tensor, opts.reduceOp)

        def gather(block: Tensor) -> Tensor:
            whole = block.new_empty((self._size, *block.shape))
            choice = self._choose("allgather", _bytes(block), block)
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

        return self._submit("allreduce", opts, [tensor], function, tensor)

    def reduce(self, tensors: List[Tensor], opts: Any = None) -> Handle:
        opts = opts or c10d.ReduceOptions()
        tensor = self._checked("reduce", one, tensors)
        root = self._checked("reduce", self._root, opts.rootRank)
        call = self._reduce(tensor, tensor, opts.reduceOp, root)
        return self._start([call], opts, [tensor])

    def _reduce(self, tensor: Tensor, into: Tensor, op: Any, root: int) -> Call:
        """`into` is the root's."""
        r = self._checked("reduce", Reduction, op, tensor)
        options = c10d.ReduceOptions()
        options.reduceOp, options.rootRank = op, root

        def run(choice: Choice) -> None:
            # Ranks other than the root get no result, and their tensors must not change.
            out = into if self._rank == root else torch.empty_like(tensor)
            self._run(choice, tensor, out, tensor.numel(), r.dtype, r, root)

        def gloo(group: Any) -> Any:
            out = tensor
            if into is not tensor:
                out = into if self._rank == root else torch.empty_like(tensor)
                out.copy_(tensor.view(out.shape))
            return group.reduce([out], options)

        return self._call("reduce", tensor, run, gloo)

    def _reduce_scatter(self, out: Tensor, whole: Callable[[], Tensor], op: Any) -> Call:
        """`whole` gives the input of all ranks, one after another."""
        r = self._checked("reduce_scatter", Reduction, op, out)
        options = c10d.ReduceScatterOptions()
        options.reduceOp = op

        def run(choice: Choice) -> None:
            self._run(choice, whole(), out, out.numel(), r.dtype, r)

        def gloo(group: Any) -> Any:
            return group.reduce_scatter([out], [list(_blocks(whole(), self._size))], options)

        return self._call("reduce_scatter", out, run, gloo)

    def reduce_scatter(
        self, outputs: List[Tensor], inputs: List[List[Tensor]], opts: Any = None
    ) -> Handle:
        opts = opts or c10d.ReduceScatterOptions()
        out = self._checked("reduce_scatter", one, outputs)
        tensors = self._checked("reduce_scatter", _only, inputs)
        self._checked("reduce_scatter", check_each, tensors, out, self._size, False)
        self._checked("reduce_scatter", check_blocks, tensors[self._rank], out, 1)
        if len({tensor.numel() for tensor in tensors}) == 1:
            calls = [self._reduce_scatter(out, lambda: flat(tensors), opts.reduceOp)]
        else:  # as with nccl, each rank's is reduced to it
            tensors = [in_order(tensor) for tensor in tensors]
            calls = [
                self._reduce(tensor, out, opts.reduceOp, rank)
                for rank, tensor in enumerate(tensors)
            ]
        return self._start(calls, opts, [out])

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

    # Collectives that only move data.

    def broadcast(self, tensors: List[Tensor], opts: Any = None) -> Handle:
        opts = opts or c10d.BroadcastOptions()
        tensor = self._checked("broadcast", one, tensors)
        root = self._checked("broadcast", self._root, opts.rootRank)
        dtype, count = moved(tensor)
        call = self._call(
            "broadcast",
            tensor,
            lambda choice: self._run(choice, tensor, tensor, count, dtype, root=root),
            lambda gloo: gloo.broadcast([tensor], opts),
        )
        return self._start([call], opts, [tensor])

    def _allgather(self, outputs: List[Tensor], tensor: Tensor) -> Call:
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

        return self._call("allgather", tensor, run, gloo)

    def allgather(
        self, outputs: List[List[Tensor]], inputs: List[Tensor], opts: Any = None
    ) -> Handle:
        tensor = self._checked("allgather", one, inputs)
        parts = self._checked("allgather", _only, outputs)
        self._checked("allgather", check_alike, parts, tensor, self._size, True)
        return self._start([self._allgather(parts, tensor)], opts, parts)

    def allgather_coalesced(
        self, outputs: List[List[Tensor]], inputs: List[Tensor], opts: Any = None
    ) -> Handle:
        """A list of outputs for each rank, with one for each input."""
        self._checked("allgather", _some, inputs)
        self._checked("allgather", _lists, outputs, self._size, len(inputs))
        calls = []
        for tensor, *parts in zip(inputs, *outputs):
            self._checked("allgather", check_alike, parts, tensor, self._size, True)
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
            self._checked("gather", check_alike, parts, tensor, self._size, True)
        dtype, count = moved(tensor)

        def run(choice: Choice) -> None:
            # Others than the root may need memory for what they pass on.
            whole = tensor.new_empty(self._size * tensor.numel())
            self._run(choice, tensor, whole, count, dtype, root=root)
            scatter_out(parts, whole)

        call = self._call(
            "gather", tensor, run, lambda gloo: gloo.gather(outputs, inputs, opts)
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
            self._checked("scatter", check_alike, parts, out, self._size, False)
        dtype, count = moved(out)

        def run(choice: Choice) -> None:
            whole = flat(parts) if parts else out.new_empty(self._size * out.numel())
            self._run(choice, whole, out, count, dtype, root=root)

        call = self._call(
            "scatter", out, run, lambda gloo: gloo.scatter(outputs, inputs, opts)
        )
        return self._start([call], opts, [out])

    def barrier(self, opts: Any = None) -> Handle:
        call = self._call(
            "barrier",
            None,
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
            self._checked("alltoall", check_plain, output)
            self._checked("alltoall", check_plain, tensor)
            self._gloo.alltoall_base(
                output, tensor, output_splits, input_splits, c10d.AllToAllOptions()
            ).wait()

        def function() -> None:
            out = in_order(output)
            self._exchange(out.view(-1), in_order(tensor).view(-1), send, receive, gloo)
            if out.data_ptr() != output.data_ptr():
                output.detach().copy_(out)

        return self._submit("alltoall", opts, [output], function, output)

    alltoall_base = all_to_all_single

    def alltoall(
        self, outputs: List[Tensor], inputs: List[Tensor], opts: Any = None
    ) -> Handle:
        for tensors, written in ((outputs, True), (inputs, False)):
            self._checked("alltoall", partial(check_strided, written=written), tensors)
            self._checked("alltoall", _number, tensors, self._size)
        self._checked("alltoall", check_together, outputs[:1], inputs[0])
        send, receive = ([t.numel() for t in tensors] for tensors in (inputs, outputs))

        def function() -> None:
            values = flat(inputs)
            out = values.new_empty(sum(receive))
            # Of gloo, too, these are joined: torch has no alltoall of gloo's up to 2.0.
            gloo = partial(self._gloo_flat, out, values, receive, send)
            self._exchange(out, values, send, receive, gloo)
            scatter_out(outputs, out)

        return self._submit("alltoall", opts, list(outputs), function, outputs[0])

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
        """By the worker: exchanges all ranks' counts, and runs it."""
        device = self._gpu(values)
        comm = device.comm if device else self._comm
        try:
            counts = Counts.agree(comm, send, receive, str(values.dtype))
        except ArgumentError as error:
            raise self._refuse("alltoall", error)
        operation = "alltoall" if counts.even else "alltoallv"
        choice = self._choose(operation, counts.most * values.element_size(), values)
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
        # nccl takes these of GPUs, gloo takes none of the CPU's.
        takes = partial(check, [tensor]) if on_gpu(tensor) else partial(check_plain, tensor)
        self._checked(operation, takes)
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
        self._worker.check()
        device = self._gpu(tensor)
        message = Message(
            sends, self._rank, peer, tensor.data_ptr(), count, dtype, tensor, tag, source
        )
        if device is not None:
            self._checked(operation, device.check, tensor)
            return self._gpu_message(device, operation, device.message(message))
        at_end = partial(self._message_ended, operation)
        work = MessageWork(operation, start(self._mail, [message], at_end), tensors)
        if self._carrier is not None:
            self._carrier.go()
        return work

    def _gpu_message(self, device: Device, operation: str, message: Message) -> Handle:
        """Into the stream, or, in a batch, at its end."""
        self._tally.ran(operation, f"ccs_{operation}")
        if self._batch is None:
            return device.send(operation, [message])
        self._batch.append(message)
        return None

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
