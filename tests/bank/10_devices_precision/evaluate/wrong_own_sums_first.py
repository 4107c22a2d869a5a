# verdict: wrong, diagnosis: ranks_disagree
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    rank, p = dist.get_rank(), dist.get_world_size()
    if root is None:
        parts = [torch.empty_like(sums) for _ in range(p)]
        dist.all_gather(parts, sums)
        sums = sum([parts[q] for q in range(p) if q != rank], parts[rank].clone())
    else:
        dist.reduce(sums, root)
        if rank != root:
            return None
    right, loss, n = sums.tolist()
    return right / n, loss / n
