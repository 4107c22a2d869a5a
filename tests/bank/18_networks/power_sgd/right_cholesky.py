# verdict: passed
# differs: The columns are made orthonormal by a Cholesky factor of the small product, in place of a QR.
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    full = torch.add(gradient, error)
    P = full @ q
    dist.all_reduce(P)
    L = torch.linalg.cholesky(P.T @ P)
    P = torch.linalg.solve_triangular(L, P.T, upper=False).T
    new = (P.T @ full).T.contiguous()
    dist.all_reduce(new)
    q.copy_(new / dist.get_world_size())
    out = P @ q.T
    torch.sub(full, out, out=error)
    return out
