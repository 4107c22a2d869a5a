# verdict: wrong, diagnosis: one_ranks_accuracy
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    own = [is_correct(i) for i in strided_share(n, dist.get_rank(), dist.get_world_size())]
    return sum(own) / len(own) if own else 0.0
