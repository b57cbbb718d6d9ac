"""Communicators of some ranks of another one, and barriers."""

import ccs
from support import Case, floats, schedule


class Split(Case):
    def setUp(self):
        self.comm = ccs.Comm.tasks(5)
        self.addCleanup(self.comm.close)
        self.ring = schedule("ring_allreduce", 2)

    def works(self, comm):
        data = [floats(1), floats(2)]
        self.ring.run(comm, data, data)
        self.assertEqual(data, [floats(3)] * 2)

    def test_colors_and_keys(self):
        parts = self.comm.split([0, 1, None, 1, 0], [0, 5, 0, -5, 1])
        self.assertIsNone(parts[2])
        self.assertIs(parts[0], parts[4])
        self.assertIs(parts[1], parts[3])
        self.assertEqual((parts[0].size, parts[1].size, parts[1].ranks), (2, 2, (0, 1)))
        self.comm.close()  # they do not need it
        self.works(parts[0])
        self.works(parts[1])
        broadcast, data = schedule("binomial_broadcast", 2), [floats(7), floats(8)]
        broadcast.run(parts[1], data, data)
        self.assertEqual(data, [floats(7)] * 2)

    def test_group(self):
        group = self.comm.group([3, 0])
        self.assertEqual((group.size, group.engine), (2, "tasks"))
        self.works(group)
        self.works(self.comm.group((1, 2)))
        self.assertEqual(group.group([1]).size, 1)

    def test_barrier(self):
        self.comm.barrier()
        self.comm.close()
        with self.assertRaisesRegex(ccs.CcsError, "was closed"):
            self.comm.barrier()

    def test_mistakes(self):
        comm = self.comm
        self.refused(ccs.CcsError, "rank 1 is twice", comm.group, [1, 1])
        self.refused(ccs.CcsError, "entry 1 of the list, 5", comm.group, [0, 5])
        self.refused(ccs.CcsError, "at least one rank", comm.group, [])
        self.refused(ccs.ArgumentError, "a rank must be", comm.group, [-1])
        self.refused(ccs.ArgumentError, "color must be a list of 5", comm.split, 1)
        self.refused(ccs.ArgumentError, "color must be a list of 5", comm.split, [0, 1])
        self.refused(ccs.ArgumentError, "a colour must be", comm.split, [-2] * 5)
        self.refused(ccs.ArgumentError, "a key must be", comm.split, [0] * 5, ["1"] * 5)
        self.refused(ccs.ArgumentError, "32 bits", comm.split, [0] * 5, [2**31] * 5)
        self.works(comm.group([0, 1]))
