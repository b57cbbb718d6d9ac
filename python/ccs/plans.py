"""Plans: a module has one for each number of ranks and root; and the plans' buffers."""

import ctypes
from dataclasses import dataclass
from typing import List, Optional, Tuple

from .native import BufferInfo, ModuleInfo, PlanInfo, check, library

_DIRECTION_NAMES = ("in", "out", "inout")  # ccs_direction


@dataclass(frozen=True)
class PlanBuffer:
    """A buffer of each rank."""

    name: str
    direction: str
    """"in", "out" or "inout"."""
    blocks: int
    """Each has `count` elements."""
    chunks: int
    """Of a block: the number of parts in which the schedule moves it."""
    by_column: bool
    """run() takes rows."""
    sized: bool
    """run() takes sizes."""


@dataclass(frozen=True)
class Plan:
    """The plan that a call on that many ranks runs."""

    ranks: int
    root: Optional[int]
    """None: the module takes no root."""
    steps: int
    """Messages that must follow one another."""
    operations: int
    """Of all ranks together, such as a send."""
    buffers: Tuple[PlanBuffer, ...]
    """In the order in which the contract names them."""


def module_info(module: ctypes.c_void_p) -> ModuleInfo:
    """Facts of all plans."""
    info = ModuleInfo()
    check(library().ccs_module_describe(module, ctypes.byref(info)))
    return info


def plan_infos(module: ctypes.c_void_p) -> List[PlanInfo]:
    """Facts of all plans, by number of ranks, then by root."""
    infos = [PlanInfo() for _ in range(module_info(module).plans)]
    for i, info in enumerate(infos):
        check(library().ccs_module_plan(module, i, ctypes.byref(info)))
    return infos


def buffer_infos(module: ctypes.c_void_p, plan: int) -> List[BufferInfo]:
    """Facts of plan number `plan`."""
    infos = [BufferInfo() for _ in range(module_info(module).buffers)]
    for i, info in enumerate(infos):
        check(library().ccs_module_buffer(module, plan, i, ctypes.byref(info)))
    return infos


def _buffer(info: BufferInfo) -> PlanBuffer:
    return PlanBuffer(
        info.name.decode(),
        _DIRECTION_NAMES[info.direction],
        info.blocks,
        info.chunks,
        bool(info.by_column),
        bool(info.sized),
    )


def plans_of(module: ctypes.c_void_p) -> Tuple[Plan, ...]:
    """All plans, in the same order."""
    return tuple(
        Plan(
            info.nranks,
            None if info.root < 0 else info.root,
            info.steps,
            info.operations,
            tuple(map(_buffer, buffer_infos(module, i))),
        )
        for i, info in enumerate(plan_infos(module))
    )
