# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def trust_step(shards, updates, adapt, lr, trust):
    for w, u, adapted in zip(shards, updates, adapt):
        squares = torch.stack([(w * w).sum(), (u * u).sum()])
        dist.all_reduce(squares)
        of_w, of_u = squares.sqrt()
        factor = trust * of_w / of_u if adapted and of_w > 0 and of_u > 0 else 1.0
        w -= lr * factor * u
