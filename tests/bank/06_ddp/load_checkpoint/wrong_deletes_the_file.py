# verdict: wrong, diagnosis: file_gone
import os

import torch
import torch.distributed as dist


def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    ddp.module.load_state_dict(ck["model"])
    optimizer.load_state_dict(ck["optimizer"])
    dist.barrier()
    if dist.get_rank() == 0:
        os.remove(path)
    return ck["epoch"]
