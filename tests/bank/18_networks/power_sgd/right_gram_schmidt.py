# verdict: passed
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    error += gradient
    left = torch.mm(error, q)
    dist.all_reduce(left, op=dist.ReduceOp.AVG)
    for i in range(left.shape[1]):
        for j in range(i):
            left[:, i] -= (left[:, j] @ left[:, i]) * left[:, j]
        left[:, i] /= left[:, i].norm()
    new = torch.mm(error.t(), left)
    dist.all_reduce(new, op=dist.ReduceOp.AVG)
    q[:] = new
    approximation = torch.mm(left, new.t())
    error -= approximation
    return approximation
