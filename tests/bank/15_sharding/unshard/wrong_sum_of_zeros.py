# verdict: wrong, diagnosis: moves_too_much
import torch.distributed as dist


def unshard(part, n):
    r, k = dist.get_rank(), len(part)
    whole = part.new_zeros(k * dist.get_world_size())
    whole[r * k : (r + 1) * k] = part
    dist.all_reduce(whole)
    return whole[:n]
