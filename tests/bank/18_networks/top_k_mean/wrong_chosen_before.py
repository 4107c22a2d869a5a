# verdict: wrong, diagnosis: error_added_after_selection
import torch
import torch.distributed as dist


def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    full = gradient + error
    indices = gradient.abs().topk(k).indices
    values = full[indices]
    error.copy_(full)
    error[indices] = 0
    all_indices = [torch.empty_like(indices) for _ in range(p)]
    all_values = [torch.empty_like(values) for _ in range(p)]
    dist.all_gather(all_indices, indices)
    dist.all_gather(all_values, values)
    mean = torch.zeros_like(gradient)
    for i, v in zip(all_indices, all_values):
        mean[i] += v
    return mean / p
