# verdict: wrong, diagnosis: forgot_wait
import torch.distributed as dist


def unshard(part, n):
    whole = part.new_zeros(len(part) * dist.get_world_size())
    dist.all_gather_single(whole, part, async_op=True)
    dist.barrier()
    return whole[:n].clone()
