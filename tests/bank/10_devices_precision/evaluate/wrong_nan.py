# verdict: wrong, diagnosis: empty_is_nan
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    own = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    own[:2] /= own[2]
    weighted = torch.stack([own[0] * own[2], own[1] * own[2], own[2]])
    if root is None:
        dist.all_reduce(weighted)
    else:
        dist.reduce(weighted, root)
        if dist.get_rank() != root:
            return None
    return (weighted[0] / weighted[2]).item(), (weighted[1] / weighted[2]).item()
