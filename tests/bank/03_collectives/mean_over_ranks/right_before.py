# verdict: passed
# differs: Each rank divides first and the shares are added: nothing can overflow in the sum, and the last bit may differ.
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    share = x / dist.get_world_size()
    dist.all_reduce(share, op=dist.ReduceOp.SUM)
    return share
