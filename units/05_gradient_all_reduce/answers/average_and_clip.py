# Right and wrong answers to `average_and_clip`. In files of their own: autograder bank --write DIR
import math
import torch
import torch.distributed as dist

# %% right_by_hand: passed
def average_and_clip(model, max_norm):
    trained = [p for p in model.parameters() if p.requires_grad]
    square = 0.0
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
        square += p.grad.double().pow(2).sum().item()
    norm = math.sqrt(square)
    if norm > max_norm:
        for p in trained:
            p.grad *= max_norm / norm
    return norm

# %% right_flat: passed
def average_and_clip(model, max_norm):
    average_gradients_flat(model)
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.cat([g.reshape(-1) for g in grads]))
    factor = min(1.0, max_norm / (float(norm) + 1e-12))
    for g in grads:
        g.mul_(factor)
    return norm

# %% right_get_total_norm: passed
# differs: The norm of the norms of all gradients, then one factor for all of them: what `clip_grad_norm_` does inside.
def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
    total = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(p.grad) for p in ps]))
    factor = (max_norm / total).clamp(max=1.0) if total > 0 else 1.0
    torch._foreach_mul_([p.grad for p in ps], factor)
    return total

# %% right_one_element: passed
def average_and_clip(model, max_norm):
    average_gradients(model)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)

# %% right_torch: passed
from torch import nn


def average_and_clip(model: nn.Module, max_norm: float) -> float:
    average_gradients(model)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()

# %% wrong_always (right_one_element): wrong, always_scaled, levels 1 0 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in trained))
+    for p in trained:
+        p.grad *= max_norm / norm
+    return norm

# %% wrong_before: wrong, clipped_before_averaging, levels 0 0 0
def average_and_clip(model, max_norm):
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    average_gradients(model)
    return norm.item()

# %% wrong_by_value (right_one_element): wrong, clipped_by_value, levels 0 1 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in trained))
+    for p in trained:
+        p.grad.clamp_(-max_norm, max_norm)
+    return norm

# %% wrong_clips_to_one: wrong, wrong_length, levels 0 0 0
def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    return torch.nn.utils.clip_grad_norm_(ps, 1.0)

# %% wrong_counts_tied_twice: wrong, tied_counted_twice, levels 1 1 0
def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    norm = sum(p.grad.pow(2).sum() for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad) ** 0.5
    if norm > max_norm:
        for p in ps:
            p.grad *= max_norm / norm
    return norm.item()

# %% wrong_divides_by_zero (right_by_hand): raised, ZeroDivisionError, levels 1 1 0
-    if norm > max_norm:
-        for p in trained:
-            p.grad *= max_norm / norm
+    for p in trained:
+        p.grad *= min(1.0, max_norm / norm)

# %% wrong_divides_infinity (right_one_element): wrong, infinite_limit, levels 1 0 1
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    grads = [p.grad for p in model.parameters() if p.grad is not None]
+    norm = math.sqrt(sum(float(g.double().square().sum()) for g in grads))
+    if norm > 0:
+        for g in grads:
+            g *= max_norm / max(norm, max_norm)
+    return norm

# %% wrong_doubles_in_the_gradients: raised, RuntimeError, levels 0 1 1
def average_and_clip(model, max_norm):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([torch.zeros(p.numel()) if p.grad is None else p.grad.reshape(-1) for p in trained]).double()
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    norm = flat.norm().item()
    if norm > max_norm:
        flat *= max_norm / norm
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape)
    return norm

# %% wrong_each_parameter (right_one_element): wrong, clipped_each_parameter, levels 0 1 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in trained))
+    for p in trained:
+        p.grad *= min(1.0, max_norm / max(float(p.grad.norm()), 1e-12))
+    return norm

# %% wrong_float32: wrong, lost_digits, levels 1 0 1
def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        g = (torch.zeros_like(p) if p.grad is None else p.grad).float()
        dist.all_reduce(g)
        p.grad = (g / dist.get_world_size()).to(p.dtype)
    return torch.nn.utils.clip_grad_norm_(ps, max_norm)

# %% wrong_frozen_gets_zeros: wrong, frozen_with_gradient, levels 1 1 0
def average_and_clip(model, max_norm):
    for p in model.parameters():
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()

# %% wrong_inf_norm: wrong, wrong_length, levels 0 0 0
def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    return torch.nn.utils.clip_grad_norm_(ps, max_norm, norm_type=1.0)

