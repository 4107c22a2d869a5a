# verdict: wrong, diagnosis: averages_positions
import torch
import torch.distributed as dist


def top_k_mean(gradient, error, k):
    full = gradient + error
    indices = full.abs().topk(k).indices
    values = full[indices]
    error.copy_(full)
    error[indices] = 0
    dist.all_reduce(values)
    dist.broadcast(indices, 0)
    mean = torch.zeros_like(gradient)
    mean[indices] = values / dist.get_world_size()
    return mean
