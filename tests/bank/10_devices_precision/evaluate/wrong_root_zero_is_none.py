# verdict: wrong, diagnosis: spread_for_nothing
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root:
        dist.reduce(sums, root)
    else:
        dist.all_reduce(sums)
    if root is not None and dist.get_rank() != root:
        return None
    right, loss, n = sums.tolist()
    return right / n, loss / n
