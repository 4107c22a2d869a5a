# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def top_k_mean(gradient, error, k):
    full = gradient + error
    indices = full.abs().topk(k).indices
    sent = torch.zeros_like(full)
    sent[indices] = full[indices]
    error.copy_(full - sent)
    dist.all_reduce(sent)
    return sent / dist.get_world_size()
