# verdict: passed
import torch
import torch.distributed as dist


def broadcast_parameters(model):
    tensors = list(model.parameters()) + list(model.buffers())
    with torch.no_grad():
        flat = torch.cat([t.detach().double().flatten() for t in tensors])
        dist.broadcast(flat, src=0)
        for t, piece in zip(tensors, flat.split([t.numel() for t in tensors])):
            t.copy_(piece.reshape(t.shape))
