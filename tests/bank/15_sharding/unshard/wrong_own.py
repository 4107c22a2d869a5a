# verdict: wrong, diagnosis: own_only
import torch.distributed as dist


def unshard(part, n):
    dist.barrier()
    return part
