# verdict: wrong, diagnosis: mean_of_means
import torch
import torch.distributed as dist
import torch.nn.functional as F


def train_step(model, x, y, lr):
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    (loss / max(len(x), 1)).backward()
    totals = torch.tensor([loss.item(), len(x)], dtype=torch.float64)
    dist.all_reduce(totals)
    with torch.no_grad():
        for p in model.parameters():
            p -= lr * p.grad
            dist.all_reduce(p)
            p /= dist.get_world_size()
    return (totals[0] / totals[1]).item()
