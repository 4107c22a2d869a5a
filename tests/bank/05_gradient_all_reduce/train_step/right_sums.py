# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


def train_step(model: nn.Module, x: torch.Tensor, y: torch.Tensor, lr: float) -> float:
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr * p.grad / totals[1]
    return (totals[0] / totals[1]).item()
