# verdict: raised, diagnosis: NamesDiffer
import torch


def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    ddp.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]
