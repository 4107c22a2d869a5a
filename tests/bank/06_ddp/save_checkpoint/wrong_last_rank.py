# verdict: wrong, diagnosis: written_by_others
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    content = {"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    if dist.get_rank() == dist.get_world_size() - 1:
        torch.save(content, path)
    dist.barrier()
