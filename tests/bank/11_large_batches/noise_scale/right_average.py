# verdict: passed
# differs: The square norm travels in front of the gradient, and the library takes the mean: two lines less to get wrong.
import torch
import torch.distributed as dist


def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p < 2:
        raise ValueError("at least two ranks")
    sent = torch.empty(len(gradient) + 1, dtype=gradient.dtype)
    sent[0] = gradient @ gradient
    sent[1:] = gradient
    dist.all_reduce(sent, op=dist.ReduceOp.AVG)
    small, mean = sent[0], sent[1:]
    big = mean @ mean
    signal = (p * big - small) / (p - 1)
    return mean, (small - big) * p * b / (p - 1) / signal
