# verdict: wrong, diagnosis: forgot_wait
import torch.distributed as dist


def row_linear(x, weight, bias):
    y = x @ weight.T
    dist.all_reduce(y, async_op=True)
    return y if bias is None else y + bias
