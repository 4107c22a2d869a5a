# verdict: wrong, diagnosis: momentum_not_loaded
import torch


def load_checkpoint(path, ddp, optimizer):
    state = torch.load(path)
    ddp.module.load_state_dict(state["model"])
    for mine, saved in zip(optimizer.param_groups, state["optimizer"]["param_groups"]):
        mine.update({key: value for key, value in saved.items() if key != "params"})
    return state["epoch"]
