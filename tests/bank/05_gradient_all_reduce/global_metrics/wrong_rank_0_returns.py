# verdict: wrong, diagnosis: returns_nothing
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum(), torch.tensor(float(len(losses)))])
    dist.all_reduce(sums)
    if dist.get_rank() == 0:
        return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()
