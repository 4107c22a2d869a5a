# verdict: wrong, diagnosis: never_stops
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for k in range(steps):
        step()
    return steps
