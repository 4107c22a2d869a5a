# verdict: wrong, diagnosis: asks_one_rank
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for k in range(steps):
        flag = torch.tensor(int(told()))
        dist.broadcast(flag, 0)
        if flag:
            return k
        step()
    return steps
