"""Groups of ranks, and a mesh of them."""

import torch
import torch.distributed as dist
from tutorial import run


def new_group(rank, size):
    halves = [dist.new_group(range(0, 4)), dist.new_group(range(4, 8))]
    t = torch.tensor([rank])
    dist.all_reduce(t, group=halves[rank // 4])
    mine = t.item()
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    return [mine, t.item()]


def both_sums(rank, size):
    """Both groups' sums on all ranks: a tensor with a place for each, 0 for the other group's."""
    halves = [dist.new_group(range(0, 4)), dist.new_group(range(4, 8))]
    sums = torch.zeros(2, dtype=torch.int64)
    mine = torch.tensor([rank])
    dist.all_reduce(mine, group=halves[rank // 4])
    sums[rank // 4] = mine.item()
    wrong = sums.clone()
    dist.all_reduce(sums, op=dist.ReduceOp.MAX)
    dist.all_reduce(wrong, op=dist.ReduceOp.SUM)  # counts each sum on all 4 ranks of its group
    return sums.tolist() + wrong.tolist()


def group_broadcast(rank, size):
    t = torch.tensor([2 * rank])
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.broadcast(t, src=1, group=pair)
    return t


def mesh(rank, size):
    """2 x 3. With PyTorch 2: init_device_mesh("cpu", (2, 3))."""
    rows = [dist.new_group([0, 1, 2]), dist.new_group([3, 4, 5])]
    columns = [dist.new_group([c, c + 3]) for c in range(3)]
    row, column = torch.tensor([rank]), torch.tensor([rank])
    dist.all_reduce(row, group=rows[rank // 3])
    dist.all_reduce(column, group=columns[rank % 3])
    return [row.item(), column.item()]


run(new_group, 8, lambda rank: [6 if rank < 4 else 22, 22])
run(both_sums, 8, lambda rank: [6, 22, 24, 88])
run(group_broadcast, 4, lambda rank: [[2], [2], [4], [6]][rank])
run(mesh, 6, lambda rank: [[3, 12][rank // 3], [3, 5, 7][rank % 3]])
