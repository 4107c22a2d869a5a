# verdict: passed
# differs: All all-reduces are started before the first is waited for, so their latencies overlap; the division comes before the sum.
import torch
import torch.distributed as dist


def average_gradients(model):
    works = []
    for p in filter(lambda p: p.requires_grad, model.parameters()):
        if p.grad is None:
            p.grad = torch.zeros(p.shape, dtype=p.dtype)
        p.grad.data.div_(dist.get_world_size())
        works.append(dist.all_reduce(p.grad.data, async_op=True))
    for work in works:
        work.wait()
