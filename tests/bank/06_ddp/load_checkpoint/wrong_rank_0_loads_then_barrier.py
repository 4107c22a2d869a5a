# verdict: wrong, diagnosis: rank_0_only
import torch
import torch.distributed as dist


def load_checkpoint(path, ddp, optimizer):
    epoch = 0
    if dist.get_rank() == 0:
        ck = torch.load(path)
        ddp.module.load_state_dict(ck["model"])
        optimizer.load_state_dict(ck["optimizer"])
        epoch = ck["epoch"]
    dist.barrier()
    return epoch
