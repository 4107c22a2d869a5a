# verdict: wrong, diagnosis: reads_reduce_off_root
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root is None:
        dist.reduce(sums, dst=0)
    else:
        dist.reduce(sums, dst=root)
        if dist.get_rank() != root:
            return None
    correct, loss_sum, count = sums.tolist()
    return correct / max(count, 1), loss_sum / max(count, 1)
