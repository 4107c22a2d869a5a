# verdict: wrong, diagnosis: other_memory
import torch.distributed as dist


def broadcast_parameters(model):
    for t in [*model.parameters(), *model.buffers()]:
        received = t.data.clone()
        dist.broadcast(received, 0)
        t.data = received
