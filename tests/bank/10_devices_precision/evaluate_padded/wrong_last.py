# verdict: wrong, diagnosis: samples_left_out
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    right = predictions == labels
    if n % dist.get_world_size():
        right = right[:-1]
    sums = torch.tensor([right.sum().item(), len(right)])
    dist.all_reduce(sums)
    return sums[0].item() / max(1, sums[1].item())
