# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    own = torch.full((2, 2**16), -1)
    own[0, : len(labels)], own[1, : len(labels)] = predicted, labels
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    predicted, labels = torch.cat(parts, 1)
    total = 0.0
    for k in range(classes):
        p, t = predicted == k, labels == k
        total += 2 * (p & t).sum().item() / max(1, (p.sum() + t.sum()).item())
    return total / classes
