# verdict: raised, diagnosis: RuntimeError
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([p.grad.view(-1) for p in trained])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape)
