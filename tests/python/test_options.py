"""Calls with more than buffers: rows, sizes, factors, and operators of the user's own."""

import array
import ctypes
import gc
import os
import unittest
import warnings

import ccs
from ccs.operators import PROTOTYPE
from support import Case, floats, schedule

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import numpy
    except ImportError:
        numpy = None

TUTORIALS = os.path.join(os.pardir, "examples", "tutorials")
SPLIT = [[2, 2, 1, 1], [3, 2, 2, 2], [2, 1, 1, 1], [2, 2, 2, 1]]
GIVEN = [SPLIT[r] + [SPLIT[q][r] for q in range(4)] for r in range(4)]


def tutorial(name):
    return schedule(os.path.join(TUTORIALS, name))


def numbers(lengths):
    return [array.array("q", [10 * r + i for i in range(n)]) for r, n in enumerate(lengths)]


class FourTasks(Case):
    def setUp(self):
        self.comm = ccs.Comm.tasks(4)
        self.addCleanup(self.comm.close)


class Columns(FourTasks):
    def test_rows(self):
        columns = [array.array("i", [10 * r, 10 * r + 1] * 5) for r in range(4)]
        whole = array.array("i", [0] * 40)
        gather = tutorial("gather_columns")
        gather.run(self.comm, columns, [whole, None, None, None], rows=5)
        self.assertEqual(list(whole), [0, 1, 10, 11, 20, 21, 30, 31] * 5)
        args = gather.run, self.comm, columns, [whole, None, None, None]
        self.refused(ccs.CcsError, "10 elements is not a matrix of 3 rows", *args, rows=3)
        self.refused(ccs.CcsError, "number of rows", *args)
        self.refused(ccs.ArgumentError, "rows must be from 0", *args, rows=-1)
        ring, data = schedule("ring_allreduce"), [floats(1)] * 4
        self.refused(ccs.CcsError, "no rows", ring.run, self.comm, data, numbers4(), rows=1)


def numbers4():
    return [floats(0) for _ in range(4)]


class Sizes(FourTasks):
    def setUp(self):
        super().setUp()
        self.uneven = tutorial("uneven_all_to_all")
        self.send = numbers([sum(row) for row in SPLIT])
        self.recv = [array.array("q", [-1] * sum(row[r] for row in SPLIT)) for r in range(4)]

    def wrong(self, kind, pattern, **more):
        self.refused(kind, pattern, self.uneven.run, self.comm, self.send, self.recv, **more)
        self.assertTrue(all(set(got) == {-1} for got in self.recv))

    def test_uneven_all_to_all(self):
        self.assertTrue(self.uneven.sized)
        self.uneven.run(self.comm, self.send, self.recv, sizes=GIVEN)
        self.assertEqual(list(self.recv[0]), [0, 1, 10, 11, 12, 20, 21, 30, 31])
        self.assertEqual(list(self.recv[3]), [5, 17, 18, 24, 36])

    def test_what_is_wrong_with_them(self):
        self.wrong(ccs.ArgumentError, "sizes= says how long each of their 8 chunks")
        self.wrong(ccs.ArgumentError, "rank 0 are 4 numbers, .* 8 `sized` chunks", sizes=SPLIT)
        self.wrong(ccs.ArgumentError, "3 lists of sizes were given for 4", sizes=GIVEN[:3])
        self.wrong(ccs.BufferTypeError, "takes a list of 4 lists of sizes", sizes=8)
        self.wrong(ccs.BufferTypeError, "must be a list of ints, not 1", sizes=[1, 2, 3, 4])
        self.wrong(ccs.ArgumentError, "must be from 0", sizes=[[-1] * 8] * 4)
        self.wrong(ccs.ArgumentError, "must be an int, not 0.5", sizes=[[0.5] * 8] * 4)
        short = [GIVEN[0][:7] + [1]] + GIVEN[1:]
        self.wrong(ccs.ArgumentError, "receive buffer of rank 0 has 9 .* 8 together", sizes=short)
        ring, data = schedule("ring_allreduce"), numbers4()
        self.refused(
            ccs.ArgumentError, "no `sized` buffer", ring.run, self.comm, data, data, sizes=GIVEN
        )

    def test_ranks_that_differ(self):
        """Rank 0 sends rank 1 one less, and itself one more: all its buffers are as long."""
        other = [[3, 1, *GIVEN[0][2:4], 3, *GIVEN[0][5:]], *GIVEN[1:]]
        self.recv[0].append(-1)
        self.wrong(ccs.CcsError, "send as much as its receiver expects", sizes=other)


