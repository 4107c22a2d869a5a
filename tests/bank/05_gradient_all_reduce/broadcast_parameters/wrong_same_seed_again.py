# verdict: wrong, diagnosis: another_start
import torch
from torch import nn


def broadcast_parameters(model):
    torch.manual_seed(0)
    for p in model.parameters():
        nn.init.normal_(p.data)
