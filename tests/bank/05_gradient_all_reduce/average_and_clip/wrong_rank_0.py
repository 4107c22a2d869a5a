# verdict: hung, diagnosis: missing_rank
import torch.distributed as dist


def average_and_clip(model, max_norm):
    if dist.get_rank() == 0:
        average_gradients(model)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()
