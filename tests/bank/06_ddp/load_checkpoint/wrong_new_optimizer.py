# verdict: wrong, diagnosis: optimizer_not_loaded
import torch


def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    ddp.module.load_state_dict(checkpoint["model"])
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]
