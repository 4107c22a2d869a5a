# verdict: passed
# differs: The library's check counts for the rank, and the sum over the ranks is above 0 when anybody has found one.
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    found = torch.zeros(1)
    if grads:
        copies = [g.clone() for g in grads]
        torch._amp_foreach_non_finite_check_and_unscale_(copies, found, torch.ones(1))
    dist.all_reduce(found)
    return found.item() > 0
