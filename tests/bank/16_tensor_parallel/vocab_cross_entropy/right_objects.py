# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F


def vocab_cross_entropy(logits, targets):
    p, r = dist.get_world_size(), dist.get_rank()
    widths = [None] * p
    dist.all_gather_object(widths, logits.shape[1])
    lo, n = sum(widths[:r]), len(targets)
    own = F.pad(logits, (0, 1), value=-torch.inf).amax(1)
    dist.all_reduce(own, op=dist.ReduceOp.MAX)
    z = logits - own[:, None]
    hit = (torch.arange(lo, lo + widths[r]) == targets[:, None]).double()
    s, t = z.exp().sum(1), (z * hit).sum(1)
    both = torch.cat([s, t])
    dist.all_reduce(both)
    s, t = both.split(n)
    return (s.log() - t).mean(), (z.exp() / s[:, None] - hit) / n
