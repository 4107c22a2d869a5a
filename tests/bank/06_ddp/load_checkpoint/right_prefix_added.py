# verdict: passed
import torch


def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    ddp.load_state_dict({f"module.{name}": value for name, value in checkpoint["model"].items()})
    optimizer.load_state_dict(checkpoint["optimizer"])
    return int(checkpoint["epoch"])
