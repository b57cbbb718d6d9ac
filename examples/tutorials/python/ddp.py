"""DistributedDataParallel: two ranks train one model, each on its own data."""

import torch
from torch.nn.parallel import DistributedDataParallel
from tutorial import run

STEPS = 20


def train(rank, size):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(100 + rank)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(16, 4)
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()  # the gradients' sums over both ranks
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10, losses
    weights = torch.cat([p.detach().view(-1) for p in model.parameters()])
    print(f"rank {rank}: losses {losses}, weights {weights.tolist()}")
    return [round(w) for w in weights.tolist()]


run(train, 2, lambda rank: [1, 1, 1, 1, 0])
