# verdict: wrong, diagnosis: one_step_late
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    for k in range(steps):
        flag = torch.tensor(int(told()))
        work = dist.all_reduce(flag, op=dist.ReduceOp.MAX, async_op=True)
        step()
        work.wait()
        if flag:
            return k + 1
    return steps
