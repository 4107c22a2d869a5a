# verdict: wrong, diagnosis: percent
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    correct = torch.tensor(float(sum(is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size()))))
    dist.all_reduce(correct)
    return 100 * correct.item() / n
