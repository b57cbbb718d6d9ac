"""Runs that go on while their caller works: Module.start()."""

import array
import gc
import threading
import unittest

import ccs
from support import Case, floats, schedule


def held_back():
    """An event, and a sum that waits for it."""
    free = threading.Event()

    def add(result, first, second):
        free.wait(60)
        for i, (a, b) in enumerate(zip(first, second)):
            result[i] = a + b

    return free, add


class Started(Case):
    def setUp(self):
        self.comm = ccs.Comm.tasks(4)
        self.addCleanup(self.comm.close)
        self.ring = schedule("ring_allreduce")

    def test_results_in_order(self):
        data = [floats(rank, 1) for rank in range(4)]
        requests = [self.ring.start(self.comm, data, data) for _ in range(3)]
        requests[2].wait()
        self.assertTrue(all(request.test() for request in requests))
        self.assertEqual(data, [floats(96, 64)] * 4)
        self.ring.run(self.comm, data, data, "max")
        self.assertEqual(data[3], floats(96, 64))
        requests[0].wait()  # once more does nothing

    def test_two_communicators(self):
        with ccs.Comm.tasks(4) as other:
            data = [[floats(rank + i) for rank in range(4)] for i in range(2)]
            requests = [
                self.ring.start(comm, own, own) for comm, own in zip((self.comm, other), data)
            ]
            for request in requests:
                while not request.test():
                    pass
        self.assertEqual([own[1] for own in data], [floats(6), floats(10)])

    def test_nobody_holds_it(self):
        big = [array.array("f", [rank]) * 100_000 for rank in range(4)]
        for _ in range(20):
            own = [array.array("f", b) for b in big]
            self.ring.start(self.comm, own, own)
            del own
        gc.collect()
        self.ring.start(self.comm, big, big).wait()
        self.assertEqual(big[0][99_999], 6)

    def test_buffers_are_held(self):
        free, add = held_back()
        data = [bytearray(b"\1\0\0\0") for _ in range(4)]
        request = self.ring.start(
            self.comm, data, data, ccs.Operator(add, commutes=True), dtype="int32"
        )
        try:
            self.assertFalse(request.test())
            with self.assertRaises(BufferError):
                data[0].append(0)
            with self.assertRaisesRegex(ccs.CcsError, "ring_allreduce by rank 0 was not through"):
                request.wait(0.01)
        finally:
            free.set()
        request.wait()
        self.assertEqual(data[3], b"\4\0\0\0")
        data[0].append(0)

    def test_what_an_operator_raises(self):
        def fail(result, first, second):
            raise KeyError("mine")

        data = [floats(1)] + [floats(2) for _ in range(3)]
        request = self.ring.start(self.comm, data, data, ccs.Operator(fail, commutes=True))
        with self.assertRaisesRegex(KeyError, "mine"):
            request.wait()

    def test_sizes_and_factors(self):
        data = [floats(1, 2) for _ in range(4)]
        factors = [floats(rank, 1) for rank in range(4)]
        self.ring.start(self.comm, data, data, factors=factors).wait()
        self.assertEqual(data[2], floats(6, 8))
        self.ring.start(self.comm, data, data, scalar=0.25).wait()
        self.assertEqual(data[0], floats(6, 8))

    def test_refused(self):
        start, data = self.ring.start, [floats(1)] * 4
        self.refused(ccs.ArgumentError, "shares memory", start, self.comm, data, data)
        self.refused(ccs.BufferTypeError, "needs a ccs.Comm", start, 4, data, data)
        self.refused(ccs.BufferTypeError, "lends no memory", start, self.comm, [1] * 4, [1] * 4)
        data = [floats(1) for _ in range(4)]
        request = start(self.comm, data, data)
        self.refused(ccs.ArgumentError, "from no one rank", lambda: request.source)
        request.wait()
        self.comm.close()
        with self.assertRaisesRegex(ccs.CcsError, "was closed"):
            start(self.comm, data, data)


class Prepared(Case):
    def setUp(self):
        self.comm = ccs.Comm.tasks(4)
        self.addCleanup(self.comm.close)
        self.ring = schedule("ring_allreduce")

    def test_many_runs_with_other_values(self):
        data, out = [floats(0, 0) for _ in range(4)], [floats(0, 0) for _ in range(4)]
        call = self.ring.prepare(self.comm, data, out)
        for turn in range(50):
            for rank, own in enumerate(data):
                own[0], own[1] = rank, turn
            if turn % 3:
                call.run()
            else:
                call.start().wait()
            self.assertEqual(out, [floats(6, 4 * turn)] * 4)

    def test_one_at_a_time(self):
        free, add = held_back()
        data = [bytearray(b"\1\0\0\0") for _ in range(4)]
        call = self.ring.prepare(
            self.comm, data, data, ccs.Operator(add, commutes=True), dtype="int32"
        )
        request = call.start()
        try:
            with self.assertRaisesRegex(ccs.CcsError, "is not over"):
                call.run()
        finally:
            free.set()
        request.wait()
        call.run()
        self.assertEqual(data[2], b"\x10\0\0\0")

    def test_nobody_holds_it(self):
        for _ in range(20):
            data = [array.array("f", [rank]) * 10_000 for rank in range(4)]
            request = self.ring.prepare(self.comm, data, data).start()
            gc.collect()
            request.wait()
            self.assertEqual(data[1][9_999], 6)

    def test_its_request_is_dropped(self):
        data = [floats(1) for _ in range(4)]
        call = self.ring.prepare(self.comm, data, data)
        call.start()
        gc.collect()
        self.ring.start(self.comm, data, data).wait()  # after the dropped one
        call.run()
        self.assertEqual(data[0], floats(64))

    def test_what_is_refused(self):
        data = [floats(1) for _ in range(4)]
        self.refused(ccs.ArgumentError, "too short", self.ring.prepare, self.comm, data, data, count=2)
        call = self.ring.prepare(self.comm, data, data, scalar=2)
        call.run()
        self.assertEqual(data[0], floats(8))
        self.comm.close()
        with self.assertRaisesRegex(ccs.CcsError, "was closed"):
            call.run()

    def test_what_an_operator_raises(self):
        def fail(result, first, second):
            raise KeyError("mine")

        data = [floats(1) for _ in range(4)]
        call = self.ring.prepare(self.comm, data, data, ccs.Operator(fail, commutes=True))
        for _ in range(2):
            with self.assertRaisesRegex(KeyError, "mine"):
                call.run()


if __name__ == "__main__":
    unittest.main()
