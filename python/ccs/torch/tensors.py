"""torch's tensors, types and operators, in ccs's terms. An unsupported one raises here."""

from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch._C._distributed_c10d import ReduceOp

from ..errors import ArgumentError, BufferTypeError

Tensor = torch.Tensor

_NAMES = {
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "uint16": "uint16",
    "int32": "int32",
    "uint32": "uint32",
    "int64": "int64",
    "uint64": "uint64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "float8_e4m3fn": "float8e4m3",
    "float8_e5m2": "float8e5m2",
}
_DTYPES = {getattr(torch, name): ours for name, ours in _NAMES.items() if hasattr(torch, name)}
_OPERATORS = {
    "SUM": "sum",
    "PRODUCT": "prod",
    "MIN": "min",
    "MAX": "max",
    "AVG": "avg",
    "PREMUL_SUM": "sum",  # with a scalar
}
_BITS = {"BAND": "band", "BOR": "bor", "BXOR": "bxor"}
# Of bools, which are bytes of 0 or 1; as torch has it for NCCL.
_BOOLEAN = {"SUM": "max", "MAX": "max", "PRODUCT": "min", "MIN": "min", **_BITS}


def _operators(dtype: torch.dtype) -> Dict[str, str]:
    if dtype == torch.bool:
        return _BOOLEAN
    return _OPERATORS if dtype.is_floating_point else {**_OPERATORS, **_BITS}


def _kind(tensor: Tensor) -> str:
    return str(tensor.dtype).replace("torch.", "")


def check_cpu(tensor: Tensor, what: str) -> None:
    if tensor.device.type != "cpu":
        raise BufferTypeError(
            f"{what}: a tensor is on {tensor.device}, and such a call is run on the CPU only: "
            "give tensor.cpu()"
        )


def on_gpu(tensor: Optional[Tensor]) -> bool:
    return tensor is not None and tensor.device.type == "cuda"


def _check_device(tensor: Tensor, what: str) -> None:
    if tensor.device.type not in ("cpu", "cuda"):
        raise BufferTypeError(
            f"{what}: a tensor is on {tensor.device}; this back end has ranks on the CPU and on "
            "NVIDIA's GPUs: give tensor.cpu()"
        )


def check_together(tensors: Sequence[Tensor], like: Tensor, what: str) -> None:
    for tensor in tensors:
        if tensor.device != like.device:
            raise ArgumentError(
                f"{what}: one tensor is on {tensor.device}, another on {like.device}: all of a "
                "call are on one device"
            )


def _is_plain(tensor: Tensor) -> bool:
    """Its memory has its elements, one after another."""
    return tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()


def _extent(tensor: Tensor) -> int:
    """Elements from its first to its last in memory; -1: some share memory, or may."""
    last = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1 and stride <= last:
            return -1
        last += stride * (size - 1)
    return last + 1


def check_strided(tensors: Sequence[Tensor], what: str, written: bool = False) -> None:
    """They are on one device, with any strides."""
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            raise BufferTypeError(f"{what}: not a tensor, but a {type(tensor).__name__}")
        if tensor.layout != torch.strided:
            raise BufferTypeError(
                f"{what}: a tensor is {tensor.layout}; ccs takes dense ones: give tensor.to_dense()"
            )
        _check_device(tensor, what)
        if written and not tensor.is_contiguous() and tensor.numel() and _extent(tensor) < 0:
            raise ArgumentError(
                f"{what}: elements of a tensor share memory, and results are written there: give "
                "tensor.clone()"
            )
    if tensors:
        check_together(tensors, tensors[0], what)


def check(tensors: Sequence[Tensor], what: str) -> None:
    """They are dense, with their dimensions in any order in memory."""
    check_strided(tensors, what)
    for tensor in tensors:
        if not tensor.is_contiguous() and _extent(tensor) != tensor.numel():
            raise ArgumentError(
                f"{what}: a tensor is not contiguous, nor is one with its dimensions in another "
                "order: give tensor.contiguous()"
            )


def check_plain(tensor: Tensor, what: str) -> None:
    if not _is_plain(tensor):
        raise ArgumentError(f"{what}: a tensor is not contiguous: give tensor.contiguous()")


def in_order(tensor: Tensor) -> Tensor:
    """Its elements one after another: itself, or a copy."""
    plain = tensor.detach()
    return plain if _is_plain(plain) else plain.resolve_conj().resolve_neg().contiguous()


def one(tensors: Sequence[Tensor], what: str) -> Tensor:
    """The tensor of a list that must have one."""
    if len(tensors) != 1:
        raise ArgumentError(f"{what}: one tensor for each process, not {len(tensors)}")
    check(tensors, what)
    return tensors[0]


