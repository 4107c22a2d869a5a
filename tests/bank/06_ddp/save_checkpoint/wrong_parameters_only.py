# verdict: wrong, diagnosis: buffers_missing
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        torch.save({"model": dict(ddp.module.named_parameters()), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
    dist.barrier()
