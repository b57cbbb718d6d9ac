"""GPUs: the streams that calls are put into, and waiting for them, by NVIDIA's driver as libccs has
found it.

    stream= --Streams.of--> a Place of each rank --call, in the stream--> wait, unless the caller
                                                                          has named streams
"""

import ctypes
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_int, c_void_p
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Optional, Sequence

from .errors import ArgumentError, BufferTypeError, CcsError, Status
from .native import check, library

if TYPE_CHECKING:
    from .comm import Comm

_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_FUNCTIONS = {
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuDevicePrimaryCtxRelease_v2": [c_int],
    "cuCtxPushCurrent_v2": [c_void_p],
    "cuCtxPopCurrent_v2": [POINTER(c_void_p)],
    "cuStreamSynchronize": [c_void_p],
    "cuStreamQuery": [c_void_p],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
}


@dataclass(frozen=True)
class Place:
    """Where a rank's buffers are, and its calls go."""

    device: int
    stream: int = 0
    waits: bool = True
    """Whether the stream is the default one, which is waited for, as the caller has named none."""


# ---- the driver ------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _driver() -> ctypes.CDLL:
    handle = c_void_p()
    check(library().ccs_cuda_library(ctypes.byref(handle)))
    driver = ctypes.CDLL("libcuda.so.1", handle=handle.value)
    for name, arguments in _FUNCTIONS.items():
        getattr(driver, name).argtypes = arguments
    return driver


def _fail(call: str, error: int) -> CcsError:
    name = c_char_p()
    _driver().cuGetErrorName(error, ctypes.byref(name))
    return CcsError(Status.ESYSTEM, f"{call} failed: {(name.value or b'?').decode()}")


def _check(call: str, error: int) -> None:
    if error:
        raise _fail(call, error)


@contextmanager
def _on(device: int) -> Iterator[ctypes.CDLL]:
    """The driver, with the GPU's context current: a default stream is of that one."""
    driver, context = _driver(), c_void_p()
    _check(
        f"the context of GPU {device}",
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
    )
    try:
        _check("cuCtxPushCurrent", driver.cuCtxPushCurrent_v2(context))
        try:
            yield driver
        finally:
            driver.cuCtxPopCurrent_v2(ctypes.byref(context))
    finally:
        driver.cuDevicePrimaryCtxRelease_v2(device)


def wait(device: int, stream: int) -> None:
    """Until all that was put into the stream is done. CcsError: some of it has failed."""
    with _on(device) as driver:
        _check("waiting for a stream", driver.cuStreamSynchronize(stream))


def _is_done(device: int, stream: int) -> bool:
    with _on(device) as driver:
        error = driver.cuStreamQuery(stream)
    if error not in (0, _NOT_READY):
        raise _fail("asking for a stream", error)
    return not error


def wait_for(places: Iterable[Optional[Place]]) -> None:
    """Waits for the default stream of each place for which the caller has named none."""
    for place in {p for p in places if p is not None and p.waits}:
        wait(place.device, place.stream)


def are_done(places: Iterable[Optional[Place]]) -> bool:
    """The same, without waiting."""
    return all(_is_done(p.device, p.stream) for p in set(places) if p is not None and p.waits)


# ---- streams ---------------------------------------------------------------------------------


def _handle(stream: Any) -> int:
    """CUstream of a number, of PyTorch's or CuPy's streams, or of any with __cuda_stream__()."""
    if hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    else:
        handle = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
    if isinstance(handle, bool) or not isinstance(handle, int) or handle < 0:
        raise BufferTypeError(
            f"stream={stream!r} is no stream: give a CUstream as an int, or a stream of PyTorch's "
            "or CuPy's"
        )
    return handle


def places(comm: "Comm", stream: Any) -> List[Optional[Place]]:
    """Of each rank of this process, in their order: None on the CPU. `stream` is None, one for
    all, or a list, where all ranks are in this process."""
    if comm.devices[0] is None:
        if stream is not None:
            raise ArgumentError("ranks on the CPU have no streams: leave stream= out")
        return [None] * len(comm.ranks)
    listed = isinstance(stream, Sequence) and comm.is_tasks
    if listed and len(stream) != comm.size:
        raise ArgumentError(f"{len(stream)} streams were given for {comm.size} ranks: one for each")
    given = stream if listed else [stream] * len(comm.ranks)
    return [
        Place(device or 0, 0 if one is None else _handle(one), one is None)
        for device, one in zip(comm.devices, given)
    ]
