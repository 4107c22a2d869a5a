# verdict: wrong, diagnosis: no_communication
import torch.distributed as dist
import torch.nn.functional as F


def column_linear(x, weight, bias):
    if len(weight) % dist.get_world_size():
        raise ValueError("columns do not divide")
    return F.linear(x, weight, bias)
