# verdict: passed
# differs: `GradScaler` and `clip_grad_norm_` in the order that the page asks for: unscale, clip, step.
import torch


def scaled_step(weights, loss_of, scale, lr, max_norm):
    master = weights.clone().requires_grad_()
    optimizer = torch.optim.SGD([master], lr=lr)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    scaler.scale(loss_of(master.half())).backward()
    scaler.unscale_(optimizer)
    skipped = not bool(master.grad.isfinite().all())
    if not skipped:
        torch.nn.utils.clip_grad_norm_([master], max_norm)
    scaler.step(optimizer)
    return master.detach(), skipped
