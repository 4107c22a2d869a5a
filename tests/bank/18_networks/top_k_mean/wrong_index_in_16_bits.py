# verdict: wrong, diagnosis: unrecognised
import torch
import torch.distributed as dist


def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    full = gradient + error
    at = full.abs().topk(k).indices
    indices, values = at.to(torch.int16), full[at]
    all_indices = [torch.empty_like(indices) for _ in range(p)]
    all_values = [torch.empty_like(values) for _ in range(p)]
    dist.all_gather(all_indices, indices)
    dist.all_gather(all_values, values)
    mean = torch.zeros_like(gradient)
    for where, what in zip(all_indices, all_values):
        mean.index_add_(0, where.long() % len(gradient), what / p)
    error.copy_(full)
    error[at] = 0
    return mean
