# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    own = strided_share(n, dist.get_rank(), dist.get_world_size())
    correct = torch.tensor(float(sum(is_correct(i) for i in own)))
    if dist.get_rank() == 0:
        dist.all_reduce(correct)
    return correct.item() / n
