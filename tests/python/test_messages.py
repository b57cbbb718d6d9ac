"""Messages between two ranks, of tasks; processes.py has those of processes."""

import array
import gc
import inspect
import threading

import ccs
from support import Case, floats


class Messages(Case):
    def setUp(self):
        self.comm = ccs.Comm.tasks(4)
        self.addCleanup(self.comm.close)

    def works(self):
        got = floats(0, 0)
        with self.comm.batch() as batch:
            batch.send(floats(5, 6), 1, rank=0)
            batch.recv(got, 0, rank=1)
        self.assertEqual(got, floats(5, 6))

    def test_arguments_are_those_of_a_batch(self):
        for name, of in (("send", "send"), ("isend", "send"), ("recv", "recv"), ("irecv", "recv")):
            method = getattr(ccs.Comm, name)
            given = inspect.signature(method).parameters
            self.assertEqual(given, inspect.signature(getattr(ccs.Batch, of)).parameters)
            self.assertEqual((method.__name__, method.__qualname__), (name, "Comm." + name))
            self.assertNotIn("when the batch is run", method.__doc__)

    def test_a_ring_as_one_batch(self):
        mine = [array.array("q", [10 * rank, 1]) for rank in range(4)]
        theirs = [array.array("q", [0, 0]) for _ in range(4)]
        with self.comm.batch() as batch:
            for rank in range(4):
                batch.send(mine[rank], (rank + 1) % 4, rank=rank)
                batch.recv(theirs[rank], (rank - 1) % 4, rank=rank)
        self.assertEqual(theirs, [mine[(rank - 1) % 4] for rank in range(4)])

    def test_threads_that_wait_for_one_another(self):
        got = floats(0)
        thread = threading.Thread(target=self.comm.recv, args=(got, 2), kwargs={"rank": 3})
        thread.start()
        self.comm.send(floats(7), 3, rank=2)
        thread.join()
        self.assertEqual(got, floats(7))

    def test_requests(self):
        got = [floats(0) for _ in range(40)]
        receives = [self.comm.irecv(one, 0, rank=2) for one in got]
        self.assertFalse(receives[0].test())
        with self.assertRaisesRegex(ccs.CcsError, "not through within 0.01 s") as caught:
            receives[0].wait(0.01)
        self.assertEqual(caught.exception.status, ccs.Status.ETIMEOUT)
        for i in range(40):
            self.comm.isend(floats(i), 2, rank=0)  # no other reference to request or buffer
            gc.collect(0)
        for request in receives:
            request.wait()
            request.wait()
            self.assertTrue(request.test())
        self.assertEqual(got, [floats(i) for i in range(40)])

    def test_memory_is_held_while_it_is_used(self):
        data = bytearray(4)
        request = self.comm.irecv(data, 0, rank=1)
        with self.assertRaises(BufferError):
            data.extend(b"more")
        self.comm.isend(b"abcd", 1, rank=0)
        request.wait(20)
        data.extend(b"more")
        self.assertEqual(data, b"abcdmore")

    def test_a_type_that_is_named(self):
        got = bytearray(4)
        with self.comm.batch() as batch:
            batch.send(floats(1.5), 0, rank=1)
            batch.recv(got, 1, rank=0, dtype="float32")
        self.assertEqual(got, floats(1.5).tobytes())

    def test_tags(self):
        for tag in (3, 1, 2):  # no receive is posted yet
            self.comm.isend(floats(tag), 1, rank=0, tag=tag)
        got = floats(0)
        for tag in (2, 3, 1):
            self.assertEqual(self.comm.recv(got, 0, rank=1, tag=tag), 0)
            self.assertEqual(got, floats(tag))
        recv, kind = self.comm.recv, ccs.ArgumentError
        self.refused(kind, "a tag must be from 0", recv, got, 0, rank=1, tag=-1)
        self.refused(kind, "a tag must be an int", recv, got, 0, rank=1, tag="a")
        self.works()

    def test_from_any_rank(self):
        got = [floats(0) for _ in range(3)]
        waits = self.comm.irecv(got[0], rank=0, tag=9)
        for rank in (3, 1, 2):
            self.comm.isend(floats(rank), 0, rank=rank)
        senders = [self.comm.recv(got[i % 2 + 1], rank=0) for i in range(3)]
        self.assertEqual(sorted(senders), [1, 2, 3])
        self.assertFalse(waits.test())
        self.comm.send(floats(7), 0, rank=2, tag=9)
        waits.wait()
        self.assertEqual((waits.source, got[0]), (2, floats(7)))
        name = "what rank 0 receives from any rank with tag 4 is read-only"
        self.refused(ccs.BufferTypeError, name, self.comm.recv, b"abcd", rank=0, tag=4)

    def test_itself(self):
        got = floats(0)
        with self.comm.batch() as batch:
            batch.send(floats(3), 0, rank=0)
            batch.recv(got, 0, rank=0)
        self.assertEqual(got, floats(3))

    def test_sides_that_differ(self):
        for send, recv, text in (
            (floats(1, 2), floats(0), "2 .*1"),
            (floats(1), array.array("i", [0]), "float32.*int32"),
        ):
            give = self.comm.isend(send, 1, rank=0)
            take = self.comm.irecv(recv, 0, rank=1)
            for request in (give, take, give):  # each wait reports it again
                self.refused(ccs.CcsError, text, request.wait)
            self.assertEqual(recv[0], 0)
        self.works()

    def test_mistakes(self):
        send, recv = self.comm.send, self.comm.recv
        kind = ccs.BufferTypeError
        self.refused(ccs.CcsError, "peer 4 is not in the range 0 to 3", send, floats(1), 4, rank=0)
        self.refused(ccs.ArgumentError, "a peer must be", send, floats(1), -1, rank=0)
        self.refused(ccs.ArgumentError, "say which by rank=", send, floats(1), 1)
        self.refused(ccs.ArgumentError, "rank 4 is not of this", send, floats(1), 1, rank=4)
        self.refused(kind, "rank 1 receives from rank 0 is read-only", recv, b"abcd", 0, rank=1)
        skipping = memoryview(floats(1, 9, 2, 9))[::2]
        self.refused(ccs.ArgumentError, "not contiguous", send, skipping, 1, rank=0)
        self.refused(kind, "lends no memory", send, [1.0], 1, rank=0)
        self.refused(ccs.ArgumentError, "none of ccs's", send, floats(1), 1, rank=0, dtype="f")
        self.refused(ccs.CcsError, "its own peer", send, floats(1), 2, rank=2)
        self.refused(ccs.ArgumentError, "no messages", self.comm.batch().start)
        self.works()

    def test_memory_that_messages_share(self):
        data = floats(1, 2, 3, 4)
        view = memoryview(data)
        for one, other in ((view[:2], view[1:3]), (view[1:], view[:2]), (data, view[2:3])):
            batch = self.comm.batch()
            batch.recv(one, 1, rank=0)
            batch.recv(other, 2, rank=3)
            self.refused(ccs.ArgumentError, "shares memory", batch.run)
            batch = self.comm.batch()
            batch.send(one, 1, rank=0)
            batch.recv(other, 0, rank=1)
            self.refused(ccs.ArgumentError, "shares memory", batch.start)
        got = [floats(0, 0), floats(0, 0)]
        with self.comm.batch() as batch:
            for peer in (1, 2):  # reading alike is right
                batch.send(view[:2], peer, rank=0)
                batch.recv(got[peer - 1], 0, rank=peer)
        self.assertEqual(got, [floats(1, 2)] * 2)

    def test_what_fails_begins_nothing(self):
        with self.assertRaises(ZeroDivisionError):
            with self.comm.batch() as batch:
                batch.send(floats(1), 1, rank=0)
                1 / 0
        got = floats(0)
        batch = self.comm.batch()
        batch.recv(got, 0, rank=1)
        batch.send(floats(1), 9, rank=0)
        self.refused(ccs.CcsError, "peer 9", batch.run)
        self.works()

    def test_a_peer_that_never_comes(self):
        self.comm.set_timeout(0.2)
        request = self.comm.irecv(floats(0), 3, rank=1)
        with self.assertRaisesRegex(ccs.CcsError, "rank 1.*rank 3") as caught:
            request.wait()
        self.assertEqual(caught.exception.status, ccs.Status.ETIMEOUT)

    def test_given_up_while_a_thread_waits(self):
        failed = []

        def wait():
            try:
                self.comm.recv(floats(0), 3, rank=1)
            except ccs.CcsError as error:
                failed.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        request = self.comm.irecv(floats(0), 3, rank=2)
        self.comm.abort("it is enough")
        thread.join()
        text = "rank 0 aborted the communicator: it is enough"
        for call in (request.wait, lambda: self.comm.send(floats(0), 1, rank=0)):
            with self.assertRaisesRegex(ccs.CcsError, text) as caught:
                call()
            self.assertEqual(caught.exception.status, ccs.Status.EABORTED)
        self.assertRegex(str(failed[0]), text)
        self.comm.close()
        with self.assertRaisesRegex(ccs.CcsError, "was closed"):
            self.comm.abort("once more")

    def test_closing_while_threads_wait(self):
        for _ in range(20):
            comm, got = ccs.Comm.tasks(2), [floats(0) for _ in range(4)]
            works = [comm.irecv(one, 0, rank=1) for one in got]
            threads = [threading.Thread(target=work.wait) for work in works]
            for thread in threads:
                thread.start()
            for value in range(4):
                comm.isend(floats(value), 1, rank=0)
            comm.close()
            for thread in threads:
                thread.join()
            self.assertEqual(got, [floats(value) for value in range(4)])

    def test_a_communicator_that_is_closed(self):
        comm = ccs.Comm.tasks(2)
        give = comm.isend(floats(1), 1, rank=0)
        got = floats(0)
        comm.irecv(got, 0, rank=1)
        comm.close()  # waits
        self.assertEqual(got, floats(1))
        give.wait()
        with self.assertRaisesRegex(ccs.CcsError, "was closed"):
            comm.send(floats(1), 1, rank=0)
