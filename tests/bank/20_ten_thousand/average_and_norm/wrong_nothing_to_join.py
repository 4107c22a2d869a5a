# verdict: raised, diagnosis: ValueError
import math

import torch
import torch.distributed as dist


def average_and_norm(gradients, replicated, shape):
    data, pipeline, tensor = shape
    rank = dist.get_rank()
    stage, column = rank // tensor % pipeline, rank % tensor

    def mine(groups):
        made = [dist.new_group(group) for group in groups]
        return next((g for g, ranks in zip(made, groups) if rank in ranks), None)

    replicas = mine(axis_groups(shape, 0))
    ends = mine([[g[0], g[-1]] for g in axis_groups(shape, 1)] if pipeline > 1 else [])
    inside = pipeline * tensor
    model = mine([list(range(d * inside, (d + 1) * inside)) for d in range(data)])
    for g in gradients.values():
        if data > 1:
            dist.all_reduce(g, group=replicas)
            g /= data
    if "embedding" in gradients and pipeline > 1:
        dist.all_reduce(gradients["embedding"], group=ends)
    square = torch.zeros((), dtype=torch.float64)
    gradients = {name: g for name, g in gradients.items() if name != "embedding" or stage == 0}
    if column == 0:
        square += torch.cat([g.flatten() for name, g in gradients.items() if name in replicated]).square().sum()
    square += torch.cat([g.flatten() for name, g in gradients.items() if name not in replicated]).square().sum()
    dist.all_reduce(square, group=model)
    return math.sqrt(square)
