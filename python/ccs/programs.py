"""The programs that a wheel brings, as pip installs them: ccc and ccrun, from the package's own folder.

A wheel (`make wheel`) has the files of `make install` in `prefix/` here, with the libraries that
they need.
"""

import os
import sys
from typing import NoReturn

PREFIX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prefix")


def _run(name: str) -> NoReturn:
    path = os.path.join(PREFIX, "bin", name)
    os.execv(path, [path, *sys.argv[1:]])


def ccc() -> NoReturn:
    _run("ccc")


def ccrun() -> NoReturn:
    _run("ccrun")
