# verdict: passed
import torch


def load_checkpoint(path, ddp, optimizer):
    with open(path, "rb") as f:
        ck = torch.load(f, weights_only=True, map_location="cpu")
    ddp.load_state_dict({f"module.{k}": v for k, v in ck["model"].items()})
    optimizer.load_state_dict(ck["optimizer"])
    return torch.tensor(ck["epoch"])