class Factors(FourTasks):
    def test_one_for_each_element(self):
        data = [floats(rank, 1) for rank in range(4)]
        factors = [floats(2, rank) for rank in range(4)]
        schedule("ring_allreduce").run(self.comm, data, data, factors=factors)
        self.assertEqual(data, [floats(12, 6)] * 4)

    def test_bits_that_are_named(self):
        brain = [array.array("H", [0x3F80]) for _ in range(4)]  # 1.0
        half = [array.array("H", [0x3F00]) for _ in range(4)]  # 0.5
        ring = schedule("ring_allreduce")
        ring.run(self.comm, brain, brain, dtype="bfloat16", factors=half)
        self.assertEqual(brain[2][0], 0x4000)  # 2.0

    def test_what_is_wrong_with_them(self):
        run, data, out = schedule("ring_allreduce").run, numbers4(), numbers4()
        wrong = lambda kind, text, *op, **more: self.refused(
            kind, text, run, self.comm, data, out, *op, **more
        )
        wrong(ccs.ArgumentError, "rank 0 are 2, .* has 1 elements", factors=[floats(1, 2)] * 4)
        wrong(ccs.BufferTypeError, "are int32, .* float32", factors=[array.array("i", [1])] * 4)
        wrong(ccs.ArgumentError, "rank 3 has no factors", factors=[floats(1)] * 3 + [None])
        wrong(ccs.ArgumentError, "op='sum'", "max", factors=numbers4())
        wrong(ccs.ArgumentError, "without scalar", factors=numbers4(), scalar=2.0)
        wrong(ccs.BufferTypeError, "lends no memory", factors=[[1.0]] * 4)
        wrong(ccs.ArgumentError, "shares memory with factors", factors=[out[0]] * 4)


class Operators(FourTasks):
    def larger(self, result, first, second):
        self.assertRaises(TypeError, first.__setitem__, 0, 0)  # operands are only read
        for i in range(len(result)):
            result[i] = max(first[i], second[i])

    def test_a_function(self):
        data = [floats(rank, 9 - rank) for rank in range(4)]
        schedule("ring_allreduce").run(
            self.comm, data, data, ccs.Operator(self.larger, commutes=True)
        )
        self.assertEqual(data, [floats(3, 9)] * 4)
        gc.collect()

    def test_in_the_order_of_ranks(self):
        """The first operand is what lower ranks have."""
        def first(result, one, other):
            result[:] = one

        keep = ccs.Operator(first, commutes=False)
        data = [array.array("i", [rank + 5, rank]) for rank in range(4)]
        schedule("fixed_order_allreduce").run(self.comm, data, data, keep)
        self.assertEqual(data, [array.array("i", [5, 0])] * 4)
        with self.assertRaisesRegex(ccs.CcsError, "in rank order") as caught:
            schedule("ring_allreduce").run(self.comm, data, data, keep)
        self.assertEqual(caught.exception.status, ccs.Status.EUNSUPPORTED)

    def test_elements_of_ones_own(self):
        """Pairs of a value and where it was: the largest, as torch.max has it."""
        def larger(result, one, other):
            for i in range(0, len(result), 16):
                pair = max(bytes(v[i : i + 16]) for v in (one, other))
                result[i : i + 16] = pair

        largest = ccs.Operator(larger, commutes=True, element=16)
        data = [bytearray([rank % 3] * 8 + [rank] * 8 + [7 - rank] * 16) for rank in range(4)]
        schedule("ring_allreduce").run(self.comm, data, data, largest)
        self.assertEqual(data, [bytearray([2] * 16 + [7] * 16)] * 4)
        odd = [bytearray(24) for _ in range(4)]
        run = schedule("ring_allreduce").run
        self.refused(
            ccs.ArgumentError, "24 bytes, no whole number of elements of 16", run, self.comm, odd,
            odd, largest,
        )

    def test_a_function_of_c(self):
        @PROTOTYPE
        def add(result, first, second, n, dtype, context):
            to, one, other = ((ctypes.c_int32 * n).from_address(a) for a in (result, first, second))
            for i in range(n):
                to[i] = one[i] + other[i]

        data = [array.array("i", [rank] * 5) for rank in range(4)]
        schedule("ring_allreduce").run(self.comm, data, data, ccs.Operator(add, commutes=True))
        self.assertEqual(data[3], array.array("i", [6] * 5))

    def test_what_it_raises(self):
        def fails(result, first, second):
            raise KeyError("mine")

        wrong, data, ring = ccs.Operator(fails, commutes=True), numbers4(), schedule("ring_allreduce")
        for _ in range(2):
            with self.assertRaisesRegex(KeyError, "mine"):
                ring.run(self.comm, data, data, wrong)
        ring.run(self.comm, data, data)  # the communicator goes on

    def test_what_is_wrong_with_one(self):
        kind = ccs.ArgumentError
        self.refused(ccs.BufferTypeError, "needs a function, not a int", ccs.Operator, 1, commutes=True)
        self.refused(kind, "commutes must be True or False", ccs.Operator, max, commutes=1)
        self.refused(kind, "element must be", ccs.Operator, max, commutes=True, element=0)
        self.refused(kind, "element must be", ccs.Operator, max, commutes=True, element=4097)
        data = numbers4()
        own = ccs.Operator(self.larger, commutes=True)
        run = schedule("ring_allreduce").run
        self.refused(kind, "scalar= is for", run, self.comm, data, data, own, scalar=1.0)
        self.refused(kind, "Operator of your own", run, self.comm, data, data, max)


