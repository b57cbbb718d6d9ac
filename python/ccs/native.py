"""libccs: where it is, and how its functions are called.

Looked for in this order: $CCS_LIBRARY (a file; nothing else is tried then), the package's own
`prefix`, which a wheel has (programs.py), the `lib` folder of Python's prefix, the system's search path (ldconfig, LD_LIBRARY_PATH), /usr/local/lib.
"""

import ctypes
import operator
import os
import sys
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import lru_cache
from typing import Iterator, List, NoReturn, Tuple

from .errors import ArgumentError, CcsError, Status
from .programs import PREFIX
from .version import VERSION

NAME = "libccs.so.0"
ID_BYTES = 128  # of a ccs_unique_id
RANK_MAX = 2**31 - 1  # numbers of ranks, and tags, are C's int
ANY_SOURCE = -1  # CCS_ANY_SOURCE
COUNT_MAX = 2**63 - 1


class Procs(ctypes.Structure):
    """struct ccs_procs"""

    _fields_ = [
        ("rank", c_int),
        ("nranks", c_int),
        ("job", c_char_p),
        ("address", c_char_p),
        ("seconds", c_uint),
    ]


class RunOptions(ctypes.Structure):
    """struct ccs_run_options"""

    _fields_ = [
        ("scalar", c_void_p),
        ("tile", c_size_t),
        ("protocol", c_uint),
        ("channels", c_uint),
        ("factors", c_void_p),
        ("user_op", c_void_p),
        ("rows", c_size_t),
        ("sizes", c_void_p),
    ]


class ModuleInfo(ctypes.Structure):
    """struct ccs_module_info"""

    _fields_ = [
        ("plans", c_int),
        ("buffers", c_int),
        ("slots", c_uint),
        ("reduces", c_int),
        ("averages", c_int),
        ("even_counts", c_int),
        ("by_column", c_int),
        ("sized", c_int),
    ]


class PlanInfo(ctypes.Structure):
    """struct ccs_plan_info"""

    _fields_ = [
        ("nranks", c_int),
        ("root", c_int),
        ("chunks", c_uint32),
        ("orders", c_uint32),
        ("steps", c_uint32),
        ("operations", c_uint64),
    ]


class BufferInfo(ctypes.Structure):
    """struct ccs_buffer_info"""

    _fields_ = [
        ("name", c_char_p),
        ("direction", c_int),
        ("blocks", c_uint32),
        ("chunks", c_uint32),
        ("first", c_uint32),
        ("by_column", c_int),
        ("sized", c_int),
    ]


class TuningSection(ctypes.Structure):
    """struct ccs_tuning_section"""

    _fields_ = [
        ("collective", c_char_p),
        ("engine", c_char_p),
        ("nranks", c_int),
        ("measured", c_char_p),
        ("rows", c_int),
        ("first", c_int),
        ("last", c_int),
    ]


class TuningRow(ctypes.Structure):
    """struct ccs_tuning_row"""

    _fields_ = [
        ("most", c_uint64),
        ("file", c_char_p),
        ("options", RunOptions),
        ("us", c_double),
        ("next_file", c_char_p),
        ("next_options", RunOptions),
        ("next_us", c_double),
        ("module", c_void_p),
    ]


class TuningPart(ctypes.Structure):
    """struct ccs_tuning_part"""

    _fields_ = [
        ("text", c_char_p),
        ("collective", c_char_p),
        ("file", c_char_p),
        ("least", c_uint64),
        ("most", c_uint64),
    ]


