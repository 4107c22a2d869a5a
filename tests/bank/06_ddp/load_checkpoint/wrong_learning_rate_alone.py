# verdict: wrong, diagnosis: momentum_not_loaded
import torch


def load_checkpoint(path, ddp, optimizer):
    state = torch.load(path)
    ddp.module.load_state_dict(state["model"])
    optimizer.param_groups[0]["lr"] = state["optimizer"]["param_groups"][0]["lr"]
    return state["epoch"]
