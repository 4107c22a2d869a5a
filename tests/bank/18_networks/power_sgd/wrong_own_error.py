# verdict: wrong, diagnosis: error_of_own_factor
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    full = gradient + error
    P = full @ q
    dist.all_reduce(P, op=dist.ReduceOp.AVG)
    P, _ = torch.linalg.qr(P)
    new = full.T @ P
    error.copy_(full - P @ new.T)
    dist.all_reduce(new, op=dist.ReduceOp.AVG)
    q.copy_(new)
    return P @ new.T
