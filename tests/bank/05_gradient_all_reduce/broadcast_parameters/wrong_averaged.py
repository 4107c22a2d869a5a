# verdict: wrong, diagnosis: averaged
import torch.distributed as dist


def broadcast_parameters(model):
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= dist.get_world_size()
