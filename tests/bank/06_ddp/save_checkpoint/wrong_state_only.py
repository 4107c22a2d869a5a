# verdict: wrong, diagnosis: no_param_groups
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        torch.save({"model": ddp.module.state_dict(), "optimizer": {"state": optimizer.state_dict()["state"]}, "epoch": epoch}, path)
    dist.barrier()
