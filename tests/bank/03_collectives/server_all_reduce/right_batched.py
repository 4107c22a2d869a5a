# verdict: passed
import torch
import torch.distributed as dist


def worker(x):
    result = torch.empty_like(x)
    operations = [dist.P2POp(dist.isend, x, 0), dist.P2POp(dist.irecv, result, 0)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return result


def server(x):
    boxes = [torch.empty_like(x) for _ in range(dist.get_world_size() - 1)]
    for sender, box in enumerate(boxes, start=1):
        dist.recv(box, src=sender, tag=0)
    result = sum(boxes, start=x)
    for receiver in range(1, dist.get_world_size()):
        dist.send(result, dst=receiver)
    return result


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    return server(x) if dist.get_rank() == 0 else worker(x)
