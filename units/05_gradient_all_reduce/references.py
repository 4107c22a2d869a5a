"""Right answers that stand in where a later exercise uses one that a student has not solved."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def broadcast_parameters(model):
    for tensor in [*model.parameters(), *model.buffers()]:
        dist.broadcast(tensor.data, src=0)


def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape).clone()


def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), correct.sum(), len(losses)], dtype=torch.float64)
    dist.all_reduce(sums)
    loss, hits, count = sums.tolist()
    return loss / count, hits / count


def train_step(model, x, y, lr):
    totals = torch.tensor([float(len(x)), 0.0], dtype=torch.float64)
    model.zero_grad()
    loss = F.cross_entropy(model(x), y, reduction="sum")
    loss.backward()
    totals[1] = loss.item()
    dist.all_reduce(totals)
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p -= lr / totals[0].item() * p.grad
    return (totals[1] / totals[0]).item()
