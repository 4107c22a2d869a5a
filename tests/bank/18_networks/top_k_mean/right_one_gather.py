# verdict: passed
import torch
import torch.distributed as dist


def top_k_mean(gradient, error, k):
    p = dist.get_world_size()
    error += gradient
    indices = torch.argsort(error.abs(), descending=True)[:k].to(torch.int32)
    packed = torch.cat([indices.double(), error[indices.long()]])
    everything = packed.new_empty(p * 2 * k)
    dist.all_gather_single(everything, packed)
    error[indices.long()] = 0.0
    rows = everything.view(p, 2, k)
    return torch.zeros_like(gradient).index_add_(0, rows[:, 0].reshape(-1).long(), rows[:, 1].reshape(-1) / p)
