# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist
import torch.nn.functional as F


def vocab_cross_entropy(logits, targets):
    p, r, n = dist.get_world_size(), dist.get_rank(), len(targets)
    widths = [torch.zeros(1, dtype=torch.int64) for _ in range(p)]
    dist.all_gather(widths, torch.tensor([logits.shape[1]]))
    widths = [int(w) for w in widths]
    mine = F.pad(logits, (0, max(widths) - logits.shape[1]))
    parts = [torch.empty_like(mine) for _ in range(p)]
    dist.all_gather(parts, mine)
    whole = torch.cat([part[:, :w] for part, w in zip(parts, widths)], 1).requires_grad_()
    loss = F.cross_entropy(whole, targets)
    loss.backward()
    return loss.detach(), whole.grad.split(widths, 1)[r]
