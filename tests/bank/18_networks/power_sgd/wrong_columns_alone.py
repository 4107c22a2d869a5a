# verdict: wrong, diagnosis: columns_alone
import torch.distributed as dist


def power_sgd(gradient, q, error):
    full = gradient + error
    P = full @ q
    dist.all_reduce(P, op=dist.ReduceOp.AVG)
    P /= P.norm(dim=0)
    new = full.T @ P
    dist.all_reduce(new, op=dist.ReduceOp.AVG)
    q.copy_(new)
    out = P @ new.T
    error.copy_(full - out)
    return out
