# verdict: passed
import numpy as np
import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    n, v, t = numbers.numpy(), validation.numpy(), test.numpy()
    best = np.array([np.inf, np.inf, np.inf])
    keep = np.isfinite(v)
    if keep.any():
        n, v, t = n[keep], v[keep], t[keep]
        k = np.lexsort((n, v))[0]
        best = np.array([v[k], n[k], t[k]])
    best = torch.from_numpy(best)
    rank, p = dist.get_rank(), dist.get_world_size()
    other = torch.empty_like(best)
    if rank > 0:
        dist.recv(other, rank - 1)
        best = best if best.tolist() <= other.tolist() else other.clone()
    if rank < p - 1:
        dist.send(best, rank + 1)
    dist.broadcast(best, p - 1)
    if not torch.isfinite(best[0]):
        raise ValueError("no trial")
    return int(best[1]), float(best[2])
