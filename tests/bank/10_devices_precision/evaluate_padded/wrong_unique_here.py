# verdict: wrong, diagnosis: counts_padding
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    right = {i: bool(r) for i, r in zip(indices.tolist(), predictions == labels)}
    sums = torch.tensor([sum(right.values()), len(right)])
    dist.all_reduce(sums)
    return sums[0].item() / sums[1].item()
