"""Memory lent by DLPack: by a producer of our own, and by packages that are here."""

import ctypes
import unittest
import warnings

import ccs
from ccs.buffers import _DLTensor
from support import Case, floats, schedule

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs
    try:
        import numpy
    except ImportError:
        numpy = None
    try:
        import torch
    except ImportError:
        torch = None

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class Tensor:
    """A vector of elements with DLPack alone."""

    def __init__(self, memory, kind, bits, length, stride=1, device=1):
        self.memory, self.device = memory, device
        self.shape, self.strides = (ctypes.c_int64 * 1)(length), (ctypes.c_int64 * 1)(stride)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self.tensor = _DLTensor(address, device, 0, 1, kind, bits, 1, self.shape, self.strides, 0)

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self):
        return _new(ctypes.addressof(self.tensor), b"dltensor", None)


class DLPack(Case):
    def setUp(self):
        self.comm = ccs.Comm.tasks(2)
        self.addCleanup(self.comm.close)
        self.ring = schedule("ring_allreduce", 2)

    def run_tensors(self, *arguments, **more):
        memory = [bytearray(b"\x80\x3f" * 4) for _ in range(2)]  # bfloat16's 1.0
        tensors = [Tensor(m, *arguments, **more) for m in memory]
        self.ring.run(self.comm, tensors, tensors)
        return memory

    def test_bfloat16_by_its_code(self):
        self.assertEqual(self.run_tensors(4, 16, 4), [b"\x00\x40" * 4] * 2)

    def test_refused(self):
        kind = ccs.BufferTypeError
        self.refused(kind, "complex64", self.run_tensors, 5, 64, 1)
        self.refused(kind, "on a GPU", self.run_tensors, 4, 16, 4, device=2)
        self.refused(ccs.ArgumentError, "not contiguous", self.run_tensors, 4, 16, 2, stride=2)

    @unittest.skipUnless(numpy, "there is no numpy")
    def test_numpy(self):
        data = [numpy.full((3, 2), rank + 1, dtype=numpy.float32) for rank in range(2)]
        self.ring.run(self.comm, data, data)
        self.assertTrue((data[1] == 3).all())
        rows = numpy.ones((2, 5))  # a row for each rank
        self.ring.run(self.comm, rows, rows)
        self.assertTrue((rows == 2).all())
        columns = [a.T for a in data]
        run = self.ring.run
        self.refused(ccs.ArgumentError, "not contiguous", run, self.comm, columns, columns)
        swapped = [a.astype(">f4") for a in data]
        self.refused(ccs.BufferTypeError, "big-endian", run, self.comm, swapped, swapped)
        data[1].flags.writeable = False
        self.refused(ccs.BufferTypeError, "rank 1 is read-only", run, self.comm, data, data)

    @unittest.skipUnless(torch, "there is no torch")
    def test_torch(self):
        for kind in (torch.float32, torch.bfloat16, torch.int64):
            data = [torch.full((6,), rank + 1, dtype=kind) for rank in range(2)]
            self.ring.run(self.comm, data, data)
            self.assertTrue(bool((data[0] == 3).all()))
        learns = [torch.ones(2, requires_grad=True) for _ in range(2)]
        self.refused(ccs.BufferTypeError, "gradient", self.ring.run, self.comm, learns, learns)

    def test_a_view_and_a_vector(self):
        data = [floats(1, 2, 3, 4) for _ in range(2)]
        halves = [memoryview(d)[2:] for d in data]
        self.ring.run(self.comm, halves, halves)
        self.assertEqual(data, [floats(1, 2, 6, 8)] * 2)
