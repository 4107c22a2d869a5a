# verdict: wrong, diagnosis: one_step_late
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for done in range(steps):
        if done == steps - 1 and done:
            step()
            return steps
        flag = torch.tensor([int(told())])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        if flag.item():
            return done
        step()
    return steps
