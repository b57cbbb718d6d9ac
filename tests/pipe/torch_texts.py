#!/usr/bin/env python3
"""Writes the texts of all of PyTorch's pipeline schedules, with the stages that each class admits, for 2..RANKS ranks and
2..MICROBATCHES microbatches: CLASS_RANKSxSTAGES_MICROBATCHES.only.csv (_dump_csv's format compute_only) and .comms.csv (compute_comms).
The classes run without processes or tensors: a stage is only asked for its numbers. Schedule1F1B is not among them: its
_get_pipeline_order begins the last rank with microbatch 1 and never computes 0, so PyTorch's own check refuses it;
Interleaved1F1B with one stage a rank is the same schedule.
usage: torch_texts.py FOLDER [RANKS [MICROBATCHES]]     PyTorch 2.15 or later, which lowers as PyTorch 2.15"""
import os
import sys
import types

try:
    from torch.distributed.pipelining import schedules
except (ImportError, AttributeError):  # an old one
    schedules = None

CLASSES = {"GPipe": (1,), "LoopedBFS": (1, 2, 3), "Interleaved1F1B": (1, 2, 3), "InterleavedZeroBubble": (1, 2, 3),
           "ZBVZeroBubble": (2,), "DualPipeV": (2,)}
LOCAL = ("UNSHARD", "RESHARD", "REDUCE_GRAD", "WAIT_REDUCE_GRAD")


def usable():
    """Whether this PyTorch lowers as PyTorch 2.15 does: with a wait for each send."""
    return schedules is not None and hasattr(schedules, "_add_wait_send")


def stages(ranks, each):
    """What a schedule asks of the stages of rank 0."""
    def of(number):
        return types.SimpleNamespace(
            num_stages=ranks * each, group_size=ranks, group_rank=0, stage_index=number, is_first=number == 0,
            is_last=number == ranks * each - 1, submod=None, p2p_per_edge=False, has_backward=True, stage_index_to_group_rank={})

    return [of(i) for i in range(each)]


def schedule(name, ranks, each, microbatches):
    """A schedule of the class, or None: it does not admit the numbers."""
    cls = schedules.get_schedule_class(name)
    try:
        if name != "GPipe":
            return cls(stages(ranks, each), microbatches, loss_fn=len)
        order = types.SimpleNamespace(_num_stages=ranks, _n_microbatches=microbatches)
        order = cls._get_pipeline_order(order)
        # It runs without a text; the runtime of texts takes its order.
        made = schedules._PipelineScheduleRuntime(stages(ranks, 1), microbatches, loss_fn=len)
        made._prepare_schedule_with_comms(
            {r: [a for a in line if a is None or a.computation_type.value not in LOCAL] for r, line in order.items()})
        made.pipeline_order = order
        return made
    except (ValueError, AssertionError):
        return None


def write(folder, ranks=8, microbatches=16):
    """Writes the texts, and returns their names without the ends."""
    names = []
    for name, admitted in CLASSES.items():
        for p in range(2, ranks + 1):
            for each in admitted:
                for m in range(2, microbatches + 1):
                    made = schedule(name, p, each, m)
                    if made:
                        names.append(os.path.join(folder, f"{name}_{p}x{each}_{m}"))
                        made._dump_csv(names[-1] + ".only.csv", format="compute_only")
                        made._dump_csv(names[-1] + ".comms.csv", format="compute_comms")
    return names


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not usable():
        sys.exit("torch_texts.py: no PyTorch here that lowers as 2.15 does")
    print(len(write(sys.argv[1], *map(int, sys.argv[2:]))), "schedules")
