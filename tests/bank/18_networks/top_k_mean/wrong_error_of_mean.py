# verdict: wrong, diagnosis: error_of_the_mean
import torch
import torch.distributed as dist


def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    full = gradient + error
    at = full.abs().topk(k).indices
    values = full[at]
    vs = [torch.empty_like(values) for _ in range(p)]
    ats = [torch.empty_like(at) for _ in range(p)]
    dist.all_gather(vs, values)
    dist.all_gather(ats, at)
    mean = torch.zeros_like(full)
    for v, i in zip(vs, ats):
        mean[i] += v
    mean /= p
    error.copy_(full - mean)
    return mean
