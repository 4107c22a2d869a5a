# verdict: passed
# differs: A row for each rank and a call that returns at once; the padding is cut off at the end.
import torch.distributed as dist


def unshard(part, n):
    whole = part.new_zeros(dist.get_world_size(), len(part))
    work = dist.all_gather_single(whole, part, async_op=True)
    work.wait()
    return whole.flatten()[:n]
