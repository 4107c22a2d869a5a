# verdict: wrong, diagnosis: no_momentum
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    content = {"model": ddp.module.state_dict(), "optimizer": {"param_groups": optimizer.param_groups}, "epoch": epoch}
    if dist.get_rank() == 0:
        torch.save(content, path)
    dist.barrier()
