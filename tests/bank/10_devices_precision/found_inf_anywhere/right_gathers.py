# verdict: passed
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    bad = sum(int((~torch.isfinite(g)).sum()) for g in grads)
    flags = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(flags, torch.tensor([bad]))
    return sum(int(f) for f in flags) > 0
