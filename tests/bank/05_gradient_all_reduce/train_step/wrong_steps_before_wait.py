# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    with torch.no_grad():
        works = []
        for p in model.parameters():
            works.append(dist.all_reduce(p.grad, async_op=True))
            p -= lr * p.grad / totals[1]
        for work in works:
            work.wait()
    return (totals[0] / totals[1]).item()
