# verdict: wrong, diagnosis: other_entries
import torch
import torch.distributed as dist


def save_checkpoint(path, ddp, optimizer, epoch):
    content = ddp.module.state_dict()
    if dist.get_rank() == 0:
        torch.save(content, path)
    dist.barrier()
