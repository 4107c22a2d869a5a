# verdict: wrong, diagnosis: passing_buffers_forgotten
import torch.distributed as dist


def broadcast_parameters(model):
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, 0)
