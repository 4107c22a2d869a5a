# verdict: wrong, diagnosis: weights_changed
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            p.data -= 0.1 * p.grad
