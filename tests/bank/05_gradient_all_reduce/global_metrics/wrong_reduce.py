# verdict: wrong, diagnosis: only_one_rank
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum(), torch.tensor(float(len(losses)))])
    dist.reduce(sums, dst=0)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()
