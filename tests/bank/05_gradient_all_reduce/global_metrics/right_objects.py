# verdict: passed
import torch.distributed as dist


def global_metrics(losses, correct):
    shares = [None] * dist.get_world_size()
    dist.all_gather_object(shares, (losses.sum().item(), int(correct.sum()), len(correct)))
    n = sum(count for _, _, count in shares)
    return [sum(loss for loss, _, _ in shares) / n, sum(hits for _, hits, _ in shares) / n]
