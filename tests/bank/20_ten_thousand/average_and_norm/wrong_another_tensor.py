# verdict: wrong, diagnosis: not_in_place
import math

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def average_and_norm(gradients, replicated, shape):
    d, p, t = shape
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("data", "pipeline", "tensor"))
    rank = dist.get_rank()
    i, k, j = mesh.get_coordinate()
    if d > 1:
        for name in sorted(gradients):
            dist.all_reduce(gradients[name], group=mesh.get_group("data"))
            gradients[name] = gradients[name] / d
    if p > 1:
        for a in range(d):
            for c in range(t):
                ends = [(a * p) * t + c, (a * p + p - 1) * t + c]
                group = dist.new_group(ends)
                if rank in ends:
                    dist.all_reduce(gradients["embedding"], group=group)
    total = torch.zeros(1, dtype=torch.float64)
    for name, g in gradients.items():
        if name == "embedding" and k > 0:
            continue
        if name in replicated and j > 0:
            continue
        total += (g**2).sum()
    dist.all_reduce(total, group=mesh.get_group("tensor"))
    dist.all_reduce(total, group=mesh.get_group("pipeline"))
    return math.sqrt(total.item())
