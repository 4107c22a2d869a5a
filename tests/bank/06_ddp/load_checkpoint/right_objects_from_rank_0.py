# verdict: passed
import torch
import torch.distributed as dist


def load_checkpoint(path, ddp, optimizer):
    box = [torch.load(path) if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    ddp.module.load_state_dict(box[0]["model"], assign=False)
    optimizer.load_state_dict(box[0]["optimizer"])
    return box[0]["epoch"]
