# verdict: wrong, diagnosis: wrong_norm
import torch


def average_and_clip(model, max_norm):
    own = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in own]))
    average_gradients(model)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return norm.item()
