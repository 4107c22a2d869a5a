# verdict: passed
# differs: Loss, count and all gradients travel at the same time, and the division comes at the very end.
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    works = [dist.all_reduce(t, async_op=True) for t in [totals, *(p.grad for p in model.parameters())]]
    while works:
        works.pop().wait()
    with torch.no_grad():
        for p in model.parameters():
            p -= lr * p.grad / totals[1]
    return (totals[0] / totals[1]).item()
