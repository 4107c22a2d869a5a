# verdict: passed
# differs: It reads to the CPU and loads numbers only, no pickled code: the way for files from somewhere else.
import torch
import torch.distributed as dist


def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    dist.barrier()
    ddp.module.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]
