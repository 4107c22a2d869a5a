# verdict: wrong, diagnosis: wrong_type
import torch


def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    ddp.module.load_state_dict(ck["model"])
    optimizer.load_state_dict(ck["optimizer"])
    return str(ck["epoch"])
