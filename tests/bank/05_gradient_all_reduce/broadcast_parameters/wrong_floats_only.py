# verdict: wrong, diagnosis: some_left_out
import torch.distributed as dist


def broadcast_parameters(model):
    for t in model.state_dict().values():
        if t.is_floating_point() and t.dim() > 0:
            dist.broadcast(t, src=0)
