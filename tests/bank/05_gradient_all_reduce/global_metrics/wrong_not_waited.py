# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.stack([losses.double().sum(), correct.double().sum(), torch.tensor(float(len(losses))).double()])
    dist.all_reduce(sums, async_op=True)
    loss, right, count = sums.tolist()
    return loss / count, right / count
