# verdict: wrong, diagnosis: divided_twice
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            p.grad.div_(dist.get_world_size())
