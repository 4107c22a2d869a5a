# verdict: passed
import torch
import torch.distributed as dist


def global_metrics(losses: torch.Tensor, correct: torch.Tensor) -> tuple[float, float]:
    sums = torch.stack([losses.sum(), correct.float().sum(), torch.tensor(float(len(losses)))])
    dist.all_reduce(sums)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()
