# verdict: wrong, diagnosis: unequal_weights
import torch
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            everybody = [torch.empty_like(p.grad) for _ in range(dist.get_world_size())]
            dist.all_gather(everybody, p.grad)
            mean = everybody[0]
            for grad in everybody[1:]:
                mean = (mean + grad) / 2
            p.grad = mean
