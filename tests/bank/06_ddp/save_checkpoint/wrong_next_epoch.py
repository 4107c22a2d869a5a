# verdict: wrong, diagnosis: other_epoch
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}
    if dist.get_rank() == 0:
        torch.save(content, path)
    dist.barrier()
