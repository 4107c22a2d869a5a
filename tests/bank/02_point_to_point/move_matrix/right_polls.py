# verdict: passed
# differs: It asks again and again whether the request is done in place of sleeping in `wait`: a rank could do something useful in between.
import torch
import torch.distributed as dist


def finish(request):
    while not request.is_completed():
        pass
    request.wait()


def move_matrix(value, source, destination):
    rank = dist.get_rank()
    if rank == source:
        full = torch.ones(3, 4) * value
        finish(dist.isend(full, destination))
        return full.zero_()
    empty = torch.zeros(3, 4)
    if rank == destination:
        finish(dist.irecv(empty))
    return empty
