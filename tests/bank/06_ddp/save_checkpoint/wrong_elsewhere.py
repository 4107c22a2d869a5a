# verdict: wrong, diagnosis: never_written
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(content, f"{path}.{epoch}")
    dist.barrier()
