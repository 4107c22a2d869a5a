# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def trust_step(shards, updates, adapt, lr, trust):
    everything = [None] * dist.get_world_size()
    dist.all_gather_object(everything, [torch.cat([w, u]).tolist() for w, u in zip(shards, updates)])
    for k, (w, u, adapted) in enumerate(zip(shards, updates, adapt)):
        halves = [torch.tensor(one[k], dtype=w.dtype).chunk(2) if one[k] else (w[:0], u[:0]) for one in everything]
        of_w, of_u = (torch.cat([half[i] for half in halves]).norm() for i in (0, 1))
        factor = trust * of_w / of_u if adapted and of_w > 0 and of_u > 0 else 1.0
        w -= lr * factor * u
