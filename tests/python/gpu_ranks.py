"""Ranks on GPUs, with a driver, an NVRTC and an NCCL that stand in for NVIDIA's (tests/fake_cuda,
tests/fake_nccl): memory that is lent by DLPack and by __cuda_array_interface__, streams, messages,
and refusals. python_test.sh runs it; the stand-ins report illegal calls, and objects that were not freed."""

import array
import ctypes
import os
import sys
import threading
import time
import unittest

import ccs
from ccs.buffers import _DLTensor
from ccs.gpu import _driver, _on, wait
from support import Case, floats, schedule

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
GPU, MANAGED, HOST = 2, 13, 1  # DLPack's


def stream_of(device):
    made = ctypes.c_void_p()
    with _on(device) as driver:
        assert driver.cuStreamCreate(ctypes.byref(made), 1) == 0
    return made.value


def free_stream(device, stream):
    with _on(device) as driver:
        assert driver.cuStreamDestroy_v2(ctypes.c_void_p(stream)) == 0


class Task:
    """What a stream calls in its turn; so long it is busy."""

    _prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    def __init__(self, device, stream, function):
        self._entry = self._prototype(lambda _: function())
        with _on(device) as driver:
            assert driver.cuLaunchHostFunc(ctypes.c_void_p(stream), self._entry, None) == 0


class Memory:
    """Memory of a stand-in's GPU, which the test can read."""

    def __init__(self, device, values, form="f", managed=False):
        data = array.array(form, values)
        at = ctypes.c_ulonglong()
        with _on(device) as driver:
            if managed:
                error = driver.cuMemAllocManaged(
                    ctypes.byref(at), ctypes.c_size_t(len(data) * data.itemsize), 1
                )
            else:
                error = driver.cuMemAlloc_v2(
                    ctypes.byref(at), ctypes.c_size_t(len(data) * data.itemsize)
                )
        assert error == 0
        self.device, self.address, self.form, self.length = device, at.value, form, len(data)
        self.set(values)

    def set(self, values):
        data = array.array(self.form, values)
        ctypes.memmove(self.address, data.tobytes(), len(data) * data.itemsize)

    def values(self):
        got = array.array(self.form)
        got.frombytes(ctypes.string_at(self.address, self.length * got.itemsize))
        return got.tolist()

    def free(self):
        with _on(self.device) as driver:
            assert driver.cuMemFree_v2(ctypes.c_ulonglong(self.address)) == 0


class Tensor:
    """Lends it by DLPack."""

    def __init__(self, memory, kind=2, bits=32, stride=1, where=GPU, length=None):
        self.memory, self.where, self.asked = memory, where, []
        self.shape = (ctypes.c_int64 * 1)(memory.length if length is None else length)
        self.strides = (ctypes.c_int64 * 1)(stride)
        self.tensor = _DLTensor(
            memory.address, where, memory.device, 1, kind, bits, 1, self.shape, self.strides, 0
        )

    def __dlpack_device__(self):
        return (self.where, self.memory.device)

    def __dlpack__(self, stream=None):
        self.asked.append(stream)
        return _new(ctypes.addressof(self.tensor), b"dltensor", None)


class Array:
    """Lends it by __cuda_array_interface__."""

    def __init__(self, memory, typestr="<f4", readonly=False, **more):
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (memory.length,),
            "typestr": typestr,
            "data": (memory.address, readonly),
            **more,
        }


