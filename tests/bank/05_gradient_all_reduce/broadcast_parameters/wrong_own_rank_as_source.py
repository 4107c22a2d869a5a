# verdict: hung, diagnosis: mismatched_collective
import torch.distributed as dist


def broadcast_parameters(model):
    for t in model.state_dict().values():
        dist.broadcast(t, src=dist.get_rank())
