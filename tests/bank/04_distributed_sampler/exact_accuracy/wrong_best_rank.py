# verdict: wrong, diagnosis: maximum
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    own = [float(is_correct(i)) for i in strided_share(n, dist.get_rank(), dist.get_world_size())]
    accuracy = torch.tensor(sum(own) / max(len(own), 1))
    dist.all_reduce(accuracy, op=dist.ReduceOp.MAX)
    return accuracy.item()
