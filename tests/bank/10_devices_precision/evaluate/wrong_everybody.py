# verdict: wrong, diagnosis: everybody_answers
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root is None:
        dist.all_reduce(sums)
    else:
        dist.reduce(sums, dst=root)
    correct, loss_sum, count = sums.tolist()
    return correct / max(count, 1), loss_sum / max(count, 1)
