# verdict: wrong, diagnosis: forgot_wait
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, async_op=True)
            p.grad /= dist.get_world_size()
