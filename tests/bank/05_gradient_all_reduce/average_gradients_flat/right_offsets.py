# verdict: passed
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    n = sum(p.numel() for p in trained)
    bucket = torch.zeros(n, dtype=trained[0].dtype)
    offset = 0
    for p in trained:
        if p.grad is not None:
            bucket[offset : offset + p.numel()] = p.grad.reshape(-1)
        offset += p.numel()
    dist.all_reduce(bucket, op=dist.ReduceOp.AVG)
    offset = 0
    for p in trained:
        p.grad = bucket[offset : offset + p.numel()].view(p.shape)
        offset += p.numel()
