# verdict: passed
import torch
import torch.distributed as dist


def trust_step(shards, updates, adapt, lr, trust):
    k = len(shards)
    squares = shards[0].new_tensor([float(x.dot(x)) for x in [*shards, *updates]])
    work = dist.all_reduce(squares, async_op=True)
    work.wait()
    norm = squares**0.5
    ratio = torch.where((norm[:k] > 0) & (norm[k:] > 0) & torch.tensor(adapt), trust * norm[:k] / norm[k:], 1.0)
    for one, u, factor in zip(shards, updates, ratio):
        one -= lr * factor * u
