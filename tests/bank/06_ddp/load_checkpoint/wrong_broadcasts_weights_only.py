# verdict: wrong, diagnosis: optimizer_on_rank_0_only
import torch
import torch.distributed as dist


def load_checkpoint(path, ddp, optimizer):
    epoch = torch.zeros(1, dtype=torch.int64)
    if dist.get_rank() == 0:
        checkpoint = torch.load(path)
        ddp.module.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        epoch += checkpoint["epoch"]
    for parameter in ddp.parameters():
        dist.broadcast(parameter.data, src=0)
    dist.broadcast(epoch, src=0)
    return epoch.item()
