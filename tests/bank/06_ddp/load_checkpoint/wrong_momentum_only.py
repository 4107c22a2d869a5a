# verdict: wrong, diagnosis: learning_rate_not_restored
import torch


def load_checkpoint(path, ddp, optimizer):
    checkpoint = torch.load(path)
    ddp.module.load_state_dict(checkpoint["model"])
    for parameter, state in zip(ddp.parameters(), checkpoint["optimizer"]["state"].values()):
        optimizer.state[parameter]["momentum_buffer"] = state["momentum_buffer"]
    return checkpoint["epoch"]
