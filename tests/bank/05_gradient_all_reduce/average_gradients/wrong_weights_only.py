# verdict: wrong, diagnosis: some_left_out
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.dim() > 1:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
