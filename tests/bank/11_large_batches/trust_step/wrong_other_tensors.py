# verdict: wrong, diagnosis: not_changed
import torch
import torch.distributed as dist


def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([t.square().sum() for t in (*shards, *updates)])
    dist.all_reduce(squares)
    ws, us = squares.sqrt().chunk(2)
    for k in range(len(shards)):
        factor = trust * ws[k] / us[k] if adapt[k] and ws[k] > 0 and us[k] > 0 else 1.0
        shards[k] = shards[k] - lr * factor * updates[k]
