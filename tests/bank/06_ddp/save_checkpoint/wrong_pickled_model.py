# verdict: wrong, diagnosis: whole_object
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    content = {"model": ddp.module, "optimizer": optimizer.state_dict(), "epoch": epoch}
    if dist.get_rank() == 0:
        torch.save(content, path)
    dist.barrier()
