# verdict: wrong, diagnosis: swapped
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    s = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root is None:
        dist.all_reduce(s)
    else:
        dist.reduce(s, root)
        if dist.get_rank() != root:
            return None
    return (s[1] / s[2]).item(), (s[0] / s[2]).item()
