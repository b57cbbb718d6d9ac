"""Options of a call, in addition to its buffers: struct ccs_run_options for each rank of this
process.

    scalar=, factors=, rows=, sizes=, op= --checked--> Options --of(rank)--> RunOptions

Memory lent for a call (factors, sizes) stays in the Options until the call is over.
"""

import ctypes
from dataclasses import dataclass, field
from typing import Any, List, Optional, Sequence, Tuple

from .buffers import Buffer, borrow, dtype_size, element_bytes
from .errors import ArgumentError, BufferTypeError
from .gpu import Place
from .native import COUNT_MAX, RunOptions, as_int
from .operators import Operator, operator_number


def size_array(sizes: Sequence[int], what: str) -> Any:
    """As C has them."""
    try:
        numbers = [as_int(size, what, COUNT_MAX) for size in sizes]
    except TypeError:
        raise BufferTypeError(f"{what} must be a list of ints, not {sizes!r}") from None
    return (ctypes.c_size_t * len(numbers))(*numbers)


@dataclass
class Options:
    """Of all ranks of this process, in their order."""

    op: int = 0
    operator: Optional[Operator] = None
    scalar: Any = None
    rows: int = 0
    factors: List[Optional[Buffer]] = field(default_factory=list)
    sizes: List[Any] = field(default_factory=list)

    @classmethod
    def made(cls, op: Any, scalar: Any, rows: Optional[int], dtype: str) -> "Options":
        """The options that all ranks have alike."""
        own = op if isinstance(op, Operator) else None
        options = cls(0 if own else operator_number(op), own)
        if rows is not None:
            options.rows = as_int(rows, "rows", COUNT_MAX)
        if scalar is not None:
            if op != "sum":
                raise ArgumentError(f"scalar= is for op='sum', not {op!r}")
            options.scalar = ctypes.create_string_buffer(
                element_bytes(scalar, dtype), dtype_size(dtype)
            )
        return options

    def element(self, dtype: str) -> int:
        """Bytes of an element, as the call counts them."""
        return (self.operator.element if self.operator else 0) or dtype_size(dtype)

    def add_factors(
        self,
        given: Sequence[Any],
        ranks: Sequence[int],
        op: Any,
        dtype: str,
        named: Optional[str],
        places: Sequence[Optional[Place]],
    ) -> None:
        """Each rank's, of the call's type, as `named` says where they do not, where the rank is.
        Their lengths are not checked."""
        if all(one is None for one in given):
            return
        if op != "sum" or self.scalar is not None:
            raise ArgumentError(
                "factors= is for op='sum', without scalar=: each element is multiplied by its own"
            )
        for obj, rank, place in zip(given, ranks, places):
            if obj is None:
                raise ArgumentError(f"rank {rank} has no factors, and others have: each needs its")
            buffer = borrow(obj, named, f"factors of rank {rank}", place)
            if buffer.dtype != dtype:
                raise BufferTypeError(
                    f"factors of rank {rank} are {buffer.dtype}, and its buffers {dtype}"
                )
            self.factors.append(buffer)

    def add_sizes(self, given: Sequence[Any], ranks: Sequence[int], chunks: int) -> None:
        """Each rank's, of `chunks` chunks."""
        for sizes, rank in zip(given, ranks):
            what = f"sizes of rank {rank}"
            array = size_array(sizes, what)
            if len(array) != chunks:
                raise ArgumentError(
                    f"{what} are {len(array)} numbers, and the schedule has {chunks} `sized` chunks "
                    "on a rank, buffer by buffer: one for each"
                )
            self.sizes.append(array)

    def of(self, place: int) -> RunOptions:
        """Of the rank at that place among this process's."""
        options = RunOptions(rows=self.rows)
        if self.operator is not None:
            options.user_op = self.operator.handle
        if self.scalar is not None:
            options.scalar = ctypes.addressof(self.scalar)
        if self.factors:
            factors = self.factors[place]
            options.factors = factors.address if factors else None
        if self.sizes:
            options.sizes = ctypes.addressof(self.sizes[place])
        return options

    def reads(self) -> List[Tuple[int, int]]:
        """Memory that no rank may write: from where to where."""
        return [(f.address, f.address + f.nbytes) for f in self.factors if f and f.nbytes]
