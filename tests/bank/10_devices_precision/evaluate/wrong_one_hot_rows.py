# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    table = torch.zeros(dist.get_world_size(), 3, dtype=torch.float64)
    table[dist.get_rank()] = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root is None:
        dist.all_reduce(table)
    else:
        dist.reduce(table, root)
        if dist.get_rank() != root:
            return None
    correct, loss_sum, count = table.sum(0).tolist()
    return correct / count, loss_sum / count
