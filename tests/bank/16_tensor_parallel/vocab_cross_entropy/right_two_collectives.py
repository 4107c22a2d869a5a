# verdict: passed
# differs: The sums and the target's logit travel together, so that only the maximum needs a call of its own.
import torch
import torch.distributed as dist


def vocab_cross_entropy(logits, targets):
    r, n = dist.get_rank(), len(targets)
    lengths = torch.zeros(dist.get_world_size(), dtype=torch.float64)
    lengths[r] = logits.size(1)
    dist.all_reduce(lengths)
    before = int(lengths[:r].sum())
    largest = torch.cat([logits, torch.full((n, 1), -1e308, dtype=torch.float64)], 1).amax(1)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    scaled = logits - largest.unsqueeze(1)
    one_hot = torch.zeros_like(logits)
    for i, y in enumerate((targets - before).tolist()):
        if 0 <= y < logits.size(1):
            one_hot[i, y] = 1
    sums = torch.stack([scaled.exp().sum(1), (scaled * one_hot).sum(1)])
    dist.all_reduce(sums)
    loss = sums[0].log().mean() - sums[1].mean()
    return loss.item(), (scaled.exp() / sums[0].unsqueeze(1) - one_hot) / n
