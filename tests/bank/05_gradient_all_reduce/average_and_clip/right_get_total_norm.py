# verdict: passed
# differs: The norm of the norms of all gradients, then one factor for all of them: what `clip_grad_norm_` does inside.
import torch
import torch.distributed as dist


def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
    total = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(p.grad) for p in ps]))
    factor = (max_norm / total).clamp(max=1.0) if total > 0 else 1.0
    torch._foreach_mul_([p.grad for p in ps], factor)
    return total
