# verdict: passed
import io
import os

import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        box = io.BytesIO()
        torch.save({"epoch": epoch, "optimizer": optimizer.state_dict(), "model": ddp.module.state_dict(), "version": 1}, box)
        with open(path, "wb") as f:
            f.write(box.getvalue())
    done = torch.zeros(1)
    dist.all_reduce(done)
