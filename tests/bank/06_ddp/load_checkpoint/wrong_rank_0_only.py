# verdict: wrong, diagnosis: rank_0_only
import torch
import torch.distributed as dist


def load_checkpoint(path, ddp, optimizer):
    if dist.get_rank() != 0:
        return 0
    checkpoint = torch.load(path)
    ddp.module.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]
