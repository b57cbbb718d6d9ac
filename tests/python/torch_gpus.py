"""The back end for torch.distributed on tensors of GPUs, where there are none: libraries stand in
for NVIDIA's driver, NVRTC and NCCL (tests/fake_cuda, tests/fake_nccl), and this file for what torch
has of them. A tensor here is in memory of the stand-in, reports the GPU of its process, and
torch's own calls on it come in the order of the current stream.

This tests how ccs.torch uses streams, events and tensors; it does not test torch's own part.
"""

import ctypes
import gc
import sys
import threading
import warnings
import weakref
from contextlib import contextmanager, nullcontext
from datetime import timedelta

warnings.simplefilter("ignore")

import torch
import torch.distributed as dist

import ccs
import ccs.torch
from ccs.gpu import _driver, _on, wait
from torch_harness import has, raised, same, test


# ---- what torch.cuda is ----------------------------------------------------------------------


class Event:
    def __init__(self, device):
        self.device, self.handle = device, ctypes.c_void_p()
        with _on(device) as driver:
            assert driver.cuEventCreate(ctypes.byref(self.handle), 2) == 0

    def query(self):
        with _on(self.device) as driver:
            return driver.cuEventQuery(self.handle) == 0


class Stream:
    def __init__(self, device, handle=None):
        self.index, made = device.index, ctypes.c_void_p()
        if handle is None:
            with _on(self.index) as driver:
                assert driver.cuStreamCreate(ctypes.byref(made), 1) == 0
        self.cuda_stream = made.value or handle

    def record_event(self):
        event = Event(self.index)
        with _on(self.index) as driver:
            stream = ctypes.c_void_p(self.cuda_stream)
            assert driver.cuEventRecord(event.handle, stream) == 0
        return event

    def wait_event(self, event):
        with _on(self.index) as driver:
            stream = ctypes.c_void_p(self.cuda_stream)
            assert driver.cuStreamWaitEvent(stream, event.handle, 0) == 0

    def wait_stream(self, other):
        self.wait_event(other.record_event())

    def synchronize(self):
        wait(self.index, self.cuda_stream)


class Cuda:
    """torch.cuda's functions that the back end calls, for one GPU."""

    def __init__(self, rank):
        context = ctypes.c_void_p()
        assert _driver().cuInit(0) == 0
        assert _driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), rank) == 0  # as torch does
        self.device = torch.device("cuda", rank)
        self.own = Stream(self.device)
        self.now = self.own

    def install(self):
        torch.cuda.Stream = Stream
        torch.cuda.stream = self.stream
        torch.cuda.current_stream = lambda _: self.now
        torch.cuda.is_available = lambda: True
        torch.futures.Future = Future

    @contextmanager
    def stream(self, stream):
        before, self.now = self.now, stream
        try:
            with _tensors_dispatch():
                yield
        finally:
            self.now = before


# PyTorch 2 calls dist's functions by way of __torch_function__, too, with it disabled inside.
_tensors_dispatch = nullcontext if torch.__version__[0] == "1" else torch._C._EnableTorchFunction
class Future(torch.futures.Future):
    """Who waits for it comes after what was in the stream when it was set."""

    def __init__(self, *, devices):
        assert devices == [cuda.device]
        super().__init__()

    def set_result(self, result):
        self.event = cuda.now.record_event()
        super().set_result(result)

    def wait(self):
        cuda.now.wait_event(self.event)
        return super().wait()


cuda = None
lent = []  # (address, bytes) of the tensors' memory


class OnGpu(torch.Tensor):
    """A tensor in the stand-in's memory."""

    @property
    def device(self):
        return cuda.device

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function not in QUICK and "distributed" not in str(getattr(function, "__module__", "")):
            cuda.now.synchronize()  # as it comes after the work in the stream
        with torch._C.DisableTorchFunction():
            made = function(*args, **(kwargs or {}))
        if isinstance(made, (list, tuple)):
            return type(made)(on_gpu(one) if isinstance(one, torch.Tensor) else one for one in made)
        return on_gpu(made) if isinstance(made, torch.Tensor) else made


QUICK = {
    torch.Tensor.numel, torch.Tensor.element_size, torch.Tensor.is_contiguous,
    torch.Tensor.data_ptr, torch.Tensor.dtype.__get__, torch.Tensor.layout.__get__,
    torch.Tensor.shape.__get__, torch.Tensor.detach, torch.Tensor.view, torch.Tensor.dim,
    torch.Tensor.is_complex, torch.Tensor.is_conj, torch.Tensor.is_neg, torch.Tensor.stride,
}


