# verdict: wrong, diagnosis: divided_by_equal_share
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.stack([losses.double().sum(), correct.double().sum()])
    dist.all_reduce(sums)
    n = torch.tensor(float(len(losses)))
    dist.broadcast(n, src=0)
    return tuple((sums / (n * dist.get_world_size())).tolist())
