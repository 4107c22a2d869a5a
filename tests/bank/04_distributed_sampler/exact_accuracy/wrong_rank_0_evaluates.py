# verdict: wrong, diagnosis: rank_0_evaluates_everything
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    accuracy = torch.zeros(1)
    if dist.get_rank() == 0:
        accuracy += sum(is_correct(i) for i in range(n)) / n
    dist.broadcast(accuracy, src=0)
    return accuracy.item()
