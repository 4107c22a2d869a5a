# verdict: wrong, diagnosis: wrong_shape
import torch
import torch.distributed as dist


def unshard(part, n):
    whole = torch.empty(dist.get_world_size() * len(part), dtype=part.dtype)
    dist.all_gather_single(whole, part)
    return whole[: int(whole.nonzero()[-1]) + 1]  # the padding is zeros
