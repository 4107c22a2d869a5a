# verdict: wrong, diagnosis: moves_too_much
import torch
import torch.distributed as dist


def global_moments(x):
    padded = x.new_full((100, x.shape[1]), float("nan"))
    padded[: len(x)] = x
    every = [torch.empty_like(padded) for _ in range(dist.get_world_size())]
    dist.all_gather(every, padded)
    rows = torch.cat(every)
    rows = rows[~rows[:, 0].isnan()]
    return rows.mean(0), rows.var(0, unbiased=False)
