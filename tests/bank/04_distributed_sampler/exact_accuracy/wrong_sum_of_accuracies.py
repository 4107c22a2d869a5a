# verdict: wrong, diagnosis: times_world_size
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    own = strided_share(n, dist.get_rank(), dist.get_world_size())
    accuracy = torch.tensor(sum(is_correct(i) for i in own) / max(len(own), 1))
    dist.all_reduce(accuracy)
    return accuracy.item()
