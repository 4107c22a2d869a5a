# verdict: passed
import torch
import torch.distributed as dist


def average_gradients(model):
    p = dist.get_world_size()
    for parameter in model.parameters():
        if parameter.requires_grad:
            mine = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            everybody = [torch.empty_like(mine) for _ in range(p)]
            dist.all_gather(everybody, mine)
            parameter.grad = torch.stack(everybody).mean(dim=0)
