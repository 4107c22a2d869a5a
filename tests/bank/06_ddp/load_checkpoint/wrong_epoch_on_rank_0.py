# verdict: wrong, diagnosis: no_epoch
import torch
import torch.distributed as dist


def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    ddp.module.load_state_dict(ck["model"])
    optimizer.load_state_dict(ck["optimizer"])
    return ck["epoch"] if dist.get_rank() == 0 else 0
