# verdict: wrong, diagnosis: nothing_loaded
import torch


def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    ddp.load_state_dict(checkpoint["model"], strict=False)
    return checkpoint["epoch"]
