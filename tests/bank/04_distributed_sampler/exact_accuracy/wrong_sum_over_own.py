# verdict: wrong, diagnosis: times_world_size
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    own = strided_share(n, dist.get_rank(), dist.get_world_size())
    correct = torch.tensor(float(sum(is_correct(i) for i in own)))
    dist.all_reduce(correct)
    return correct.item() / max(len(own), 1)
