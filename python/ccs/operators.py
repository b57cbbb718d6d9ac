"""Operators: ccs's own by their names, and the user's.

    Operator(function, commutes=) --ccs_user_op_create--> a handle, for the calls that it is in

libccs's threads call a Python function, and take the interpreter's lock for it. An exception of it
is kept, and Module.run() raises it when the call is over.
"""

import ctypes
import threading
from ctypes import c_int, c_size_t, c_void_p
from functools import lru_cache
from typing import Any, Callable, List, Optional, Tuple, Union

from .buffers import dtype_names, memory_format
from .ends import freed_with
from .errors import ArgumentError, BufferTypeError
from .native import as_int, check, library

_ELEMENT_MOST = 4096  # bytes; ccs_user_op_create's

Combine = Callable[[memoryview, memoryview, memoryview], object]

PROTOTYPE = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_void_p)
"""ccs_combine: void (void *result, const void *first, const void *second, size_t n, int type,
void *context)"""

_CFunction = ctypes._CFuncPtr  # type: ignore[attr-defined]  # of every C function of ctypes


@lru_cache(maxsize=1)
def operators() -> Tuple[str, ...]:
    """The names of ccs's operators: "sum", "prod", ..."""
    names: List[str] = []
    while True:
        name = library().ccs_redop_name(len(names))
        if name is None:
            return tuple(names)
        names.append(name.decode())


def operator_number(op: object) -> int:
    """ccs_redop of a name."""
    names = operators()
    if op not in names:
        raise ArgumentError(
            f"op={op!r} is none of ccs's: {', '.join(names)}; or a ccs.Operator of your own"
        )
    return names.index(str(op))


class _Calls:
    """A Python function that libccs calls, and its exception."""

    def __init__(self, function: Any, element: int) -> None:
        self._function, self._element = function, element
        self._lock = threading.Lock()
        self._raised: Optional[BaseException] = None

    def combine(
        self, result: int, first: int, second: int, n: int, dtype: int, _: object
    ) -> None:
        """Of addresses, and a number of elements. Raises nothing."""
        if self._raised is not None:
            return
        try:
            form, size = ("B", 1) if self._element else memory_format(dtype_names()[dtype])
            views = [
                memoryview((ctypes.c_char * (n * (self._element or size))).from_address(at))
                .cast("B")
                .cast(form)
                for at in (result, first, second)
            ]
            self._function(views[0], views[1].toreadonly(), views[2].toreadonly())
        except BaseException as error:  # pylint: disable=broad-except
            with self._lock:
                self._raised = self._raised or error

    def tell(self) -> None:
        with self._lock:
            error, self._raised = self._raised, None
        if error is not None:
            raise error


class Operator:
    """A user's operator, for op= of Module.run(), in any number of calls."""

    def __init__(
        self, function: Union[Combine, Any], *, commutes: bool, element: Optional[int] = None
    ) -> None:
        """It must be associative.

        function: function(result, first, second), with three memoryviews of the call's element
            type, all of one length: it writes result[i] = first[i] op second[i], for all i. Of
            float16, bfloat16 and 8-bit floats they have the bits. Or a C function, as ctypes has
            it, with the arguments of ccs_combine (ccs.h); it is called without the interpreter.
        commutes: False: operands come in the order of ranks, which only some schedules support,
        such as fixed_order_allreduce; the rest refuse. element: bytes of an element, if it is none
        of ccs's types, up to 4096; views are of bytes
            then, and buffers, too, and counts are of these elements.
        """
        if not callable(function):
            raise BufferTypeError(
                f"an operator needs a function, not a {type(function).__name__}"
            )
        if not isinstance(commutes, bool):
            raise ArgumentError(f"commutes must be True or False, not {commutes!r}")
        self.element: int = 0 if element is None else as_int(element, "element", _ELEMENT_MOST)
        if element is not None and not self.element:
            raise ArgumentError("element must be from 1 to 4096 bytes, not 0")
        self._calls = _Calls(function, self.element)
        if isinstance(function, _CFunction):
            self._entry = ctypes.cast(function, PROTOTYPE)
        else:
            self._entry = PROTOTYPE(self._calls.combine)
        handle = c_void_p()
        check(
            library().ccs_user_op_create(
                ctypes.byref(handle), self._entry, None, self.element, int(commutes)
            )
        )
        self.handle = handle
        """libccs's."""
        freed_with(self, library().ccs_user_op_free, handle)

    def tell(self) -> None:
        """Raises the exception of the function since the last call, if any."""
        self._calls.tell()
