# verdict: passed
from torch import nn


def average_and_clip(model: nn.Module, max_norm: float) -> float:
    average_gradients(model)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()
