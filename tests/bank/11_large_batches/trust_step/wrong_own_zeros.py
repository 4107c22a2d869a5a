# verdict: wrong, diagnosis: own_zeros
import torch
import torch.distributed as dist


def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([t.square().sum() for t in (*shards, *updates)])
    dist.all_reduce(squares)
    ws, us = squares.sqrt().chunk(2)
    for k in range(len(shards)):
        plain = not adapt[k] or not shards[k].any() or not updates[k].any()
        factor = 1.0 if plain else trust * ws[k] / us[k]
        shards[k] -= lr * factor * updates[k]
