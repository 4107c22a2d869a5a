# verdict: wrong, diagnosis: weights_not_loaded
import copy

import torch


def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    model = copy.deepcopy(ddp.module)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]
