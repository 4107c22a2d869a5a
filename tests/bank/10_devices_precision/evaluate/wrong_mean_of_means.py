# verdict: wrong, diagnosis: mean_of_means
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    n = max(count, 1)
    means = torch.tensor([correct / n, loss_sum / n], dtype=torch.float64) / dist.get_world_size()
    if root is None:
        dist.all_reduce(means)
    else:
        dist.reduce(means, root)
        if dist.get_rank() != root:
            return None
    return tuple(means.tolist())