class OnGpus(Case):
    """Four ranks on two GPUs of one process."""

    DEVICES = [0, 0, 1, 1]

    def setUp(self):
        self.comm = ccs.Comm.cuda(4, self.DEVICES)
        self.addCleanup(self.comm.close)
        self.ring = schedule("ring_allreduce", target="cuda")

    def memory(self, device, values, form="f", **more):
        made = Memory(device, values, form, **more)
        self.addCleanup(made.free)
        return made

    def each(self, values):
        return [self.memory(d, values(rank)) for rank, d in enumerate(self.DEVICES)]

    def stream(self, device):
        made = stream_of(device)
        self.addCleanup(free_stream, device, made)
        return made

    def test_what_it_is(self):
        self.assertEqual((self.comm.engine, self.comm.size), ("cuda", 4))
        self.assertEqual(self.comm.devices, (0, 0, 1, 1))
        self.assertIn("GPU", self.comm.describe())
        every = ccs.Comm.cuda(3)
        self.assertEqual(every.devices, (0, 0, 1))
        every.close()
        one = ccs.Comm.cuda(2, 1)
        self.assertEqual(one.devices, (1, 1))
        one.close()

    def test_dlpack_waits_for_the_result(self):
        memory = self.each(lambda rank: [rank, 10 * rank, 1])
        tensors = [Tensor(m) for m in memory]
        self.ring.run(self.comm, tensors, tensors)
        self.assertEqual([m.values() for m in memory], [[6, 60, 4]] * 4)
        self.assertEqual(tensors[0].asked, [1, 1])  # the default stream, in and out
        self.comm.check()
        self.assertEqual(self.comm.waits(), "")

    def test_a_run_that_was_started(self):
        memory, free = self.each(lambda rank: [rank]), threading.Event()
        tensors = [Tensor(m) for m in memory]
        self.ring.run(self.comm, tensors, tensors)  # has its memory now
        task = Task(1, None, free.wait)
        request = self.ring.start(self.comm, tensors, tensors)
        try:
            for _ in range(20):
                self.assertFalse(request.test())
                time.sleep(0.002)
        finally:
            free.set()
        request.wait()
        self.assertEqual([m.values() for m in memory], [[24]] * 4)
        del task

    def test_cuda_array_interface(self):
        send = self.each(lambda rank: [rank] * 5)
        recv = self.each(lambda rank: [0] * 5)
        own = self.stream(1)
        # Later calls like it need no memory, for which a driver waits.
        self.ring.run(self.comm, [Array(m) for m in send], [Array(m) for m in recv], "max")

        def late():
            time.sleep(0.05)
            send[3].set([7] * 5)

        task = Task(1, own, late)
        arrays = [Array(m) for m in send[:2]] + [Array(m, stream=own) for m in send[2:]]
        self.ring.run(self.comm, arrays, [Array(m, strides=(4,)) for m in recv], "max")
        self.assertEqual([m.values() for m in recv], [[7] * 5] * 4)
        del task

    def test_managed_memory_and_named_types(self):
        memory = [self.memory(d, [0x3F80] * 4, "H", managed=True) for d in self.DEVICES]
        tensors = [Tensor(m, 1, 16, where=MANAGED) for m in memory]
        self.ring.run(self.comm, tensors, tensors, dtype="bfloat16")
        self.assertEqual(memory[3].values(), [0x4080] * 4)

    def test_streams_of_ones_own(self):
        memory = self.each(lambda rank: [rank + 1.0])
        tensors = [Tensor(m) for m in memory]
        streams = [self.stream(device) for device in self.DEVICES]

        class Named:
            cuda_stream = streams[0]

        class Other:
            def __cuda_stream__(self):
                return (0, streams[1])

        for _ in range(3):
            self.ring.run(
                self.comm, tensors, tensors, stream=[Named(), Other(), streams[2], streams[3]]
            )
        self.comm.barrier(streams)
        for device, stream in zip(self.DEVICES, streams):
            wait(device, stream)
        self.assertEqual([m.values() for m in memory], [[160.0]] * 4)
        self.assertEqual(tensors[3].asked, [streams[3]] * 6)
        self.comm.barrier()

    def test_factors_and_scalars(self):
        memory = self.each(lambda rank: [1, 2])
        tensors = [Tensor(m) for m in memory]
        self.ring.run(self.comm, tensors, tensors, scalar=0.5)
        self.assertEqual(memory[2].values(), [2, 4])
        factors = [Array(m) for m in self.each(lambda rank: [rank, 1])]
        self.ring.run(self.comm, tensors, tensors, factors=factors)
        self.assertEqual(memory[1].values(), [12, 16])
        self.refused(
            ccs.BufferTypeError, "factors of rank 0 is in the host's memory", self.ring.run,
            self.comm, tensors, tensors, factors=[floats(1, 1)] * 4,
        )

    def test_parts_of_it(self):
        pair = self.comm.group([3, 0])
        self.assertEqual(pair.devices, (1, 0))
        memory = [self.memory(1, [5]), self.memory(0, [7])]
        tensors = [Tensor(m) for m in memory]
        schedule("ring_allreduce", 2, target="cuda").run(pair, tensors, tensors)
        self.assertEqual([m.values() for m in memory], [[12]] * 2)
        pair.close()

    def test_messages(self):
        memory = self.each(lambda rank: [rank, rank + 0.5])
        got = self.each(lambda rank: [0, 0])
        with self.comm.batch() as batch:
            for rank in range(4):
                batch.send(Tensor(memory[rank]), (rank + 1) % 4, rank=rank)
                batch.recv(Array(got[rank]), (rank - 1) % 4, rank=rank)
        self.assertEqual([m.values()[1] for m in got], [3.5, 0.5, 1.5, 2.5])
        request = self.comm.irecv(Tensor(got[3]), 0, rank=3)
        self.assertFalse(request.test())
        self.comm.send(Tensor(memory[0]), 3, rank=0)
        while not request.test():
            pass
        self.assertEqual(got[3].values(), [0, 0.5])
        self.refused(ccs.CcsError, "must be the same", self.unequal, got)
        request = self.comm.irecv(Tensor(got[2]), 1, rank=2, stream=self.stream(1))
        self.comm.send(Tensor(memory[1]), 2, rank=1)
        request.wait()

    def test_a_message_is_over_when_its_stream_is_done(self):
        memory, got = self.memory(0, [3.0]), self.memory(1, [0.0])
        free = threading.Event()
        task = Task(1, None, free.wait)
        requests = [
            self.comm.irecv(Tensor(got), 0, rank=3),
            self.comm.isend(Tensor(memory), 3, rank=0),
        ]
        try:
            for _ in range(20):
                self.assertFalse(requests[0].test())
                time.sleep(0.002)
            with self.assertRaisesRegex(ccs.CcsError, "was not through within 0.01 s"):
                requests[0].wait(0.01)
        finally:
            free.set()
        for request in requests:
            request.wait(60)
        self.assertEqual(got.values(), [3.0])
        del task

    def unequal(self, memory):
        with self.comm.batch() as batch:
            batch.send(Tensor(memory[0], length=1), 1, rank=0)
            batch.recv(Tensor(memory[1]), 0, rank=1)

    def test_refused(self):
        kind, run, comm = ccs.BufferTypeError, self.ring.run, self.comm
        memory = self.each(lambda rank: [1, 2])
        good = [Tensor(m) for m in memory]

        def bad(kind, why, one, **more):
            self.refused(kind, why, run, comm, [one, *good[1:]], [one, *good[1:]], **more)

        bad(kind, "in the host's memory, and its rank on GPU 0: .*cuda", floats(1, 2))
        bad(kind, "in the host's memory", Tensor(memory[0], where=HOST))
        bad(kind, "on GPU 1, and its rank on GPU 0", Tensor(memory[2]))
        bad(kind, "on DLPack's device 7", Tensor(memory[0], where=7))
        bad(kind, "is a list, which lends no memory of GPU 0", [1, 2])
        bad(ccs.ArgumentError, "not contiguous", Tensor(memory[0], stride=2))
        bad(ccs.ArgumentError, "not contiguous", Array(memory[0], strides=(8,)))
        bad(kind, "read-only", Array(memory[0], readonly=True))
        bad(kind, "big-endian", Array(memory[0], ">f4"))
        bad(kind, "of type '<c8'", Array(memory[0], "<c8"))
        bad(ccs.ArgumentError, "shares memory", good[1])
        bad(kind, "is no stream", good[0], stream="mine")
        bad(ccs.ArgumentError, "2 streams were given for 4 ranks", good[0], stream=[0, 0])
        self.refused(ccs.ArgumentError, "2 GPUs were given for 4", ccs.Comm.cuda, 4, [0, 1])
        self.refused(ccs.ArgumentError, "a GPU must be", ccs.Comm.cuda, 4, -1)
        self.refused(ccs.ArgumentError, "need id=", ccs.Comm.cuda_procs, 0, 2)
        self.refused(ccs.ArgumentError, "128 bytes", ccs.Comm.cuda_procs, 0, 2, id=b"x")
        with self.assertRaisesRegex(ccs.CcsError, "compile it with ccc --target=cpu,cuda"):
            schedule("ring_allreduce").run(comm, good, good)
        self.assertEqual(memory[3].values(), [1, 2])
        run(comm, good, good)  # it goes on
        self.assertEqual(memory[3].values(), [4, 8])

    def test_what_fails_in_a_stream(self):
        memory = self.each(lambda rank: [1.0])
        tensors = [Tensor(m) for m in memory]
        self.comm.set_timeout(0.2)
        os.environ["FAKE_CUDA_STUCK"] = "2"
        try:
            with self.assertRaises(ccs.CcsError) as caught:
                self.ring.run(self.comm, tensors, tensors)
        finally:
            del os.environ["FAKE_CUDA_STUCK"]
        self.assertEqual(caught.exception.status, ccs.Status.ETIMEOUT)

    def test_streams_are_of_gpus(self):
        with ccs.Comm.tasks(4) as tasks:
            data = [floats(1)] * 4
            self.refused(
                ccs.ArgumentError, "no streams: leave stream= out", self.ring.run, tasks, data,
                data, stream=0,
            )


def one_of_two(rank, id):
    """A process a rank, each on a GPU."""
    with ccs.Comm.cuda_procs(rank, 2, id=id, device=rank) as comm:
        memory = Memory(rank, [rank + 1.0, 5.0])
        tensor = Tensor(memory)
        schedule("ring_allreduce", 2, target="cuda").run(comm, tensor, tensor)
        assert memory.values() == [3.0, 10.0], memory.values()
        got = Memory(rank, [0.0, 0.0])
        with comm.batch() as batch:
            batch.send(tensor, 1 - rank)
            batch.recv(Array(got), 1 - rank)
        assert got.values() == [3.0, 10.0], got.values()
        comm.barrier()
        memory.free()
        got.free()
    print("alike")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        one_of_two(int(sys.argv[1]), bytes.fromhex(sys.argv[2]))
    else:
        _driver()
        unittest.main(verbosity=2)
