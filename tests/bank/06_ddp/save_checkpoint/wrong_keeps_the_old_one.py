# verdict: wrong, diagnosis: older_file_kept
import os

import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0 and not os.path.exists(path):
        torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
    dist.barrier()
