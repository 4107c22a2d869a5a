# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.stack([losses.double().sum(), correct.double().sum(), torch.tensor(float(len(losses))).double()])
    work = dist.all_reduce(sums, async_op=True)
    loss, right, count = sums.tolist()
    work.wait()
    return loss / count, right / count
