# verdict: wrong, diagnosis: count_overflows
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.stack([losses.double().sum(), torch.tensor(len(losses), dtype=torch.float64)])
    hits = correct.to(torch.uint8).sum(dtype=torch.uint8)
    dist.all_reduce(sums)
    dist.all_reduce(hits)
    loss, count = sums.tolist()
    return loss / count, hits.item() / count
