"""Runs schedules of collective communication that ccc has compiled and proved.

    import array, ccs

    module = ccs.compile("ring_allreduce", ranks=4)
    buffers = [array.array("f", [rank] * 8) for rank in range(4)]
    with ccs.Comm.tasks(4) as comm:
        module.run(comm, buffers, buffers)      # in place: each now holds 6.0

A buffer is any object with Python's buffer protocol or DLPack, in this machine's memory or, with
Comm.cuda(), on a GPU. It is read and written in place, and kept alive during the call. Calls
release the interpreter's lock, so that other threads of Python run meanwhile; Ctrl-C is seen when
the call is over, which is, at the latest, after the communicator's timeout without progress.

Every failure is a CcsError, with libccs's text and `status`.
"""

from .buffers import dtypes
from .comm import Comm
from .compiler import CompileWarning, compile
from .errors import (
    ArgumentError,
    BufferTypeError,
    CcsError,
    CompileError,
    Status,
)
from .messages import Batch, Request
from .native import runtime_version
from .module import Module, PreparedCall
from .operators import Operator, operators
from .plans import Plan, PlanBuffer
from .tuning import Tuning
from .version import VERSION as __version__

__all__ = [
    "ArgumentError",
    "Batch",
    "BufferTypeError",
    "CcsError",
    "Comm",
    "CompileError",
    "CompileWarning",
    "Module",
    "Operator",
    "Plan",
    "PlanBuffer",
    "PreparedCall",
    "Request",
    "Status",
    "Tuning",
    "__version__",
    "compile",
    "dtypes",
    "runtime_version",
    "operators",
]
