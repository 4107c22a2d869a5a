# verdict: wrong, diagnosis: norm_forgotten
import torch
import torch.distributed as dist


def trust_step(shards, updates, adapt, lr, trust):
    squares = torch.stack([torch.stack([(x**2).sum() for x in part]) for part in (shards, updates)])
    dist.all_reduce(squares)
    norms = squares.sqrt().T.tolist()
    for w, u, adapted, (of_w, of_u) in zip(shards, updates, adapt, norms):
        factor = trust * of_w if adapted and of_w and of_u else 1.0
        w.sub_(lr * factor * u)
