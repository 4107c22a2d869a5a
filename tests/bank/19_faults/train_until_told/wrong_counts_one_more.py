# verdict: wrong, diagnosis: wrong_count
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for k in range(steps):
        flag = torch.tensor(int(told()))
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        if flag:
            return k + 1
        step()
    return steps
