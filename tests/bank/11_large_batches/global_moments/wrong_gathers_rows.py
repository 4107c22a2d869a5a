# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def global_moments(x):
    p = dist.get_world_size()
    counts = [torch.zeros(1, dtype=torch.int64) for _ in range(p)]
    dist.all_gather(counts, torch.tensor([len(x)]))
    most = int(max(counts))
    padded = torch.cat([x, x.new_zeros(most - len(x), x.shape[1])])
    every = [torch.empty_like(padded) for _ in range(p)]
    dist.all_gather(every, padded)
    rows = torch.cat([one[: int(n)] for one, n in zip(every, counts)])
    return rows.mean(0), rows.var(0, unbiased=False)
