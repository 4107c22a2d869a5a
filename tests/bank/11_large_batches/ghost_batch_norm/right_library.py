# verdict: passed
import torch


def ghost_batch_norm(x, ghost, eps):
    if ghost <= 0 or len(x) % ghost != 0:
        raise ValueError("ghost must divide the rows")
    if ghost == 1:
        return torch.zeros_like(x)
    return torch.cat(
        [torch.nn.functional.batch_norm(part, None, None, training=True, eps=eps) for part in x.split(ghost)]
    )
