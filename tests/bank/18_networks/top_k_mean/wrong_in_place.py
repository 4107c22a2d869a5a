# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    gradient += error
    indices = gradient.abs().topk(k).indices
    packed = torch.stack([indices.double(), gradient[indices]])
    parts = [torch.empty_like(packed) for _ in range(p)]
    dist.all_gather(parts, packed)
    error.copy_(gradient)
    error[indices] = 0
    mean = torch.zeros_like(gradient)
    for part in parts:
        mean[part[0].long()] += part[1] / p
    return mean
