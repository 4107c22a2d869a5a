# verdict: wrong, diagnosis: summed
import torch.distributed as dist


def broadcast_parameters(model):
    for t in model.state_dict().values():
        dist.all_reduce(t)
