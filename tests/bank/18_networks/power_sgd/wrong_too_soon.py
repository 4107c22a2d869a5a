# verdict: wrong, diagnosis: orthonormal_too_soon
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    full = gradient + error
    P, _ = torch.linalg.qr(full @ q)
    dist.all_reduce(P, op=dist.ReduceOp.AVG)
    new = full.T @ P
    dist.all_reduce(new, op=dist.ReduceOp.AVG)
    q.copy_(new)
    out = P @ new.T
    error.copy_(full - out)
    return out
