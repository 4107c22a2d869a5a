# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    flat = torch.cat([p.grad.flatten() for p in trained]) / dist.get_world_size()
    work = dist.all_reduce(flat, async_op=True)
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad.copy_(piece.view_as(p))
    work.wait()
