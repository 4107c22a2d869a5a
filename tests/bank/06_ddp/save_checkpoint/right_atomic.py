# verdict: passed
# differs: The file is written under another name and then renamed: whoever reads sees the old one or the new one, never half.
import os

import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        part = f"{path}.part"
        with open(part, "wb") as file:
            torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, file)
        os.replace(part, path)
    done = torch.zeros(1)
    dist.broadcast(done, src=0)
