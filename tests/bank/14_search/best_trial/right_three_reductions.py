# verdict: passed
import math

import torch
import torch.distributed as dist


def best_trial(numbers, validation, test):
    validation = validation.nan_to_num(nan=math.inf)
    least = min(validation.tolist(), default=math.inf)
    loss = torch.tensor(least, dtype=torch.float64)
    dist.all_reduce(loss, op=dist.ReduceOp.MIN)
    if loss == math.inf:
        raise ValueError
    candidates = numbers[validation == loss]
    number = torch.tensor(min(candidates.tolist(), default=1 << 60))
    dist.all_reduce(number, op=dist.ReduceOp.MIN)
    error = test[numbers == number].sum()
    dist.all_reduce(error)
    return number.item(), error.item()
