# verdict: passed
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    groups = {}
    for p in model.parameters():
        if p.requires_grad:
            groups.setdefault(p.dtype, []).append(p)
    for dtype, group in groups.items():
        grads = [p.grad if p.grad is not None else p.new_zeros(p.shape) for p in group]
        flat = torch._utils._flatten_dense_tensors(grads)
        dist.all_reduce(flat, async_op=True).wait()
        flat.div_(dist.get_world_size())
        for p, synced in zip(group, torch._utils._unflatten_dense_tensors(flat, grads)):
            p.grad = synced
