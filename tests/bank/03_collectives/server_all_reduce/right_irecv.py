# verdict: passed
# differs: Rank 0 posts all receives at once and takes the messages as they come, in place of one rank after the other.
import torch
import torch.distributed as dist


def server_all_reduce(x):
    p = dist.get_world_size()
    others = list(range(1, p))
    if dist.get_rank() == 0:
        inbox = [torch.empty_like(x) for _ in others]
        requests = [dist.irecv(box, src=r) for r, box in zip(others, inbox)]
        [request.wait() for request in requests]
        out = torch.stack([x, *inbox]).sum(0).to(x.dtype)
        requests = [dist.isend(out, dst=r) for r in others]
        [request.wait() for request in requests]
        return out
    out = torch.empty_like(x)
    request = dist.irecv(out, src=0)
    dist.isend(x, dst=0).wait()
    request.wait()
    return out
