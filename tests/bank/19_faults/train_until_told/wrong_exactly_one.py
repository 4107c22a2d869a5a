# verdict: wrong, diagnosis: exactly_one
import torch
import torch.distributed as dist
def train_until_told(step, told, steps):
    taken = 0
    while taken < steps:
        flag = torch.tensor([int(told())], dtype=torch.int64)
        dist.all_reduce(flag, op=dist.ReduceOp.SUM)
        if flag.item() == 1:
            break
        step()
        taken += 1
    return taken
