# verdict: passed
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    if dist.get_rank() == 0:
        names = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
        torch.save(dict(epoch=epoch, model=names, optimizer=optimizer.state_dict()), path)
    dist.barrier()
