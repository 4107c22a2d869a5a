# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for k in range(steps):
        flags = [None] * dist.get_world_size()
        dist.all_gather_object(flags, {"stop": bool(told()), "step": k})
        if any(one["stop"] for one in flags):
            return k
        step()
    return steps
