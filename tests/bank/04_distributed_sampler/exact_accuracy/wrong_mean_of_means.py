# verdict: wrong, diagnosis: mean_of_means
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    own = [float(is_correct(i)) for i in range(dist.get_rank(), n, dist.get_world_size())]
    mean = torch.tensor(sum(own) / max(len(own), 1))
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()
