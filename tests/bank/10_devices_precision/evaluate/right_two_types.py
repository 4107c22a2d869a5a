# verdict: passed
# differs: Counts travel as integers and the loss as a float: no count is ever rounded, at the price of a second call.
import torch
import torch.distributed as dist


def evaluate(correct, loss_sum, count, root):
    counts, loss = torch.tensor([correct, count]), torch.tensor([loss_sum], dtype=torch.double)
    for sums in (counts, loss):
        if root is None:
            dist.all_reduce(sums)
        else:
            dist.reduce(sums, root)
    if root is not None and root != dist.get_rank():
        return None
    return (counts[0] / counts[1].double()).item(), (loss[0] / counts[1]).item()
