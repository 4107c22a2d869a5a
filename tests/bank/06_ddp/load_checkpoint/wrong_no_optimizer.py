# verdict: wrong, diagnosis: optimizer_not_loaded
import torch


def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    ddp.module.load_state_dict(checkpoint["model"])
    return checkpoint["epoch"]
