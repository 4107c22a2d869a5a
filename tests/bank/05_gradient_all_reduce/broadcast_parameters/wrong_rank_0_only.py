# verdict: hung, diagnosis: missing_rank
import torch.distributed as dist


def broadcast_parameters(model):
    if dist.get_rank() == 0:
        for t in model.state_dict().values():
            dist.broadcast(t, src=0)
