# verdict: wrong, diagnosis: written_by_others
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    dist.barrier()
    rank = dist.get_rank()
    torch.save({"model": ddp.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path if rank == 0 else f"{path}.{rank}")
    dist.barrier()
