# verdict: wrong, diagnosis: wrong_root
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root is None:
        dist.all_reduce(sums)
    else:
        dist.reduce(sums, dst=0)
        if dist.get_rank() != 0:
            return None
    correct, loss_sum, count = sums.tolist()
    return correct / count, loss_sum / count
