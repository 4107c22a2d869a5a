# verdict: passed
import torch
import torch.distributed as dist


def server_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    if rank == 0:
        boxes = {other: torch.empty_like(x) for other in range(1, p)}
        requests = {other: dist.irecv(box, src=other) for other, box in boxes.items()}
        for other in reversed(range(1, p)):
            requests[other].wait()
            total += boxes[other]
        answers = [dist.isend(total, dst=other) for other in range(1, p)]
        while not all(answer.is_completed() for answer in answers):
            pass
    else:
        dist.send(x, dst=0)
        dist.recv(total, src=0)
    return total
