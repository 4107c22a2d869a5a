# verdict: wrong, diagnosis: narrow_type
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, round(loss_sum * 10**6), count])
    if root is None:
        dist.all_reduce(sums)
    else:
        dist.reduce(sums, dst=root)
        if dist.get_rank() != root:
            return None
    correct, loss_sum, count = sums.tolist()
    return correct / count, loss_sum / 10**6 / count
