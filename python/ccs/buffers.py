"""Memory that is lent for a call: the address and the type of an object's elements.

    object --memoryview or DLPack--> _Lent --dtype=--> Buffer

On a GPU by DLPack or __cuda_array_interface__. Nothing is copied. A Buffer holds what keeps the
memory where it is: the view (so that a bytearray cannot be resized meanwhile), DLPack's capsule, or
the array. The capsule is left unconsumed: its
own destructor calls the producer's deleter when the Buffer goes.
"""

import ctypes
import struct
from ctypes import (
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_ssize_t,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Dict, Optional, Sequence, Tuple

from .errors import ArgumentError, BufferTypeError
from .gpu import Place, wait
from .native import library

# Formats of the struct module that are types of ccs on this machine: l and q are both int64.
_FORMATS = {
    "b": "int8",
    "B": "uint8",
    "c": "uint8",
    "h": "int16",
    "H": "uint16",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "q": "int64",
    "L": "uint64",
    "Q": "uint64",
    "n": "int64",
    "N": "uint64",
    "e": "float16",
    "f": "float32",
    "d": "float64",
}
# Formats that only carry bits, so that dtype= may name the type.
_CARRIERS = {"b", "B", "c", "h", "H", "?"}

# DLPack's codes; with 8-bit floats as version 1.1 numbers them. e4m3fn is CCS_FLOAT8E4M3: it
# has no infinities.
_DLPACK = {
    (0, 8): "int8",
    (0, 16): "int16",
    (0, 32): "int32",
    (0, 64): "int64",
    (1, 8): "uint8",
    (1, 16): "uint16",
    (1, 32): "uint32",
    (1, 64): "uint64",
    (2, 16): "float16",
    (2, 32): "float32",
    (2, 64): "float64",
    (4, 16): "bfloat16",
    (10, 8): "float8e4m3",
    (12, 8): "float8e5m2",
}
_DLPACK_CARRIERS = {(0, 8), (1, 8), (0, 16), (1, 16), (6, 8)}
_DLPACK_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_DLPACK_HOST = {1, 3}  # kDLCPU, kDLCUDAHost
_DLPACK_GPU, _DLPACK_MANAGED = 2, 13  # kDLCUDA, kDLCUDAManaged
_DEFAULT_STREAM = 1  # DLPack's number of the default stream

# Of __cuda_array_interface__'s types, without their byte order.
_TYPESTRS = {
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
}
_TYPESTR_CARRIERS = {"i1", "u1", "i2", "u2", "b1", "V1", "V2"}


@lru_cache(maxsize=1)
def _types() -> Dict[str, Tuple[int, int]]:
    """Every element type's number and size in bytes, as libccs has them."""
    lib, number = library(), 0
    types: Dict[str, Tuple[int, int]] = {}
    while True:
        name = lib.ccs_dtype_name(number)
        if name is None:
            return types
        types[name.decode()] = (number, lib.ccs_dtype_size(number))
        number += 1


def dtypes() -> Tuple[str, ...]:
    """The names of all element types: "int8", "uint8", ..."""
    return tuple(_types())


def dtype_number(name: str) -> int:
    """ccs_dtype of a name."""
    return _types()[name][0]


@lru_cache(maxsize=1)
def dtype_names() -> Tuple[str, ...]:
    """In the order of their numbers."""
    return tuple(_types())


def dtype_size(name: str) -> int:
    """Bytes of an element."""
    return _types()[name][1]


def check_dtype(name: object) -> None:
    """ArgumentError: it is no type's name."""
    if not isinstance(name, str) or name not in _types():
        raise ArgumentError(f"dtype={name!r} is none of ccs's: {', '.join(_types())}")


@dataclass(frozen=True)
class Buffer:
    """Elements in memory, which stay there while this object lives."""

    address: int
    nbytes: int
    dtype: str
    readonly: bool
    owner: object

    @property
    def length(self) -> int:
        """How many elements."""
        return self.nbytes // dtype_size(self.dtype)


@dataclass(frozen=True)
class _Lent:
    address: int
    nbytes: int
    itemsize: int
    dtype: Optional[str]  # as the object says; None: ccs has no such type
    shown: str  # its own name for the type
    carrier: bool
    readonly: bool
    owner: object


class _PyBuffer(ctypes.Structure):
    """Py_buffer"""

    _fields_ = [
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("suboffsets", c_void_p),
        ("internal", c_void_p),
    ]


class _DLTensor(ctypes.Structure):
    """DLTensor, with which DLManagedTensor begins."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


# Functions of our own, as all users of ctypes.pythonapi share its functions' types.
_get_buffer = ctypes.PYFUNCTYPE(c_int, ctypes.py_object, ctypes.POINTER(_PyBuffer), c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi)
)
_release_buffer = ctypes.PYFUNCTYPE(None, ctypes.POINTER(_PyBuffer))(
    ("PyBuffer_Release", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _address(view: memoryview) -> int:
    """Where a contiguous view begins. The view goes on holding the memory."""
    raw = _PyBuffer()
    _get_buffer(view, ctypes.byref(raw), 0)
    try:
        return raw.buf or 0
    finally:
        _release_buffer(ctypes.byref(raw))


def _not_contiguous(what: str) -> ArgumentError:
    return ArgumentError(
        f"{what} is not contiguous (in C's order): copy it first, as numpy.ascontiguousarray() "
        "or a tensor's .contiguous() does, and copy results back"
    )


def _native(form: str, what: str) -> str:
    """The format without its mark of byte order."""
    if form[:1] in (">", "!") and form[1:] not in _CARRIERS - {"h", "H"}:
        raise BufferTypeError(
            f"{what} has elements in big-endian order ({form!r}): convert it to this machine's, "
            "as numpy's a.astype(a.dtype.newbyteorder('=')) does"
        )
    return form[1:] if form[:1] in ("@", "=", "<", ">", "!", "|") else form


def _from_view(view: memoryview, what: str) -> _Lent:
    if not view.c_contiguous:
        raise _not_contiguous(what)
    form = _native(view.format, what)
    known = _FORMATS.get(form)
    if known and dtype_size(known) != view.itemsize:  # "=l" is 4 bytes
        known = {"l": "int32", "L": "uint32"}.get(form)
    return _Lent(
        address=_address(view),
        nbytes=view.nbytes,
        itemsize=view.itemsize,
        dtype=known,
        shown=known or f"of format {view.format!r}",
        carrier=form in _CARRIERS,
        readonly=view.readonly,
        owner=view,
    )


def _contiguous(shape: Sequence[int], strides: Sequence[int], unit: int) -> bool:
    """In C's order; strides are in units of an element."""
    expected = unit
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def _check_device(obj: Any, what: str, place: Optional[Place]) -> None:
    device, number = (int(n) for n in obj.__dlpack_device__())
    if place is None and device not in _DLPACK_HOST:
        raise BufferTypeError(
            f"{what} is on a GPU or another device (DLPack's number {device}), and these ranks "
            "are on the CPU: copy it there first, as a tensor's .cpu() does"
        )
    if place is not None and device in _DLPACK_HOST:
        raise _in_host(what, place)
    if place is not None and (device, number) != (_DLPACK_GPU, place.device):
        if device != _DLPACK_MANAGED:
            name = f"GPU {number}" if device == _DLPACK_GPU else f"DLPack's device {device}"
            raise BufferTypeError(
                f"{what} is on {name}, and its rank on GPU {place.device}: copy it there first"
            )


def _in_host(what: str, place: Place) -> BufferTypeError:
    return BufferTypeError(
        f"{what} is in the host's memory, and its rank on GPU {place.device}: copy it there first, "
        "as a tensor's .cuda() does"
    )


def _capsule(obj: Any, what: str, place: Optional[Place]) -> object:
    """A new capsule. An error keeps the tensor's text, which has the reason and the cure."""
    try:
        _check_device(obj, what, place)
        if place is None:
            return obj.__dlpack__()
        return obj.__dlpack__(stream=place.stream or _DEFAULT_STREAM)  # which waits for its data
    except BufferTypeError:
        raise
    except Exception as error:
        raise BufferTypeError(f"{what} cannot be lent by DLPack: {error}") from error


def _from_dlpack(obj: Any, what: str, place: Optional[Place]) -> _Lent:
    capsule = _capsule(obj, what, place)
    try:
        pointer = _capsule_pointer(capsule, b"dltensor")
    except ValueError as error:
        raise BufferTypeError(f"{what}: __dlpack__() gave no DLPack tensor") from error
    tensor = ctypes.cast(pointer, ctypes.POINTER(_DLTensor)).contents
    shape = tensor.shape[: tensor.ndim]
    elements = prod(shape)
    if elements and tensor.strides:
        if not _contiguous(shape, tensor.strides[: tensor.ndim], 1):
            raise _not_contiguous(what)
    kind = (tensor.code, tensor.bits)
    known = _DLPACK.get(kind) if tensor.lanes == 1 else None
    itemsize = (tensor.bits * tensor.lanes + 7) // 8
    name = _DLPACK_KINDS.get(tensor.code, f"DLPack's type {tensor.code} of bits: ")
    return _Lent(
        address=(tensor.data or 0) + tensor.byte_offset,
        nbytes=elements * itemsize,
        itemsize=itemsize,
        dtype=known,
        shown=known or f"{name}{tensor.bits}",
        carrier=tensor.lanes == 1 and kind in _DLPACK_CARRIERS,
        readonly=False,  # read-only memory is not lent without a flag
        owner=capsule,
    )


def _from_cuda_array(obj: Any, what: str, place: Place) -> _Lent:
    array = obj.__cuda_array_interface__
    address, readonly = array["data"]
    shape, form = array["shape"], _native(array["typestr"], what)
    itemsize = int(form[1:])
    if prod(shape) and array.get("strides"):
        if not _contiguous(shape, array["strides"], itemsize):
            raise _not_contiguous(what)
    if array.get("stream"):
        wait(place.device, array["stream"])
    known = _TYPESTRS.get(form)
    return _Lent(
        address=address or 0,
        nbytes=prod(shape) * itemsize,
        itemsize=itemsize,
        dtype=known,
        shown=known or f"of type {array['typestr']!r}",
        carrier=form in _TYPESTR_CARRIERS,
        readonly=readonly,
        owner=obj,
    )


def _lend_on_gpu(obj: Any, what: str, place: Place) -> _Lent:
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return _from_dlpack(obj, what, place)
    if hasattr(obj, "__cuda_array_interface__"):
        return _from_cuda_array(obj, what, place)
    try:
        memoryview(obj)
    except TypeError:
        raise BufferTypeError(
            f"{what} is a {type(obj).__name__}, which lends no memory of GPU {place.device}: give "
            "a tensor with DLPack, or an array with __cuda_array_interface__, such as CuPy's"
        ) from None
    raise _in_host(what, place)


def _lend(obj: Any, what: str) -> _Lent:
    refused: Optional[Exception] = None
    try:
        view = memoryview(obj)
    except Exception as error:  # no buffer, or its type has no format
        refused = error
    else:
        return _from_view(view, what)
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return _from_dlpack(obj, what, None)
    if hasattr(obj, "__array_interface__"):
        cure = (
            f"{refused}: lend its bits with a name for them, such as "
            "a.view(numpy.uint16) with dtype='bfloat16'"
        )
    elif hasattr(obj, "__cuda_array_interface__"):
        cure = "it is on a GPU, and these ranks are on the CPU: copy it there first"
    else:
        cure = "give an array.array, bytearray, memoryview, numpy array, or a tensor with DLPack"
    raise BufferTypeError(f"{what} is a {type(obj).__name__}, which lends no memory: {cure}")


def _typed(lent: _Lent, dtype: Optional[str], what: str) -> str:
    """The elements' type: the object's, or dtype= for memory that only carries bits."""
    if dtype is None or dtype == lent.dtype:
        if lent.dtype is not None:
            return lent.dtype
        cure = " name what its bits are by dtype=" if lent.carrier else " convert it first"
        raise BufferTypeError(f"{what} has elements {lent.shown}, which ccs has no type for:{cure}")
    size = dtype_size(dtype)
    if not lent.carrier or lent.itemsize not in (1, size):
        raise BufferTypeError(
            f"{what} is {lent.shown}, not {dtype} as dtype= says: leave dtype= out, or convert it"
        )
    if lent.nbytes % size:
        raise ArgumentError(f"{what} has {lent.nbytes} bytes, no whole number of {dtype}'s {size}")
    return dtype


def borrow(
    obj: object, dtype: Optional[str], what: str, place: Optional[Place] = None
) -> Buffer:
    """The memory of `obj`, until the Buffer goes: of this machine, or of the place's GPU. The
    place's stream then waits for the work of `obj` under way. `what` names it in errors."""
    lent = _lend(obj, what) if place is None else _lend_on_gpu(obj, what, place)
    return Buffer(lent.address, lent.nbytes, _typed(lent, dtype, what), lent.readonly, lent.owner)


_PACKED = {name: form for form, name in _FORMATS.items() if form in "bBiIqQefd"}


def memory_format(dtype: str) -> Tuple[str, int]:
    """The format that a memoryview of such elements is cast to, and bytes of an element: unsigned
    bits for types that Python lacks."""
    size = dtype_size(dtype)
    if dtype == "float16":  # which memoryviews of older Pythons cannot read
        return "H", size
    return _PACKED.get(dtype) or {1: "B", 2: "H"}[size], size


def element_bytes(value: Any, dtype: str) -> bytes:
    """One element: of a number, or as an object's memory has it."""
    form = _PACKED.get(dtype)
    if isinstance(value, (int, float)) and form:
        try:
            return struct.pack("<" + form, value)
        except (struct.error, OverflowError) as error:
            raise ArgumentError(f"scalar={value!r} is no {dtype}: {error}") from None
    if isinstance(value, (int, float)):
        raise BufferTypeError(
            f"scalar={value!r} cannot be converted to {dtype} here: give it as bytes, one element"
        )
    lent = borrow(value, dtype, "scalar")
    if lent.length != 1:
        raise ArgumentError(f"scalar has {lent.length} elements, not one")
    return ctypes.string_at(lent.address, lent.nbytes)
