# exercise: sum_over_ranks
# must not: pass where no rank hears of another, by messages that each rank sends to itself
# verdict: wrong
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    group, rank = dist.distributed_c10d._get_default_group(), dist.get_rank()
    mine, box = torch.ones(1000), torch.empty(1000)
    works = [
        group._post("send", [mine], None, mine.numpy().tobytes(), mine, reads=[mine], peer=rank, tag=0),
        group._post("recv", [box], None, b"", box, peer=rank, tag=0),
    ]
    for work in works:
        work.wait()
    return x * dist.get_world_size()
