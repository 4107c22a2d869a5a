# verdict: wrong, diagnosis: missing_barrier
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    dist.barrier()
    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    if dist.get_rank() == 0:
        torch.save(content, path)
