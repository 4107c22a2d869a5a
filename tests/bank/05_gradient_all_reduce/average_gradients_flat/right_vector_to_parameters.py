# verdict: passed
# differs: A helper of torch puts the pieces of the bucket back, in place of counting offsets.
import torch
import torch.distributed as dist


from torch.nn.utils import vector_to_parameters


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        p.grad = torch.zeros(p.shape, dtype=p.dtype) if p.grad is None else p.grad.contiguous()
    flat = torch.cat([p.grad.view(-1) for p in trained]) / dist.get_world_size()
    dist.all_reduce(flat)
    vector_to_parameters(flat, [p.grad for p in trained])