_RUN_ARGUMENTS = [c_void_p, c_void_p, c_void_p, c_size_t, c_int]
_CALL_ARGUMENTS = [
    c_void_p,
    POINTER(RunOptions),
    *_RUN_ARGUMENTS[1:],
    c_int,
    c_int,
    c_void_p,
    c_void_p,
]
_MESSAGE_ARGUMENTS = [c_void_p, c_size_t, c_int, c_int, c_void_p, c_void_p]
_FUNCTIONS = {
    "ccs_error": (c_char_p, []),
    "ccs_status_name": (c_char_p, [c_int]),
    "ccs_version": (c_char_p, []),
    "ccs_dtype_size": (c_size_t, [c_int]),
    "ccs_dtype_name": (c_char_p, [c_int]),
    "ccs_redop_name": (c_char_p, [c_int]),
    "ccs_module_load": (c_int, [POINTER(c_void_p), c_char_p]),
    "ccs_module_free": (None, [c_void_p]),
    "ccs_module_schedule": (c_char_p, [c_void_p]),
    "ccs_module_contract": (c_char_p, [c_void_p]),
    "ccs_module_has": (c_int, [c_void_p, c_int]),
    "ccs_module_rooted": (c_int, [c_void_p]),
    "ccs_module_elements": (
        c_int,
        [c_void_p, c_int, c_size_t, POINTER(c_size_t), POINTER(c_size_t)],
    ),
    "ccs_module_verify": (c_int, [c_void_p, c_void_p, c_void_p]),
    "ccs_comm_init_all": (c_int, [POINTER(c_void_p), c_int]),
    "ccs_comm_init_cuda": (c_int, [POINTER(c_void_p), c_int, c_int]),
    "ccs_comm_init_devices": (c_int, [POINTER(c_void_p), c_int, POINTER(c_int)]),
    "ccs_get_unique_id": (c_int, [c_char_p]),
    "ccs_comm_init_rank": (c_int, [POINTER(c_void_p), c_int, c_char_p, c_int, c_int]),
    "ccs_comm_init_env": (c_int, [POINTER(c_void_p)]),
    "ccs_comm_init_procs": (c_int, [POINTER(c_void_p), POINTER(Procs)]),
    "ccs_comm_init_mpi": (c_int, [POINTER(c_void_p)]),
    "ccs_comm_init_mpi_threads": (c_int, [POINTER(c_void_p)]),
    "ccs_mpi_library": (c_int, [POINTER(c_void_p)]),
    "ccs_comm_free": (None, [c_void_p]),
    "ccs_comm_rank": (c_int, [c_void_p]),
    "ccs_comm_size": (c_int, [c_void_p]),
    "ccs_comm_device": (c_int, [c_void_p]),
    "ccs_comm_check": (c_int, [c_void_p]),
    "ccs_comm_abort": (c_int, [c_void_p, c_char_p]),
    "ccs_comm_waits": (c_int, [c_void_p, c_char_p, c_size_t]),
    "ccs_cuda_library": (c_int, [POINTER(c_void_p)]),
    "ccs_comm_engine": (c_char_p, [c_void_p]),
    "ccs_comm_gather": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "ccs_comm_describe": (c_int, [c_void_p, c_char_p, c_size_t]),
    "ccs_comm_set_timeout": (c_int, [c_void_p, c_uint]),
    "ccs_comm_set_threads": (c_int, [c_void_p, c_uint]),
    "ccs_comm_split": (c_int, [c_void_p, c_int, c_int, POINTER(c_void_p)]),
    "ccs_comm_group": (c_int, [c_void_p, POINTER(c_int), c_int, POINTER(c_void_p)]),
    "ccs_comm_create_group": (
        c_int,
        [c_void_p, POINTER(c_int), c_int, c_int, POINTER(c_void_p)],
    ),
    "ccs_barrier": (c_int, [c_void_p, c_void_p]),
    "ccs_group_start": (c_int, []),
    "ccs_group_end": (c_int, []),
    "ccs_group_submit": (c_int, [POINTER(c_void_p)]),
    "ccs_send": (c_int, _MESSAGE_ARGUMENTS),
    "ccs_send_tagged": (c_int, [c_void_p, c_size_t, c_int, c_int, c_int, c_void_p, c_void_p]),
    "ccs_recv_tagged": (
        c_int,
        [c_void_p, c_size_t, c_int, c_int, c_int, POINTER(c_int), c_void_p, c_void_p],
    ),
    "ccs_test": (c_int, [c_void_p, POINTER(c_int)]),
    "ccs_wait": (c_int, [c_void_p]),
    "ccs_request_free": (None, [c_void_p]),
    "ccs_run": (c_int, [*_RUN_ARGUMENTS, c_int, c_int, c_void_p, c_void_p]),
    "ccs_run_with": (c_int, _CALL_ARGUMENTS),
    "ccs_prepare": (c_int, [POINTER(c_void_p), *_CALL_ARGUMENTS]),
    "ccs_start": (c_int, [c_void_p]),
    "ccs_call_free": (None, [c_void_p]),
    "ccs_user_op_create": (c_int, [POINTER(c_void_p), c_void_p, c_void_p, c_size_t, c_int]),
    "ccs_user_op_free": (c_int, [c_void_p]),
    "ccs_module_describe": (c_int, [c_void_p, POINTER(ModuleInfo)]),
    "ccs_module_find": (c_int, [c_void_p, c_int, c_int]),
    "ccs_module_plan": (c_int, [c_void_p, c_int, POINTER(PlanInfo)]),
    "ccs_module_buffer": (c_int, [c_void_p, c_int, c_int, POINTER(BufferInfo)]),
    "ccs_tuning_load": (c_int, [POINTER(c_void_p), c_char_p]),
    "ccs_tuning_free": (None, [c_void_p]),
    "ccs_tuning_section": (c_int, [c_void_p, c_int, POINTER(TuningSection)]),
    "ccs_tuning_find": (c_int, [c_void_p, c_char_p, c_int, c_char_p]),
    "ccs_tuning_row": (c_int, [c_void_p, c_int, c_int, POINTER(TuningRow)]),
    "ccs_tuning_parts": (c_int, [POINTER(POINTER(TuningPart)), POINTER(c_int), c_char_p, c_char_p]),
    "ccs_tuning_parts_free": (None, [POINTER(TuningPart)]),
    "ccs_tuning_row_of": (c_int, [c_void_p, c_int, c_uint64]),
    "ccs_run_options_text": (None, [POINTER(RunOptions), c_char_p, c_size_t]),
}


