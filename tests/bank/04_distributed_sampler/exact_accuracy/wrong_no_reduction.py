# verdict: wrong, diagnosis: local_over_n
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    return sum(is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size())) / n
