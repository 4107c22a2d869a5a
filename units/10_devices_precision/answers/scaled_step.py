# Right and wrong answers to `scaled_step`. In files of their own: autograder bank --write DIR
import torch

# %% right_by_hand: passed
def scaled_step(weights, loss_of, scale, lr, max_norm):
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).backward()
    g = half.grad.float() / scale
    if not torch.isfinite(g).all():
        return weights, True
    norm = g.norm()
    if norm > max_norm:
        g = g * (max_norm / norm)
    return weights - lr * g, False

# %% right_library: passed
# differs: `GradScaler` and `clip_grad_norm_` in the order that the page asks for: unscale, clip, step.
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

# %% right_loss_in_half: passed
def scaled_step(weights, loss_of, scale, lr, max_norm):
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).half().backward()
    g = half.grad.float() / scale
    if not torch.isfinite(g).all():
        return weights, True
    norm = g.norm()
    if norm > max_norm:
        g = g * (max_norm / norm)
    return weights - lr * g, False

# %% wrong_clamps: wrong, clamps_entries, levels 1 1 0
def scaled_step(weights, loss_of, scale, lr, max_norm):
    w = weights.half().requires_grad_()
    (loss_of(w) * scale).backward()
    g = w.grad.float() / scale
    if not g.isfinite().all():
        return weights, True
    return weights - lr * g.clamp(-max_norm, max_norm), False

# %% wrong_clips_first (right_by_hand): wrong, clips_before_unscale, levels 1 1 0
-    g = half.grad.float() / scale
+    g = half.grad.float()
@@
-    return weights - lr * g, False
+    return weights - lr * g / scale, False

# %% wrong_dot (right_by_hand): raised, RuntimeError, levels 1 1 0
     (loss_of(half) * scale).backward()
+
@@
-    if not torch.isfinite(g).all():
+    if not g.isfinite().all():
@@
-    norm = g.norm()
+    norm = (g @ g).sqrt()

# %% wrong_finite_by_sum: wrong, overflows_itself, levels 1 0 1
def scaled_step(weights, loss_of, scale, lr, max_norm):
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).backward()
    if not torch.isfinite(half.grad.sum()):
        return weights, True
    gradient = half.grad.float() / scale
    norm = gradient.norm()
    if norm > max_norm:
        gradient *= max_norm / norm
    return weights - lr * gradient, False

# %% wrong_from_copy (right_by_hand): wrong, steps_from_the_copy, levels 0 0 0
-    return weights - lr * g, False
+    return half.detach().float() - lr * g, False

# %% wrong_half_division (right_by_hand): wrong, lost_in_half, levels 0 1 1
-    g = half.grad.float() / scale
+    g = (half.grad / scale).float()

# %% wrong_largest_is_infinite (right_by_hand): wrong, largest_is_infinite, levels 1 0 1
     (loss_of(half) * scale).backward()
+
+    if not bool((half.grad.abs() < torch.finfo(torch.float16).max).all()):
+        return weights, True
@@
-    if not torch.isfinite(g).all():
-        return weights, True

# %% wrong_leaves_grad_in_weights: wrong, leaves_grad_in_weights, levels 0 0 0
def scaled_step(weights, loss_of, scale, lr, max_norm):
    weights.requires_grad_()
    (loss_of(weights.half()) * scale).backward()
    gradient = weights.grad / scale
    with torch.no_grad():
        if not torch.isfinite(gradient).all():
            return weights, True
        gradient *= min(1.0, max_norm / float(gradient.norm() + 1e-30))
        return weights - lr * gradient, False

# %% wrong_lengthens: wrong, lengthens, levels 0 0 0
def scaled_step(weights, loss_of, scale, lr, max_norm):
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).backward()
    gradient = half.grad.float() / scale
    if not torch.isfinite(gradient).all():
        return weights.clone(), True
    gradient = gradient * max_norm / gradient.norm()
    return weights - lr * gradient, False

# %% wrong_misses_nan (right_by_hand): wrong, steps_on_overflow, levels 1 0 1
-    if not torch.isfinite(g).all():
+    if torch.isinf(g).any():

# %% wrong_never_unscaled (right_by_hand): wrong, unscales_after_step, levels 0 0 0
-    g = half.grad.float() / scale
+    g = half.grad.float()

# %% wrong_no_clip (right_by_hand): wrong, no_clipping, levels 1 1 0
-    norm = g.norm()
-    if norm > max_norm:
-        g = g * (max_norm / norm)

# %% wrong_no_flag (right_by_hand): wrong, flag_not_set, levels 1 0 1
-        return weights, True
+        return weights, False

# %% wrong_norm_in_half (right_by_hand): wrong, norm_in_half, levels 1 1 0
-    norm = g.norm()
+    norm = g.half().norm()

# %% wrong_norm_overflows: wrong, overflows_itself, levels 1 0 1
def scaled_step(
    weights: Tensor, loss_of, scale: float, lr: float, max_norm: float
) -> tuple[Tensor, bool]:
    half = weights.detach().half().requires_grad_()
    (loss_of(half) * scale).backward()
    if not half.grad.norm().isfinite():
        return weights.clone(), True
    gradient = half.grad.float() / scale
    norm = gradient.norm().item()
    if norm > max_norm:
        gradient *= max_norm / norm
    return weights - lr * gradient, False

# %% wrong_scale_in_half (right_by_hand): wrong, scale_in_half, levels 0 1 1
-    (loss_of(half) * scale).backward()
+    loss = loss_of(half)
+    (loss * torch.tensor(scale).half()).backward()

# %% wrong_scale_to_power_of_two (right_by_hand): wrong, unrecognised, levels 1 0 1
+import math
+
+
 def scaled_step(weights, loss_of, scale, lr, max_norm):
+    bits = round(math.log2(scale))
@@
-    (loss_of(half) * scale).backward()
-    g = half.grad.float() / scale
-    if not torch.isfinite(g).all():
+    torch.ldexp(loss_of(half), torch.tensor(bits)).backward()
+    g = torch.ldexp(half.grad.float(), torch.tensor(-bits))
+    if not g.isfinite().all():

# %% wrong_spectral_norm (right_by_hand): wrong, unrecognised, levels 1 1 0
     (loss_of(half) * scale).backward()
+
@@
-    if not torch.isfinite(g).all():
+    if not g.isfinite().all():
@@
-    norm = g.norm()
+    norm = torch.linalg.norm(g, 2)

# %% wrong_steps_anyway (right_by_hand): wrong, steps_on_overflow, levels 1 0 1
-    if not torch.isfinite(g).all():
-        return weights, True

# %% wrong_stores_half (right_by_hand): wrong, master_weight_in_half, levels 0 0 0
-    return weights - lr * g, False
+    return (weights - lr * g).half().float(), False

# %% wrong_twice (right_by_hand): wrong, computes_twice, levels 0 0 0
     half = weights.half().requires_grad_()
+    print(loss_of(half).item())

# %% wrong_unscaled_loss (right_by_hand): wrong, lost_in_half, levels 0 0 1
-    (loss_of(half) * scale).backward()
-    g = half.grad.float() / scale
+    loss_of(half).backward()
+    g = half.grad.float()

# %% wrong_zeroes_inf (right_by_hand): wrong, skips_only_the_overflow, levels 1 0 1
-        return weights, True
+        return weights - lr * torch.where(g.isfinite(), g, 0), True