def _candidates() -> Iterator[str]:
    named = os.environ.get("CCS_LIBRARY")
    if named:
        yield named
        return
    yield os.path.join(PREFIX, "lib", NAME)
    yield os.path.join(sys.prefix, "lib", NAME)
    yield NAME
    yield os.path.join("/usr/local/lib", NAME)


def _not_found(reasons: List[str]) -> NoReturn:
    tried = "".join(f"\n  {reason}" for reason in reasons)
    if os.environ.get("CCS_LIBRARY"):
        cure = "CCS_LIBRARY must be the path of libccs.so.0; unset it to use the installed one"
    else:
        cure = "install it (make install), or set CCS_LIBRARY to its path"
    raise CcsError(Status.EUNSUPPORTED, f"libccs cannot be loaded: {cure}{tried}")


def _open() -> Tuple[ctypes.CDLL, str]:
    reasons = []
    for path in _candidates():
        if path != NAME and not os.path.isfile(path):
            reasons.append(f"{path}: no such file")
            continue
        try:
            # CDLL, not PyDLL: its calls release the interpreter's lock.
            return ctypes.CDLL(path), path
        except OSError as error:
            reasons.append(str(error))
    _not_found(reasons)


def _declare(lib: ctypes.CDLL, path: str) -> None:
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(lib, name)
        except AttributeError:
            raise CcsError(
                Status.EUNSUPPORTED, f"{path} is no libccs of version {VERSION}: it has no {name}"
            ) from None
        function.restype = result
        function.argtypes = arguments


def _same_series(version: str) -> bool:
    """Before 1.0 the middle number may change what functions mean; from then on the first."""
    ours, theirs = VERSION.split("."), version.split(".")
    parts = 2 if ours[0] == "0" else 1
    return ours[:parts] == theirs[:parts]


@lru_cache(maxsize=1)
def _loaded() -> Tuple[ctypes.CDLL, str]:
    lib, path = _open()
    _declare(lib, path)
    version = lib.ccs_version().decode()
    if not _same_series(version):
        raise CcsError(
            Status.EUNSUPPORTED,
            f"{path} is libccs {version}, but this package is for {VERSION}: "
            "install both from one source tree",
        )
    return lib, path


def library() -> ctypes.CDLL:
    """libccs, loaded at the first call. CcsError: it is not there, or of another version."""
    return _loaded()[0]


def library_path() -> str:
    """The name given to the loader: a path, or a name that the system has found."""
    return _loaded()[1]


def runtime_version() -> str:
    """The version of libccs: "0.1.0"."""
    text: bytes = library().ccs_version()
    return text.decode()


def last_error(status: int) -> CcsError:
    """This thread's last failure as an exception."""
    return CcsError(status, library().ccs_error().decode(errors="replace"))


def check(status: int) -> None:
    """Raises the failure that a function's status names."""
    if status != Status.OK:
        raise last_error(status)


def as_int(value: object, what: str, most: int) -> int:
    """An int from 0 to `most`; ctypes would cut it without a word."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"{what} must be an int, not {value!r}") from None
    if not 0 <= number <= most:
        raise ArgumentError(f"{what} must be from 0 to {most}, not {number}")
    return number
