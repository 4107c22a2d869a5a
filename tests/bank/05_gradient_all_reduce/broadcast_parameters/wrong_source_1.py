# verdict: wrong, diagnosis: wrong_source
import torch.distributed as dist


def broadcast_parameters(model):
    for t in model.state_dict().values():
        dist.broadcast(t, src=1)