def lies_there(tensor):
    at = tensor.data_ptr()
    return at == 0 or any(first <= at < first + n for first, n in lent)


def on_gpu(tensor):
    """The same values in the stand-in's memory."""
    with torch._C.DisableTorchFunction():
        plain = tensor.as_subclass(torch.Tensor).detach()
        size = plain.numel() * plain.element_size()
        if size and not lies_there(plain):
            at = ctypes.c_ulonglong()
            with _on(cuda.device.index) as driver:
                assert driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(size)) == 0
            lent.append((at.value, size))
            memory = (ctypes.c_char * size).from_address(at.value)
            there = torch.frombuffer(memory, dtype=plain.dtype).view(plain.shape)
            there.copy_(plain)
            plain = there
        return plain.as_subclass(OnGpu)


def full(count, value, dtype=torch.float32):
    return on_gpu(torch.full((count,) if isinstance(count, int) else count, value, dtype=dtype))


def values(tensor, wanted):
    """What the caller's stream sees of it."""
    cuda.now.synchronize()
    with torch._C.DisableTorchFunction():
        same(tensor, wanted)


def with_gpu(function):
    """A test on process `rank`'s GPU."""

    def run(rank, n):
        global cuda
        cuda = Cuda(rank)
        cuda.install()
        function(rank, n)

    run.__name__ = function.__name__
    return run


# ---- tests -----------------------------------------------------------------------------------


