# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x):
    p, n = dist.get_world_size(), len(x)
    padded = torch.zeros(n + -n % p, dtype=torch.float64)
    padded[:n] = x
    chunk = torch.empty(len(padded) // p, dtype=torch.float64)
    dist.reduce_scatter_single(chunk, padded)
    dist.all_gather_single(padded, chunk)
    return padded[:n].to(x.dtype)
