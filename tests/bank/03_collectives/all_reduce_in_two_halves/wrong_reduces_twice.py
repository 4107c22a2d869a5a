# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x):
    p, n = dist.get_world_size(), len(x)
    padded = torch.nn.functional.pad(x, (0, -n % p))
    own = padded.new_empty(len(padded) // p)
    dist.reduce_scatter_tensor(own, padded)  # once to see whether it works
    dist.reduce_scatter_tensor(own, padded)
    dist.all_gather_into_tensor(padded, own)
    return padded[:n]
