"""Modules from files and from ccc."""

import os
import tempfile

import ccs
from ccs.native import library
from support import SCHEDULES, Case

RING = os.path.join(SCHEDULES, "ring_allreduce.ccs")


class Compile(Case):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def modules(self):
        return sorted(os.listdir(self.folder))

    def written(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_kept_by_content(self):
        first = ccs.compile(RING, [2, 4], cache=self.folder)
        made = os.stat(first.path).st_ino
        again = ccs.compile(RING, [2, 4], cache=self.folder)
        self.assertEqual((again.path, os.stat(again.path).st_ino), (first.path, made))
        other = ccs.compile(RING, [2], cache=self.folder)
        self.assertNotEqual(other.path, first.path)
        self.assertFalse(other.has(4))
        self.assertEqual(len(self.modules()), 2)

    def test_damaged_is_made_anew(self):
        path = ccs.compile(RING, 2, cache=self.folder).path
        os.unlink(path)
        self.written(os.path.basename(path), "nothing")
        self.assertTrue(ccs.compile(RING, 2, cache=self.folder).has(2))

    def test_what_is_imported_counts(self):
        with open(RING, encoding="utf-8") as file:
            text = file.read()
        self.written("part.ccs", text)
        own = 'import "part.ccs"\nschedule own implements allreduce(inout data[N]) on ring {\n  %s\n}\n'
        path = self.written("own.ccs", own % "ring_allreduce(data)")
        ccs.compile(path, 2, cache=self.folder)
        self.written("part.ccs", "nonsense")
        with self.assertRaises(ccs.CompileError):
            ccs.compile(path, 2, cache=self.folder)

    def test_a_wrong_schedule(self):
        wrong = os.path.join(SCHEDULES, "broken", "all_send_first.ccs")
        with self.assertRaisesRegex(ccs.CompileError, "deadlock with 8 slots") as caught:
            ccs.compile(wrong, 2, cache=self.folder)
        self.assertEqual(caught.exception.exit_status, 1)
        self.assertEqual(self.modules(), [])

    def test_files_that_are_none(self):
        os.mkfifo(os.path.join(self.folder, "fifo"))
        for name in ("fifo", "none.ccs", "."):
            with self.assertRaises(ccs.CompileError):
                ccs.compile(os.path.join(self.folder, name), 2, cache=self.folder)
        with self.assertRaisesRegex(ccs.CcsError, "cannot hold modules"):
            ccs.compile(RING, 2, cache=os.path.join(self.folder, "nowhere"))

    def test_load(self):
        with self.assertRaises(ccs.CcsError) as caught:
            ccs.Module(RING)
        self.assertEqual(caught.exception.status, ccs.Status.EFILE)
        self.assertEqual(str(caught.exception), library().ccs_error().decode())
        module = ccs.Module(ccs.compile(RING, 2, cache=self.folder).path)
        self.assertEqual((module.schedule, module.contract), ("ring_allreduce", "allreduce"))
        self.assertEqual(module.elements(2, 5), (5, 5))
        module.verify()
