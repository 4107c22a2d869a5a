# verdict: wrong, diagnosis: buffers_not_loaded
import torch


def load_checkpoint(path, ddp, optimizer):
    ck = torch.load(path)
    with torch.no_grad():
        for name, p in ddp.module.named_parameters():
            p.copy_(ck["model"][name])
    optimizer.load_state_dict(ck["optimizer"])
    return ck["epoch"]
