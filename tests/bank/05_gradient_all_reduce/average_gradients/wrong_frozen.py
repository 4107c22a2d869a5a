# verdict: raised, diagnosis: AttributeError
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        p.grad.div_(dist.get_world_size())
        dist.all_reduce(p.grad)
