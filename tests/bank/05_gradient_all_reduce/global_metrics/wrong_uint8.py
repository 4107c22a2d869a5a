# verdict: wrong, diagnosis: count_overflows
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    s = losses.sum().reshape(1)
    c = torch.tensor([int(correct.sum()) % 256, len(losses) % 256], dtype=torch.uint8)
    dist.all_reduce(s)
    dist.all_reduce(c)
    return s.item() / c[1].item(), c[0].item() / c[1].item()
