# verdict: passed
import torch
import torch.distributed as dist


def top_k_mean(gradient, error, k):
    r, p = dist.get_rank(), dist.get_world_size()
    total = gradient + error
    own = total.abs().topk(k).indices
    package = torch.stack([own.to(torch.float64), total[own]])
    mean = torch.zeros_like(total)
    got = [torch.empty_like(package) for _ in range(p)]
    got[r] = package
    requests = [dist.irecv(got[q], q) for q in range(p) if q != r]
    requests += [dist.isend(package, q) for q in range(p) if q != r]
    for request in requests:
        request.wait()
    for one in got:
        mean.scatter_add_(0, one[0].long(), one[1])
    total[own] = 0
    error[:] = total
    return mean.div_(p)
