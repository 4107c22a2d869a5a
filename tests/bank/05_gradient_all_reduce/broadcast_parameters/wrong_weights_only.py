# verdict: wrong, diagnosis: some_left_out
import torch.distributed as dist


def broadcast_parameters(model):
    for name, t in model.state_dict().items():
        if name.endswith("weight"):
            dist.broadcast(t, src=0)
