# verdict: passed
import torch
import torch.distributed as dist


def uneven_loss(outputs, labels):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, len(labels))
    logp = torch.log_softmax(outputs, 1)
    return -logp[torch.arange(len(labels)), labels].sum() / (sum(counts) / len(counts))