# %% wrong_largest_element (right_one_element): wrong, wrong_length, levels 0 0 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = max(float(p.grad.abs().max()) for p in trained)
+    for p in trained:
+        p.grad *= min(1.0, max_norm / max(norm, 1e-12))
+    return norm

# %% wrong_largest_first: wrong, wrong_length, levels 0 0 0
def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    norm = max(p.grad.norm() for p in ps)
    for p in ps:
        p.grad *= min(1.0, max_norm / (norm + 1e-12))
    return float(norm)

# %% wrong_no_return (right_one_element): wrong, returns_nothing, levels 0 0 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in trained))
+    for p in trained:
+        p.grad *= min(1.0, max_norm / max(norm, 1e-12))
+    return None

# %% wrong_norms_added (right_one_element): wrong, norms_added, levels 0 0 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = sum(float(p.grad.norm()) for p in trained)
+    for p in trained:
+        p.grad *= min(1.0, max_norm / max(norm, 1e-12))
+    return norm

# %% wrong_not_averaged: wrong, not_averaged, levels 0 0 0
def average_and_clip(model, max_norm):
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()

# %% wrong_not_clipped (right_one_element): wrong, not_clipped, levels 0 1 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in trained))
+    for p in trained:
+        p.grad.mul(min(1.0, max_norm / max(norm, 1e-12)))
+    return norm

# %% wrong_one_rank_is_not_clipped (right_by_hand): wrong, not_clipped, levels 0 1 1
-    if norm > max_norm:
+    if norm > max_norm and dist.get_world_size() > 1:

# %% wrong_over_ranks (right_one_element): wrong, norm_over_ranks, levels 0 0 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    square = sum(p.grad.double().square().sum() for p in trained)
+    dist.all_reduce(square)
+    norm = math.sqrt(square)
+    for p in trained:
+        p.grad *= min(1.0, max_norm / max(norm, 1e-12))
+    return norm

# %% wrong_own_norm: wrong, own_norm, levels 0 0 0
def average_and_clip(model, max_norm):
    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in model.parameters() if p.grad is not None))
    average_gradients(model)
    for p in model.parameters():
        if p.grad is not None:
            p.grad *= min(1.0, max_norm / norm)
    return norm

# %% wrong_own_norm_returned: wrong, wrong_norm, levels 0 0 0
def average_and_clip(model, max_norm):
    own = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in own]))
    average_gradients(model)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return norm.item()

# %% wrong_rank_0: hung, missing_rank, levels 0 0 0
def average_and_clip(model, max_norm):
    if dist.get_rank() == 0:
        average_gradients(model)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()

# %% wrong_returns_after (right_one_element): wrong, norm_after, levels 0 1 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in trained))
+    for p in trained:
+        p.grad *= min(1.0, max_norm / max(norm, 1e-12))
+    return min(norm, max_norm)

# %% wrong_scales_weights: wrong, weights_changed, levels 0 1 0
def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    norm = torch.cat([p.grad.flatten() for p in ps]).norm()
    if norm > max_norm:
        for p in ps:
            p.data *= max_norm / norm
    return norm

# %% wrong_set (right_by_hand): hung, mismatched_shape, levels 0 0 0
-    trained = [p for p in model.parameters() if p.requires_grad]
+    trained = {p for p in model.parameters() if p.requires_grad}

# %% wrong_squared (right_one_element): wrong, norm_squared, levels 0 0 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = sum(float(p.grad.square().sum()) for p in trained)
+    for p in trained:
+        p.grad *= min(1.0, max_norm / max(norm, 1e-12))
+    return norm

# %% wrong_sum: wrong, norm_of_the_sum, levels 0 0 0
def average_and_clip(model, max_norm):
    for p in model.parameters():
        if p.requires_grad:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()

# %% wrong_zero (right_one_element): wrong, zero_divided, levels 1 1 0
-    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).reshape(1)
+    trained = [p for p in model.parameters() if p.grad is not None]
+    norm = torch.stack([p.grad.double().square().sum() for p in trained]).sum().sqrt()
+    for p in trained:
+        p.grad *= torch.tensor(max_norm) / norm if norm < 1e-9 else min(1.0, max_norm / norm)
+    return norm

# %% wrong_zero_is_off (right_by_hand): wrong, zero_is_off, levels 0 1 1
-    if norm > max_norm:
+    if max_norm and norm > max_norm:

# %% wrong_zero_over_zero (right_by_hand): raised, ZeroDivisionError, levels 1 1 0
-    if norm > max_norm:
+    if norm >= max_norm:
