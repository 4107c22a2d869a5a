# verdict: wrong, diagnosis: keeps_padding
import torch.distributed as dist


def unshard(part, n):
    whole = part.new_empty(len(part) * dist.get_world_size())
    dist.all_gather_single(whole, part)
    return whole
