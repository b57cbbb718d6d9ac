"""What the tests of the package have in common."""

import array
import os
import unittest

import ccs

SCHEDULES = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "schedules")


def schedule(name, ranks=4, **more):
    """A schedule of the library, compiled for that many ranks, in the test's own cache."""
    path = os.path.join(SCHEDULES, name + ".ccs")
    return ccs.compile(path, ranks, cache=os.environ["TEST_CACHE"], **more)


def floats(*values):
    return array.array("f", values)


class Case(unittest.TestCase):
    def refused(self, kind, pattern, function, *arguments, **more):
        """It raises `kind`, with EINVAL, and a text that matches."""
        with self.assertRaisesRegex(kind, pattern) as caught:
            function(*arguments, **more)
        self.assertEqual(caught.exception.status, ccs.Status.EINVAL)
        return caught.exception
