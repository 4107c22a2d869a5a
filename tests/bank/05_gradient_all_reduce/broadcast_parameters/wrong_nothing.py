# verdict: wrong, diagnosis: no_communication
from torch import nn


def broadcast_parameters(model: nn.Module) -> None:
    return model
