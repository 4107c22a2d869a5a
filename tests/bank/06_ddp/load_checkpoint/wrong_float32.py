# verdict: wrong, diagnosis: low_precision
import torch


def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    ddp.module.load_state_dict({k: v.float() for k, v in ck["model"].items()})
    optimizer.load_state_dict(ck["optimizer"])
    return ck["epoch"]
