# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for done in range(steps):
        flag = torch.tensor([float(told())])
        dist.all_reduce(flag, dist.ReduceOp.MAX)
        if flag.item() or told():
            return done
        step()
    return steps
