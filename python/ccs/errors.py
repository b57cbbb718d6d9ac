"""Failures, as exceptions."""

from enum import IntEnum


class Status(IntEnum):
    """The numbers of ccs_status in ccs.h."""

    OK = 0
    EINVAL = -1
    EFILE = -2
    ENOPLAN = -3
    ENOMEM = -4
    ETIMEOUT = -5
    EABORTED = -6
    EUNSUPPORTED = -7
    ESYSTEM = -8


class CcsError(RuntimeError):
    """A call failed: str() is the text of ccs_error(), `status` the number that it returned."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status = Status(status)
        self.text = text

    def __str__(self) -> str:
        return self.text


class ArgumentError(CcsError, ValueError):
    """An argument has a wrong value, such as a buffer of a wrong length. Nothing was written."""

    def __init__(self, text: str) -> None:
        CcsError.__init__(self, Status.EINVAL, text)
        self.args = (text,)


class BufferTypeError(CcsError, TypeError):
    """An argument is of a wrong kind, such as an object without a buffer, or elements of
    another type. Nothing was written."""

    def __init__(self, text: str) -> None:
        CcsError.__init__(self, Status.EINVAL, text)
        self.args = (text,)


class CompileError(CcsError):
    """ccc refused a schedule: str() is its report, `exit_status` its exit status."""

    def __init__(self, text: str, exit_status: int) -> None:
        CcsError.__init__(self, Status.EINVAL, text)
        self.exit_status = exit_status
        self.args = (text, exit_status)
