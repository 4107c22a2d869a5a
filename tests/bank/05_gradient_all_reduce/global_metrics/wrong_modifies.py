# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    losses *= 1 / 2
    sums = torch.tensor([2 * losses.sum(), correct.sum(), len(losses)])
    dist.all_reduce(sums)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()
