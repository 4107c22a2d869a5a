# verdict: raised, diagnosis: ZeroDivisionError
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    own = [is_correct(i) for i in range(dist.get_rank(), n, dist.get_world_size())]
    own_accuracy = sum(own) / len(own)
    total = torch.tensor([own_accuracy * len(own)], dtype=torch.float64)
    dist.all_reduce(total)
    return total.item() / n
