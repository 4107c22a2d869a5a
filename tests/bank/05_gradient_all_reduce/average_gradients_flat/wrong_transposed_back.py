# verdict: wrong, diagnosis: wrong_place
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    flat = torch.cat([p.grad.t().reshape(-1) if p.dim() == 2 else p.grad.reshape(-1) for p in trained])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape)
