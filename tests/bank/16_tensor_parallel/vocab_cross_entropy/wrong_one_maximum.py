# verdict: wrong, diagnosis: not_finite
import torch
import torch.distributed as dist


def vocab_cross_entropy(logits, targets):
    rank, p = dist.get_rank(), dist.get_world_size()
    n, width = logits.shape
    widths = [torch.zeros(1, dtype=torch.int64) for _ in range(p)]
    dist.all_gather(widths, torch.tensor([width]))
    first = sum(int(one) for one in widths[:rank])
    m = logits.max().clone() if width else torch.tensor(-torch.inf, dtype=logits.dtype)
    dist.all_reduce(m, op=dist.ReduceOp.MAX)
    shifted = logits - m
    hit = torch.arange(first, first + width) == targets[:, None]
    both = torch.stack([shifted.exp().sum(1), torch.where(hit, shifted, 0.0).sum(1)])
    dist.all_reduce(both)
    gradient = shifted.exp() / both[0][:, None] - hit.double()
    return (both[0].log() - both[1]).mean(), gradient / n
