# verdict: wrong, diagnosis: another_start
import torch
import torch.distributed as dist


def broadcast_parameters(model):
    for t in [*model.parameters(), *model.buffers()]:
        if dist.get_rank() != 0:
            t.data.zero_()
        dist.all_reduce(t.data, op=dist.ReduceOp.AVG if t.is_floating_point() else dist.ReduceOp.SUM)