def check_each(
    tensors: Sequence[Tensor], like: Tensor, number: int, written: bool, what: str
) -> None:
    """A tensor for each rank, of the type of `like`."""
    if len(tensors) != number:
        raise ArgumentError(
            f"{what}: a list of {len(tensors)} tensors, for {number} ranks: one for each"
        )
    check_strided(tensors, what, written)
    check_together(tensors[:1], like, what)
    for rank, tensor in enumerate(tensors):
        if tensor.dtype != like.dtype:
            raise BufferTypeError(
                f"{what}: the tensor of rank {rank} is {_kind(tensor)}, another {_kind(like)}"
            )


def check_alike(
    tensors: Sequence[Tensor], like: Tensor, number: int, written: bool, what: str
) -> None:
    """Each as long as `like`, too."""
    check_each(tensors, like, number, written, what)
    for rank, tensor in enumerate(tensors):
        if tensor.numel() != like.numel():
            raise ArgumentError(
                f"{what}: the tensor of rank {rank} has {tensor.numel()} elements, another "
                f"{like.numel()}: tensors of one length are needed"
            )


def check_blocks(large: Tensor, small: Tensor, blocks: int, what: str) -> None:
    """`large` has `blocks` times the elements of `small`."""
    check_together([large], small, what)
    if large.dtype != small.dtype:
        raise BufferTypeError(f"{what}: one tensor is {_kind(large)}, the other {_kind(small)}")
    if large.numel() != blocks * small.numel():
        raise ArgumentError(
            f"{what}: {large.numel()} elements for {blocks} blocks of {small.numel()}: the larger "
            f"tensor must have {blocks} times those of the smaller"
        )


def moved(tensor: Tensor) -> Tuple[str, int]:
    """Type and elements of it, for calls that compute nothing: bytes if ccs lacks the type."""
    name = _DTYPES.get(tensor.dtype)
    if name:
        return name, tensor.numel()
    return "uint8", tensor.numel() * tensor.element_size()


class Reduction:
    """An operator on tensors of a type."""

    def __init__(self, op: Any, tensor: Tensor, what: str) -> None:
        name, factor = _name_of(op)
        self.scalar: Optional[Tensor] = None
        known = _operators(tensor.dtype)
        if name not in known:
            raise ArgumentError(
                f"{what}: ReduceOp.{name} of {_kind(tensor)} is none of ccs's, which has "
                f"{', '.join(known)} of it: gather the tensors with all_gather, and combine them"
            )
        self.op = known[name]
        if tensor.dtype == torch.bool:
            self.dtype = "uint8"
        elif tensor.dtype in _DTYPES:
            self.dtype = _DTYPES[tensor.dtype]
        else:
            raise BufferTypeError(
                f"{what}: ccs cannot reduce {_kind(tensor)}, only bool, {', '.join(_NAMES)}: give "
                "tensor.to() one of these"
            )
        if name == "PREMUL_SUM":
            self.scalar = _scalar(factor, tensor, what)

    @property
    def address(self) -> int:
        """Of the scalar; 0: there is none."""
        return 0 if self.scalar is None else int(self.scalar.data_ptr())


def _name_of(op: Any) -> Tuple[str, Any]:
    """Such as ("SUM", None); with premul-sum's factor."""
    kind, factor = getattr(op, "op", op), None
    if hasattr(op, "__getstate__"):
        state = op.__getstate__()
        if isinstance(state, tuple) and len(state) == 2:
            kind, factor = state
    return str(kind).rpartition(".")[2], factor


def _scalar(factor: Any, tensor: Tensor, what: str) -> Tensor:
    if isinstance(factor, (list, tuple)):
        factor = factor[0]
    if factor is None:
        raise ArgumentError(
            f"{what}: PyTorch {torch.__version__} does not give the factor of PREMUL_SUM: "
            "multiply the tensor, and use SUM"
        )
    value = torch.as_tensor(factor)
    if value.numel() != 1:
        raise ArgumentError(f"{what}: PREMUL_SUM takes one factor, not {value.numel()}")
    scalar: Tensor = value.reshape(1).to("cpu", tensor.dtype)  # where libccs reads it
    return scalar


def flat(tensors: List[Tensor]) -> Tensor:
    """One after another, in new memory."""
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def scatter_out(outputs: Sequence[Tensor], joined: Tensor) -> None:
    """The other way: copies the parts back into the tensors."""
    at = 0
    for tensor in outputs:
        end = at + tensor.numel()
        tensor.detach().copy_(joined[at:end].view(tensor.shape))
        at = end
