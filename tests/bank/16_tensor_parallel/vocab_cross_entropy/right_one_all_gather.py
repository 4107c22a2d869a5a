# verdict: passed
import torch
import torch.distributed as dist


def vocab_cross_entropy(logits, targets):
    """What each rank knows of each token, three numbers, and its width: gathered once, combined everywhere."""
    p, r, n = dist.get_world_size(), dist.get_rank(), len(targets)
    width = torch.tensor([logits.shape[1]])
    widths = [torch.empty_like(width) for _ in range(p)]
    dist.all_gather(widths, width)
    lo = int(sum(widths[:r], torch.zeros(1)))
    y = targets - lo
    here = (y >= 0) & (y < logits.shape[1])
    own_sum, own_top = torch.zeros(n, dtype=logits.dtype), torch.full((n,), -1e300, dtype=logits.dtype)
    own_target = torch.zeros_like(own_sum)
    if logits.shape[1]:
        own_top = logits.amax(1)
        own_sum = (logits - own_top[:, None]).exp().sum(1)
        own_target = torch.where(here, logits.gather(1, y.clamp(0, logits.shape[1] - 1)[:, None])[:, 0], own_target)
    parts = [torch.empty(3, n, dtype=logits.dtype) for _ in range(p)]
    dist.all_gather(parts, torch.stack([own_top, own_sum, own_target]))
    parts = torch.stack(parts)
    log_sum = (parts[:, 0] + parts[:, 1].log()).logsumexp(0)
    loss = (log_sum - parts[:, 2].sum(0)).mean()
    hits = (torch.arange(logits.shape[1]) == y[:, None]).to(logits.dtype)
    return loss, ((logits - log_sum[:, None]).exp() - hits) / n
