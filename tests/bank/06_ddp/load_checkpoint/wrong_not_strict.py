# verdict: wrong, diagnosis: weights_not_loaded
import torch


def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    ddp.load_state_dict(checkpoint["model"], strict=False)
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]
