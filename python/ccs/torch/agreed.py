"""The numbers that the ranks of a group exchange before a call that one rank's arguments do not
determine: how much each sends, in an uneven all-to-all, or has, of a sparse tensor. All ranks find
a mistake alike, with the same text, before anything is written.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import List, Sequence

import torch

from ..comm import Comm
from ..errors import ArgumentError

Tensor = torch.Tensor


def _unpacked(packed: bytes) -> str:
    return packed.rstrip(b"\0").decode()


# ---- all-to-all ------------------------------------------------------------------------------


def splits(given: Sequence[int], tensor: Tensor, size: int, what: str) -> List[int]:
    """How many elements of the tensor go to, or come from, each rank."""
    rows = tensor.shape[0] if tensor.dim() else 1
    row = tensor.numel() // rows if rows else 0
    if not given:
        if rows % size:
            raise ArgumentError(
                f"{what}: {rows} rows are not divided by {size} ranks: give the split sizes"
            )
        return [rows // size * row] * size
    if len(given) != size or min(given) < 0 or sum(given) != rows:
        raise ArgumentError(
            f"{what}: split sizes {list(given)} must be {size} numbers with the sum {rows}"
        )
    return [n * row for n in given]


@dataclass
class Counts:
    """The elements that every rank sends to each rank."""

    send: List[List[int]]

    @classmethod
    def agree(cls, comm: Comm, send: List[int], receive: List[int], kind: str) -> "Counts":
        """CcsError on every rank, with the same text: two ranks' counts or types differ."""
        size = comm.size
        form = f"={2 * size}q32s"
        mine = struct.pack(form, *send, *receive, kind.encode())
        rows = [struct.unpack(form, text) for text in comm.gather(mine)]
        for p, row in enumerate(rows):
            if row[-1] != rows[0][-1]:
                raise ArgumentError(
                    f"alltoall: rank {p} has {_unpacked(row[-1])}, rank 0 {_unpacked(rows[0][-1])}"
                )
            for q, other in enumerate(rows):
                if row[q] != other[size + p]:
                    raise ArgumentError(
                        f"alltoall: rank {p} sends {row[q]} elements to rank {q}, which wants "
                        f"{other[size + p]} from it"
                    )
        return cls([list(row[:size]) for row in rows])

    @property
    def most(self) -> int:
        most: int = max(max(row) for row in self.send)
        return most

    @property
    def even(self) -> bool:
        return all(n == self.send[0][0] for row in self.send for n in row)


# ---- sparse tensors --------------------------------------------------------------------------


def entries(comm: Comm, tensor: Tensor, what: str) -> List[int]:
    """The number of entries of every rank's coalesced tensor. CcsError on every rank: two ranks'
    types or shapes differ."""
    kind = (
        f"{str(tensor.dtype).replace('torch.', '')} of shape {tuple(tensor.shape)} with "
        f"{tensor.sparse_dim()} sparse dimensions"
    ).encode()
    form = "=q32s160s"
    mine = struct.pack(form, tensor._nnz(), hashlib.sha256(kind).digest(), kind)
    found = [struct.unpack(form, text) for text in comm.gather(mine)]
    for rank, (_, number, text) in enumerate(found):
        if number != found[0][1]:
            raise ArgumentError(
                f"{what}: rank {rank} has a sparse tensor, {_unpacked(text)}, rank 0 one of "
                f"{_unpacked(found[0][2])}"
            )
    return [n for n, _, _ in found]
