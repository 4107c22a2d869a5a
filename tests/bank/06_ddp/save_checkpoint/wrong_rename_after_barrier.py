# verdict: wrong, diagnosis: missing_barrier
import os

import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path + ".tmp")
    dist.barrier()
    if dist.get_rank() == 0:
        os.replace(path + ".tmp", path)
