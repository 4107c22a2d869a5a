# verdict: passed
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.zeros(sum(p.numel() for p in trained), dtype=trained[0].dtype)
    views = [v.view(p.shape) for v, p in zip(flat.split([p.numel() for p in trained]), trained)]
    for v, p in zip(views, trained):
        if p.grad is not None:
            v.copy_(p.grad)
    work = dist.all_reduce(flat, async_op=True)
    work.wait()
    flat.div_(dist.get_world_size())
    for v, p in zip(views, trained):
        p.grad = v
