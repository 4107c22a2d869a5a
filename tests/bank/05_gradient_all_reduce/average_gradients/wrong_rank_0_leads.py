# verdict: hung, diagnosis: missing_rank
import torch.distributed as dist


def average_gradients(model):
    if dist.get_rank() == 0:
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