@with_gpu
def collectives_on_gpus(rank, n):
    t = full(5, rank + 1.0)
    dist.all_reduce(t)
    values(t, [n * (n + 1) / 2] * 5)
    t = full((2, 3), rank + 1, torch.int64)
    dist.reduce(t, 1)
    values(t, [[n * (n + 1) // 2 if rank == 1 else rank + 1] * 3] * 2)
    t = full(3, rank + 0.5)
    dist.broadcast(t, 1)
    values(t, [1.5] * 3)
    parts = [full(2, -1.0) for _ in range(n)]
    dist.all_gather(parts, full(2, rank + 0.5))
    for r, part in enumerate(parts):
        values(part, [r + 0.5] * 2)
    whole = full(2 * n, -1.0)
    dist.all_gather_into_tensor(whole, full(2, rank + 0.5))
    values(whole, [r + 0.5 for r in range(n) for _ in range(2)])
    out = full(2, 0.0)
    dist.reduce_scatter(out, [full(2, 10.0 * rank + q) for q in range(n)])
    values(out, [sum(10 * r + rank for r in range(n))] * 2)
    parts = [full(2, -1.0) for _ in range(n)] if rank == 1 else None
    dist.gather(full(2, float(rank)), parts, dst=1)
    for r, part in enumerate(parts or []):
        values(part, [r] * 2)
    dist.scatter(out, parts, src=1)
    values(out, [rank] * 2)
    out = full(n, 0, torch.int64)
    dist.all_to_all_single(out, on_gpu(torch.arange(n) + n * rank))
    values(out, [n * q + rank for q in range(n)])
    rows = [rank + q + 1 for q in range(n)]
    out = full(sum(rows), 0, torch.int64)
    give = on_gpu(torch.tensor([10 * rank + q for q, c in enumerate(rows) for _ in range(c)]))
    dist.all_to_all_single(out, give, rows, rows)
    values(out, [10 * q + rank for q, c in enumerate(rows) for _ in range(c)])
    t = torch.full((2,), float(rank))  # and on the CPU
    dist.all_reduce(t)
    same(t, [n * (n - 1) / 2] * 2)
    dist.barrier()
    has(ccs.torch.report(), "ccs.torch: alltoallv: 1 call by uneven_all_to_all.ccs\n")


@with_gpu
def handles_on_gpus(rank, n):
    """Nothing is waited for on the host; the caller's stream waits in wait()."""
    tensors = [full(1000, float(i)) for i in range(20)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    world = dist.distributed_c10d._get_default_group()
    backend = world._get_backend(cuda.device)  # what init_process_group(device_id=) asks
    assert not backend.supports_splitting and backend.getBackendName() == "ccs"
    for work in works:
        work.wait()
    for i, t in enumerate(tensors):
        values(t, [n * i] * 1000)
    assert all(w.is_completed() and w.is_success() for w in works)
    dist.all_reduce(full(100_000, 1.0), async_op=True)  # no variable holds it
    work = dist.all_reduce(full(10, 2.0), async_op=True)
    values(work.result()[0], [2.0 * n] * 10)
    future = dist.all_reduce(full(2, 1.0), async_op=True).get_future()
    values(future.wait()[0], [n] * 2)
    group = dist.new_group(list(range(n)))
    t = full(3, 1.0)
    dist.all_reduce(t, group=group)
    values(t, [n] * 3)
    dist.destroy_process_group(group)


def in_stream(stream, function):
    """The stream calls it in its turn. The returned object must stay until then."""
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: function())
    with _on(stream.index) as driver:
        handle = ctypes.c_void_p(stream.cuda_stream)
        assert driver.cuLaunchHostFunc(handle, entry, None) == 0
    return entry


@with_gpu
def order_of_streams(rank, n):
    """A call comes after what its caller's stream has, and before what comes behind wait()."""
    t = full(4, 0.0)
    dist.all_reduce(full(4, 0.0))  # later calls need no memory, for which a driver waits

    free = threading.Event()

    def fill():
        free.wait()
        ctypes.memmove(t.data_ptr(), (ctypes.c_float * 4)(*[rank + 1.0] * 4), 16)

    kept = in_stream(cuda.own, fill)
    work = dist.all_reduce(t, async_op=True)
    assert not work.is_completed()
    text = raised(ccs.CcsError, work.wait, timedelta(milliseconds=5))
    has(text, "allreduce was not done within 0:00:00.005")
    free.set()
    work.wait()
    values(t, [n * (n + 1) / 2] * 4)
    work.wait(timedelta(seconds=60))
    del kept


@with_gpu
def memory_that_nobody_holds(rank, n):
    """It is kept until the stream is done with it."""
    dist.all_reduce(full(4, 0.0))
    free = threading.Event()
    t = full(4, 1.0)
    gone = weakref.ref(t)
    kept = in_stream(cuda.own, free.wait)
    dist.all_reduce(t, async_op=True)
    del t
    gc.collect()
    assert gone() is not None
    free.set()
    cuda.own.synchronize()
    dist.all_reduce(full(4, 0.0))
    cuda.now.synchronize()
    dist.all_reduce(full(4, 0.0))
    gc.collect()
    assert gone() is None
    del kept


@with_gpu
def messages_on_gpus(rank, n):
    right, left = (rank + 1) % n, (rank - 1) % n
    dist.all_reduce(full(1, 1.0))
    got = full(1000, -1.0)
    ring = [dist.P2POp(dist.isend, full(1000, float(rank)), right),
            dist.P2POp(dist.irecv, got, left)]
    works = dist.batch_isend_irecv(ring)
    assert works
    for work in works:
        work.wait()
    values(got, [left] * 1000)
    if rank == 0:
        dist.send(full(3, 7.0), 1)
    if rank == 1:
        dist.recv(got[:3], 0)
        values(got[:3], [7.0] * 3)
    # Dense ones of any order of dimensions, alone and in a batch, element by element.
    turned, plain = on_gpu(torch.arange(6.0).reshape(2, 3)).t(), full((3, 2), -1.0)
    wanted = [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    if rank == 0:
        dist.send(turned, 1)
    if rank == 1:
        dist.recv(plain, 0)
        values(plain, wanted)
    back = full((2, 3), -1.0).t()
    ring = [dist.P2POp(dist.isend, turned.contiguous(), right), dist.P2POp(dist.irecv, back, left)]
    for work in dist.batch_isend_irecv(ring):
        work.wait()
    values(back, wanted)
    has(raised(ValueError, dist.send, full((3, 3), 1.0)[:, 1:], right), "not contiguous")
    has(raised(ccs.CcsError, dist.send, got, right, tag=2), "tag")


@with_gpu
def refused_on_gpus(rank, n):
    t = full(4, 1.0)
    pieces = [full(2, 0.0), torch.zeros(2)]
    has(raised(ValueError, dist.all_gather, pieces, full(2, 0.0)), "all of a call are on one")
    has(raised(ValueError, dist.all_reduce, full((2, 3), 1.0)[:, 1:2]), "not contiguous")
    turned = full((2, 3), 1.0).t()
    dist.all_reduce(turned)
    values(turned, [[n] * 2] * 3)
    dist.all_reduce(t)
    mine, cuda.device = cuda.device, torch.device("cuda", 5)
    has(raised(ValueError, dist.all_reduce, t), "is on cuda:5, and this rank of the group is on")
    cuda.device = mine
    has(ccs.torch.report(), "allreduce: 1 call not run: allreduce: a tensor is on cuda:5")
    dist.all_reduce(t)
    values(t, [n * n] * 4)


def main(folder):
    done = [
        test(function, 2, folder)
        for function in (
            collectives_on_gpus, handles_on_gpus, order_of_streams, memory_that_nobody_holds,
            messages_on_gpus, refused_on_gpus,
        )
    ]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
