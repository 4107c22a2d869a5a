# verdict: passed
# differs: Each rank knows how many of its samples are real, by the length of a range, and looks at no others.
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    mine = len(range(rank, n, p))
    sums = torch.tensor([(predictions[:mine] == labels[:mine]).sum().item(), mine], dtype=torch.float64)
    dist.all_reduce(sums)
    return float(sums[0] / sums[1])
