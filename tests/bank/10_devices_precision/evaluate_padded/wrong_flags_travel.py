# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    flags = torch.zeros(n, dtype=torch.uint8)
    flags[indices] = (predictions == labels).to(torch.uint8)
    dist.all_reduce(flags, op=dist.ReduceOp.MAX)
    return flags.sum().item() / n
