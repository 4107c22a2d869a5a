# verdict: wrong, diagnosis: largest_share
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    largest = torch.tensor(len(x))
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= largest * dist.get_world_size()
            p -= lr * p.grad
    return (totals[0] / totals[1]).item()
