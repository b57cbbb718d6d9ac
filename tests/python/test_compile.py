"""Modules from files and from ccc."""

import os
import stat
import subprocess
import sys
import tempfile
from unittest import mock

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

    def test_the_library_by_name(self):
        for name in ("ring_allreduce", "ring_allreduce.ccs"):
            module = ccs.compile(name, 4, cache=self.folder)
            self.assertEqual(module.path, ccs.compile(RING, 4, cache=self.folder).path)
        self.written("ring_allreduce.ccs", "nonsense")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.assertTrue(ccs.compile("ring_allreduce", 4, cache=self.folder).has(4))
        with self.assertRaises(ccs.CompileError):
            ccs.compile("ring_allreduce.ccs", 4, cache=self.folder)
        for name in ("no_such", "no_such.ccs", ""):
            with self.assertRaisesRegex(ccs.CcsError, f"'{name}'; the library's are") as caught:
                ccs.compile(name, 2, cache=self.folder)
            self.assertEqual(caught.exception.status, ccs.Status.EFILE)

    def compiled_where(self):
        """The folder of a module that is compiled without cache=."""
        with mock.patch.dict(os.environ, XDG_CACHE_HOME=self.folder):
            module = ccs.compile(RING, 2)
            self.assertEqual(ccs.compile(RING, 2).path, module.path)
        self.assertTrue(module.has(2))
        return os.path.dirname(module.path)

    def test_a_folder_of_yours(self):
        where = self.compiled_where()
        self.assertEqual(where, os.path.join(self.folder, "ccs", "modules"))
        for folder in (where, os.path.dirname(where)):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)

    def test_a_folder_that_is_not_yours_alone(self):
        outer = os.path.join(self.folder, "ccs")
        inner = os.path.join(outer, "modules")
        os.makedirs(inner, 0o700)
        with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
            elsewhere = self.compiled_where()
        self.assertEqual(os.listdir(inner), [])
        self.assertEqual(stat.S_IMODE(os.stat(elsewhere).st_mode), 0o700)
        for folder in (inner, outer):
            os.chmod(folder, 0o770)
            self.assertEqual(self.compiled_where(), elsewhere)
            os.chmod(folder, 0o700)
        os.rename(inner, outer + "/moved")
        os.symlink(outer + "/moved", inner)
        self.assertEqual(self.compiled_where(), elsewhere)
        os.unlink(inner)
        with open(inner, "w", encoding="utf-8"):
            self.assertEqual(self.compiled_where(), elsewhere)

    def test_a_folder_of_a_process_goes_with_it(self):
        text = "import os, ccs; print(ccs.compile(%r, 2).path, flush=True)\n" % RING
        text += "if os.fork() == 0: raise SystemExit\n"
        text += "os.wait(); print(len(os.listdir(os.environ['TMPDIR'])))"
        with open(os.path.join(self.folder, "ccs"), "w", encoding="utf-8"):
            pass  # no folder can be there
        temporary = os.path.join(self.folder, "tmp")
        os.mkdir(temporary)
        done = subprocess.run(
            [sys.executable, "-c", text],
            env={**os.environ, "XDG_CACHE_HOME": self.folder, "TMPDIR": temporary},
            stdout=subprocess.PIPE,
            check=True,
        )
        path, left = done.stdout.decode().split()
        self.assertEqual((os.path.dirname(os.path.dirname(path)), left), (temporary, "1"))
        self.assertEqual(os.listdir(temporary), [])

    def test_load(self):
        with self.assertRaises(ccs.CcsError) as caught:
            ccs.Module(RING)
        self.assertEqual(caught.exception.status, ccs.Status.EFILE)
        self.assertEqual(str(caught.exception), library().ccs_error().decode())
        module = ccs.Module(ccs.compile(RING, 2, cache=self.folder).path)
        self.assertEqual((module.schedule, module.contract), ("ring_allreduce", "allreduce"))
        self.assertEqual(module.elements(2, 5), (5, 5))
        module.verify()

    def test_what_it_holds(self):
        module = ccs.compile("ring_allreduce", [4, 2], cache=self.folder)
        self.assertEqual(module.ranks, (2, 4))
        data = [ccs.PlanBuffer("data", "inout", 1, n, False, False) for n in module.ranks]
        self.assertEqual([plan.buffers for plan in module.plans], [(one,) for one in data])
        self.assertEqual([(plan.ranks, plan.root) for plan in module.plans], [(2, None), (4, None)])
        self.assertEqual([plan.steps for plan in module.plans], [2, 6])
        self.assertLess(module.plans[0].operations, module.plans[1].operations)

        scatter = ccs.compile("direct_scatter", "2..3", cache=self.folder)
        self.assertEqual(scatter.ranks, (2, 3))
        self.assertEqual(
            [(plan.ranks, plan.root) for plan in scatter.plans],
            [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)],
        )
        sides = [(b.name, b.direction, b.blocks) for b in scatter.plans[-1].buffers]
        self.assertEqual(sides, [("a", "in", 3), ("b", "out", 1)])

        uneven = os.path.join(SCHEDULES, "..", "examples", "tutorials", "uneven_all_to_all.ccs")
        plan = ccs.compile(uneven, 2, cache=self.folder).plans[0]
        self.assertEqual([(b.direction, b.sized) for b in plan.buffers], [("in", True), ("out", True)])
        barrier = ccs.compile("dissemination_barrier", 2, cache=self.folder)
        self.assertEqual(barrier.plans[0].buffers, ())