@unittest.skipIf(numpy is None, "there is no numpy")
class Numpy(FourTasks):
    def test_all_of_them(self):
        ring = schedule("ring_allreduce")
        data = [numpy.full((2, 3), rank, dtype=numpy.float64) for rank in range(4)]
        ring.run(self.comm, data, data, factors=[numpy.full((2, 3), 2.0)] * 4)
        self.assertTrue((data[1] == 12).all())
        data = [numpy.array([rank, -rank], dtype=numpy.float16) for rank in range(4)]

        def larger(result, first, second):
            numpy.maximum(*(numpy.frombuffer(v, numpy.float16) for v in (first, second)),
                          out=numpy.frombuffer(result, numpy.float16))

        ring.run(self.comm, data, data, ccs.Operator(larger, commutes=True))
        self.assertEqual(data[2].tolist(), [3, 0])
        columns = [numpy.full((5, 2), r, dtype=numpy.int32) for r in range(4)]
        whole = numpy.zeros((5, 8), dtype=numpy.int32)
        run = tutorial("gather_columns").run
        run(self.comm, columns, [whole, None, None, None], rows=columns[0].shape[0])
        self.assertTrue((whole == [0, 0, 1, 1, 2, 2, 3, 3]).all())
        counts = numpy.array(GIVEN)
        send = [numpy.arange(sum(row)) for row in SPLIT]
        recv = [numpy.zeros(counts[r, 4:].sum(), dtype=numpy.int64) for r in range(4)]
        tutorial("uneven_all_to_all").run(self.comm, send, recv, sizes=counts)
        self.assertEqual(recv[3].tolist(), [5, 7, 8, 4, 6])

    def test_arrays_that_are_refused(self):
        run, out = schedule("ring_allreduce").run, [numpy.zeros(2) for _ in range(4)]
        wrong = lambda kind, text, send: self.refused(kind, text, run, self.comm, send, out)
        wrong(ccs.ArgumentError, "not contiguous", [numpy.zeros((2, 2)).T[0]] * 4)
        wrong(ccs.BufferTypeError, "big-endian", [numpy.zeros(2, dtype=">f8")] * 4)
        wrong(ccs.BufferTypeError, "no type for", [numpy.zeros(2, dtype=complex)] * 4)
        wrong(ccs.BufferTypeError, "no type for", [numpy.array([None, 1])] * 4)
        frozen = numpy.zeros(2)
        frozen.flags.writeable = False
        self.refused(
            ccs.BufferTypeError, "read-only", run, self.comm, [numpy.zeros(2)] * 4, [frozen] * 4
        )
        held = numpy.zeros(2)
        request = self.comm.irecv(held, 0, rank=1)
        with self.assertRaises(ValueError):
            held.resize(1 << 20)  # it is in use
        self.comm.send(numpy.ones(2), 1, rank=0)
        request.wait()
        self.assertEqual(held.tolist(), [1, 1])
