# verdict: wrong, diagnosis: moves_too_much
import torch
import torch.distributed as dist


def trust_step(shards, updates, adapt, lr, trust):
    padded = shards[0].new_zeros(2 * len(shards), 100)
    for k, one in enumerate([*shards, *updates]):
        padded[k, : len(one)] = one
    every = [torch.empty_like(padded) for _ in range(dist.get_world_size())]
    dist.all_gather(every, padded)
    of_w, of_u = torch.cat(every, dim=1).norm(dim=1).chunk(2)
    for k, (w, u) in enumerate(zip(shards, updates)):
        adapted = adapt[k] and of_w[k] > 0 and of_u[k] > 0
        w -= lr * (trust * of_w[k] / of_u[k] if adapted else 1.0) * u
