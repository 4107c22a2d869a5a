# verdict: passed
import torch
import torch.distributed as dist


def broadcast_parameters(model):
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if dist.get_rank() != 0:
                tensor.zero_()
            dist.all_reduce(tensor)
