# verdict: wrong, diagnosis: other_memory
import torch.distributed as dist


def broadcast_parameters(model):
    for p in model.parameters():
        dist.broadcast(p.data, 0)
    for module in model.modules():
        for name, b in list(module._buffers.items()):
            new = b.clone()
            dist.broadcast(new, 0)
            setattr(module, name, new)
