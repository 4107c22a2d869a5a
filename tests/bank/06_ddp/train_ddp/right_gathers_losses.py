# verdict: passed
# differs: Losses are collected once at the end, not in every step: one conversation in place of many.
import torch
import torch.distributed as dist
import torch.nn as nn


def train_ddp(model, batches, lr):
    wrapped = nn.parallel.DistributedDataParallel(model)
    loss_of, opt = nn.CrossEntropyLoss(), torch.optim.SGD(wrapped.parameters(), lr=lr)
    mine = []
    for x, y in batches:
        for p in wrapped.parameters():
            p.grad = None
        loss = loss_of(wrapped(x), y)
        mine.append(loss.item())
        loss.backward()
        opt.step()
    box = [None] * dist.get_world_size()
    dist.all_gather_object(box, mine)
    return [sum(column) / len(column) for column in zip(*box)]
