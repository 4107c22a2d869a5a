# verdict: passed
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for k in range(steps):
        flags = [torch.zeros(1, dtype=torch.uint8) for _ in range(dist.get_world_size())]
        dist.all_gather(flags, torch.tensor([told()], dtype=torch.uint8))
        if any(flags):
            return k
        step()
    return steps
