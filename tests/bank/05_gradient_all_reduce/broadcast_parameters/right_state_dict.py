# verdict: passed
import torch.distributed as dist


def broadcast_parameters(model):
    for name, tensor in model.state_dict().items():
        dist.broadcast(tensor, 0)
    return model
