# verdict: wrong, diagnosis: written_by_others
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    dist.barrier()
    torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
    dist.barrier()
