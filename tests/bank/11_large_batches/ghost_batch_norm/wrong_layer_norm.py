# verdict: wrong, diagnosis: across_channels
import torch


def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError
    return torch.nn.functional.layer_norm(x, x.shape[1:], eps=eps)
