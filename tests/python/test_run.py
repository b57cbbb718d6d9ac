"""Calls: results, arguments, and the errors of wrong ones."""

import array
import ctypes
import gc
import struct
import threading

import ccs
from support import Case, floats, schedule


class Results(Case):
    def setUp(self):
        self.comm = ccs.Comm.tasks(4)
        self.addCleanup(self.comm.close)

    def test_in_place_and_out_of_place(self):
        ring = schedule("ring_allreduce")
        send = [floats(*[rank + i for i in range(10)]) for rank in range(4)]
        recv = [floats(*[0] * 10) for _ in range(4)]
        ring.run(self.comm, send, recv)
        self.assertEqual(recv, [floats(*[6 + 4 * i for i in range(10)])] * 4)
        self.assertEqual(send[3], floats(*range(3, 13)))
        ring.run(self.comm, send, send, "max")
        self.assertEqual(send, [floats(*range(3, 13))] * 4)

    def test_every_native_type(self):
        ring = schedule("ring_allreduce")
        for form in "bBiIlLqQfd":
            data = [array.array(form, [rank, 1, 2]) for rank in range(4)]
            ring.run(self.comm, data, data)
            self.assertEqual(list(data[2]), [6, 4, 8], form)

    def test_types_that_are_named(self):
        ring = schedule("ring_allreduce")
        half = [bytearray(struct.pack("<ee", rank, 0.5)) for rank in range(4)]
        ring.run(self.comm, half, half, dtype="float16")
        self.assertEqual(struct.unpack("<ee", half[1]), (6, 2))
        brain = [array.array("H", [0x3F80]) for _ in range(4)]  # 1.0
        ring.run(self.comm, brain, brain, dtype="bfloat16")
        self.assertEqual(brain[0][0], 0x4080)  # 4.0
        eight = [bytearray([0x38]) for _ in range(4)]  # 1.0
        ring.run(self.comm, eight, eight, dtype="float8e4m3")
        self.assertEqual(eight[0][0], 0x48)  # 4.0

    def test_blocks(self):
        gather, scatter = schedule("ring_allgather"), schedule("ring_reduce_scatter")
        one = [array.array("q", [1 + 2 * r, 2 + 2 * r]) for r in range(4)]
        every = [array.array("q", [0] * 8) for _ in range(4)]
        gather.run(self.comm, one, every)
        self.assertEqual([list(b) for b in every], [list(range(1, 9))] * 4)
        scatter.run(self.comm, every, one)
        self.assertEqual([list(b) for b in one], [[4 + 8 * r, 8 + 8 * r] for r in range(4)])

    def test_root(self):
        broadcast = schedule("binomial_broadcast")
        self.assertTrue(broadcast.rooted)
        data = [floats(rank, rank) for rank in range(4)]
        broadcast.run(self.comm, data, data, root=2)
        self.assertEqual(data, [floats(2, 2)] * 4)
        reduce = schedule("binomial_reduce")
        total = floats(0, 0)
        reduce.run(self.comm, data, [None, total, None, None], root=1)
        self.assertEqual(total, floats(8, 8))
        self.refused(ccs.CcsError, "root", broadcast.run, self.comm, data, data, root=4)

    def test_scalar(self):
        ring = schedule("ring_allreduce")
        for scalar in (0.5, floats(0.5)):
            data = [floats(rank, 2) for rank in range(4)]
            ring.run(self.comm, data, data, scalar=scalar)
            self.assertEqual(data, [floats(3, 4)] * 4)
        run = ring.run
        self.refused(ccs.ArgumentError, "not one", run, self.comm, data, data, scalar=data[0])
        self.refused(ccs.ArgumentError, "op='sum'", run, self.comm, data, data, "max", scalar=1)

    def test_nothing_to_move(self):
        barrier = schedule("dissemination_barrier")
        barrier.run(self.comm)
        data = [floats(1)] * 4
        self.refused(ccs.ArgumentError, "has 1 elements", barrier.run, self.comm, data)

    def test_empty_arrays_of_every_type(self):
        # An empty array's address is no multiple of anything.
        ring, gather = schedule("ring_allreduce"), schedule("ring_allgather")
        for form in "bBiIlLqQfd":
            send, recv = ([array.array(form) for _ in range(4)] for _ in range(2))
            ring.run(self.comm, send, send)
            gather.run(self.comm, send, recv)
            ring.run(self.comm, send, recv, factors=[array.array(form) for _ in range(4)])
            batch = self.comm.batch()
            batch.send(send[0], 1, rank=0)
            batch.recv(recv[1], 0, rank=1)
            batch.run()

    def test_count_leaves_the_rest(self):
        data = [floats(1, 2, 3) for _ in range(4)]
        schedule("ring_allreduce").run(self.comm, data, data, count=2)
        self.assertEqual(data, [floats(4, 8, 3)] * 4)

    def test_ranks_that_it_has(self):
        one = schedule("one_shot_allreduce", (2, 4))
        self.assertTrue(one.has(2) and one.has(4) and not one.has(3))
        with self.assertRaisesRegex(ccs.CcsError, "no plan for 3 ranks") as caught:
            one.elements(3, 1)
        self.assertEqual(caught.exception.status, ccs.Status.ENOPLAN)

    def test_threads_take_turns(self):
        ring, data = schedule("ring_allreduce"), [[floats(1) for _ in range(4)] for _ in range(6)]
        threads = [
            threading.Thread(target=ring.run, args=(self.comm, mine, mine)) for mine in data
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(data, [[floats(4)] * 4] * 6)


class Mistakes(Case):
    """Each is refused, and no receive buffer was written."""

    def setUp(self):
        self.comm = ccs.Comm.tasks(4)
        self.addCleanup(self.comm.close)
        self.ring = schedule("ring_allreduce")
        self.send = [floats(1, 2) for _ in range(4)]
        self.recv = [floats(0, 0) for _ in range(4)]

    def wrong(self, kind, pattern, send=None, recv=None, **more):
        send = self.send if send is None else send
        recv = self.recv if recv is None else recv
        self.refused(kind, pattern, self.ring.run, self.comm, send, recv, **more)
        self.assertEqual(self.recv, [floats(0, 0)] * 4)

    def last(self, buffers, odd):
        return buffers[:3] + [odd]

    def test_lengths(self):
        short = "receive buffer of rank 3 is too short: it has 1 .* needs 2"
        self.wrong(ccs.ArgumentError, short, recv=self.last(self.recv, floats(0)))
        self.wrong(ccs.ArgumentError, "rank 3 has 3 elements", self.last(self.send, floats(1, 2, 3)))
        self.wrong(ccs.ArgumentError, "rank 0 is too short", count=3)
        self.wrong(ccs.ArgumentError, "count must be", count=-1)
        self.wrong(ccs.ArgumentError, "3 send buffers .* 4 ranks", self.send[:3])
        gather = schedule("ring_allgather")
        odd = self.last([floats(*[0] * 7) for _ in range(4)], floats(0))
        run = gather.run
        self.refused(ccs.ArgumentError, "4 blocks", run, self.comm, [None] * 4, odd)
        self.refused(ccs.ArgumentError, "give count=", run, self.comm)

    def test_objects(self):
        kind = ccs.BufferTypeError
        self.wrong(kind, "rank 3 is a list, which lends no memory", self.last(self.send, [1.0, 2.0]))
        self.wrong(kind, "rank 3 is read-only", recv=self.last(self.recv, bytes(8)), dtype="float32")
        self.wrong(kind, "a list of 4 send buffers", 7)
        skipping = memoryview(floats(1, 9, 2, 9))[::2]
        self.wrong(ccs.ArgumentError, "not contiguous", self.last(self.send, skipping))

    def test_types(self):
        kind = ccs.BufferTypeError
        odd = array.array("d", [1, 2])
        self.wrong(kind, "rank 3 is float64, but .* is float32", self.last(self.send, odd))
        self.wrong(kind, "float32, not int32 as dtype= says", dtype="int32")
        self.wrong(kind, "no type for", [(ctypes.c_longdouble * 2)()] * 4)
        self.wrong(ccs.ArgumentError, "is none of ccs's", dtype="float128")
        self.wrong(ccs.ArgumentError, "no whole number", [bytearray(7)] * 4, dtype="float32")
        self.wrong(ccs.ArgumentError, "op='xor' is none", op="xor")

    def test_memory_of_two_ranks(self):
        self.wrong(ccs.ArgumentError, "shares memory", recv=[self.recv[0]] * 4)
        self.wrong(ccs.ArgumentError, "shares memory", self.recv[1:] + self.recv[:1])
        self.ring.run(self.comm, [self.send[0]] * 4, self.recv)  # reading alike is right
        self.assertEqual(self.recv, [floats(4, 8)] * 4)

    def test_too_few_receive(self):
        self.wrong(ccs.CcsError, "recvbuff is NULL", recv=self.last(self.recv, None))
        self.ring.run(self.comm, self.send, self.recv)  # the communicator goes on
        self.assertEqual(self.recv, [floats(4, 8)] * 4)

    def test_a_closed_communicator(self):
        self.comm.close()
        self.comm.close()
        with self.assertRaisesRegex(ccs.CcsError, "was closed") as caught:
            self.ring.run(self.comm, self.send, self.recv)
        self.assertEqual(caught.exception.status, ccs.Status.EABORTED)

    def test_numbers(self):
        for wrong in (-1, 2**31, 1.5, "4"):
            self.refused(ccs.ArgumentError, "number of ranks", ccs.Comm.tasks, wrong)
        self.refused(ccs.CcsError, ".", ccs.Comm.tasks, 0)
        self.refused(ccs.ArgumentError, "timeout", self.comm.set_timeout, -1)

    def test_buffers_are_given_back(self):
        data = [bytearray(8) for _ in range(4)]
        self.ring.run(self.comm, data, data, dtype="float32")
        gc.collect()
        for buffer in data:
            buffer.extend(b"more")  # BufferError, if it were still lent


class Statuses(Case):
    def test_they_are_the_librarys(self):
        from ccs.native import library

        for status in ccs.Status:
            name = library().ccs_status_name(int(status)).decode()
            self.assertEqual(name, "CCS_" + status.name)
