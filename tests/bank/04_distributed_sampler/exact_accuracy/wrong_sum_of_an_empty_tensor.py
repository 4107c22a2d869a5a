# verdict: hung, diagnosis: mismatched_dtype
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    own = strided_share(n, dist.get_rank(), dist.get_world_size())
    correct = torch.tensor([is_correct(i) for i in own]).sum()
    dist.all_reduce(correct)
    return correct.item() / n
