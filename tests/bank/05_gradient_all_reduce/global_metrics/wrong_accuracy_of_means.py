# verdict: wrong, diagnosis: mean_of_means
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), len(losses), correct.sum() / max(1, len(correct))])
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item(), sums[2].item() / dist.get_world_size()
