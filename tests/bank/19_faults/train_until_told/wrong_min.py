# verdict: wrong, diagnosis: waits_for_all_signals
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for k in range(steps):
        flag = torch.tensor(int(told()))
        dist.all_reduce(flag, op=dist.ReduceOp.MIN)
        if flag:
            return k
        step()
    return steps
