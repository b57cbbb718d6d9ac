"""The sum of all ranks' sparse tensors: their entries are gathered, and each rank adds them up in
the order of the ranks, so that all have the same bits.
"""

from typing import Any, Callable, List

import torch

from ..errors import ArgumentError
from .tensors import Reduction, check_cpu

Tensor = torch.Tensor


def check_sparse(tensor: Tensor, op: Any, what: str) -> None:
    check_cpu(tensor, what)
    reduction = Reduction(op, tensor, what)
    if reduction.op != "sum" or reduction.scalar is not None or tensor.dtype == torch.bool:
        raise ArgumentError(
            f"{what}: of sparse tensors there is ReduceOp.SUM of numbers alone: for others give "
            "tensor.to_dense()"
        )


def _padded(tensor: Tensor, dim: int, most: int) -> Tensor:
    """With zeros up to `most` entries."""
    shape = list(tensor.shape)
    shape[dim] = most - shape[dim]
    return torch.cat([tensor, tensor.new_zeros(shape)], dim).contiguous()


def gathered_sum(
    mine: Tensor, numbers: List[int], gather: Callable[[Tensor], Tensor]
) -> Tensor:
    """Of a coalesced tensor; A rank's tensor has numbers[rank] entries. `gather` gives the blocks
    of all ranks, which are as long as the longest. O(ranks x entries)."""
    most = max(numbers)
    if most == 0:
        return mine
    indices = gather(_padded(mine.indices(), 1, most))
    values = gather(_padded(mine.values(), 0, most))
    total = torch.sparse_coo_tensor(
        indices[0][:, : numbers[0]], values[0][: numbers[0]], mine.shape
    )
    for at, of, n in zip(indices[1:], values[1:], numbers[1:]):
        total = total + torch.sparse_coo_tensor(at[:, :n], of[:n], mine.shape)
    return total.coalesce()
