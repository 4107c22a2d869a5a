# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for k in range(steps):
        if told():
            return k
        step()
    return steps
