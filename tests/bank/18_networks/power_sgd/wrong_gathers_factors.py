# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    p = dist.get_world_size()

    def mean_of(x):
        parts = [torch.empty_like(x) for _ in range(p)]
        dist.all_gather(parts, x.contiguous())
        return sum(parts) / p

    full = gradient + error
    left, _ = torch.linalg.qr(mean_of(full @ q))
    q.copy_(mean_of(full.T @ left))
    error.copy_(full - left @ q.T)
    return left @ q.T
