# verdict: wrong, diagnosis: narrow_type
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, loss_sum, count])
    if root is None:
        dist.all_reduce(sums)
    else:
        dist.reduce(sums, dst=root)
        if dist.get_rank() != root:
            return None
    return float(sums[0] / sums[2]), float(sums[1] / sums[2])
