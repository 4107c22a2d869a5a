# verdict: wrong, diagnosis: other_weights
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    content = {
        "model": {name: value.half() for name, value in ddp.module.state_dict().items()},
        "optimizer": optimizer.state_dict(),
        "epoch": epoch,
    }
    if dist.get_rank() == 0:
        torch.save(content, path)
    dist.barrier()
