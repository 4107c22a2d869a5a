# verdict: wrong, diagnosis: momentum_not_loaded
import torch


def load_checkpoint(path, ddp, optimizer):
    state = torch.load(path)
    ddp.module.load_state_dict(state["model"])
    optimizer.load_state_dict({"state": {}, "param_groups": state["optimizer"]["param_groups"]})
    return state["epoch"]
