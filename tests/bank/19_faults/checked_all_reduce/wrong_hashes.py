# verdict: wrong, diagnosis: compares_after_the_sum
import hashlib

import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    total = x.clone()
    all_reduce(total)
    digest = int(hashlib.sha256(total.numpy().tobytes()).hexdigest()[:15], 16)
    digests = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(digests, torch.tensor([digest]))
    return total, len({int(one) for one in digests}) == 1
