# verdict: passed
# differs: The squares of all ranks are gathered in one call, and each takes the roots of the sums itself.
import torch
import torch.distributed as dist


def trust_step(shards, updates, adapt, lr, trust):
    mine = torch.stack([x.square().sum() for pair in zip(shards, updates) for x in pair])
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    norms = torch.stack(every).sum(0).sqrt().view(-1, 2)
    for k in range(len(shards)):
        w, u = norms[k]
        shards[k].add_(updates[k], alpha=-lr * float(trust * w / u if adapt[k] and w * u != 0 else 1))
