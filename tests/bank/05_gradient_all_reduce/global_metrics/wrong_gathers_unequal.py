# verdict: hung, diagnosis: mismatched_shape
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    everybody = [torch.empty_like(losses) for _ in range(dist.get_world_size())]
    dist.all_gather(everybody, losses)
    hits = [torch.empty_like(correct) for _ in range(dist.get_world_size())]
    dist.all_gather(hits, correct)
    return torch.cat(everybody).mean().item(), torch.cat(hits).float().mean().item()
