# verdict: passed
# differs: Rank 0 sends every tensor to every rank: right, and the broadcast of the library does it in fewer steps.
import torch.distributed as dist


def broadcast_parameters(model):
    for tensor in [*model.parameters(), *model.buffers()]:
        if dist.get_rank() == 0:
            for worker in range(1, dist.get_world_size()):
                dist.send(tensor, dst=worker)
        else:
            dist.recv(tensor, src=0)
