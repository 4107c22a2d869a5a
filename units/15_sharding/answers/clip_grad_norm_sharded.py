# Right and wrong answers to `clip_grad_norm_sharded`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_flat_async: passed
def clip_grad_norm_sharded(shards, max_norm):
    flat = torch.cat([s.reshape(-1) for s in shards])
    number = torch.dot(flat, flat).reshape(1)
    work = dist.all_reduce(number, async_op=True)
    work.wait()
    norm = float(number) ** 0.5
    for k in range(len(shards)):
        shards[k] *= min(1.0, max_norm / norm) if norm else 1.0
    return norm

# %% right_gathers_one_number: passed
def clip_grad_norm_sharded(shards, max_norm):
    mine = sum((s.double() ** 2).sum().item() for s in shards)
    everybody = torch.empty(dist.get_world_size(), dtype=torch.float64)
    dist.all_gather_single(everybody, torch.tensor([mine], dtype=torch.float64))
    norm = everybody.sum().item() ** 0.5
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return norm

# %% right_squares: passed
def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total)
    norm = total.sqrt().item()
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return norm

# %% right_stacked_norms: passed
# differs: The factor is clamped at 1, so that the multiplication needs no `if`.
def clip_grad_norm_sharded(shards, max_norm):
    square = torch.stack([torch.linalg.vector_norm(s) for s in shards]).square().sum()
    dist.all_reduce(square)
    norm = square.sqrt()
    factor = torch.clamp(max_norm / norm, max=1.0) if norm > 0 else 1.0
    for s in shards:
        s *= factor
    return norm

# %% right_torch_functions: passed
def clip_grad_norm_sharded(shards, max_norm):
    from torch.nn.utils import get_total_norm

    total = get_total_norm(shards).square()
    dist.all_reduce(total)
    norm = total.sqrt()
    if norm > max_norm:
        torch._foreach_mul_(shards, float(max_norm / norm))
    return norm.item()

# %% wrong_after (right_squares): wrong, norm_after, levels 0 0 0
-    return norm
+    return min(norm, max_norm)

# %% wrong_always (right_squares): wrong, always_scaled, levels 1 0 1
-    if norm > max_norm:
-        for s in shards:
-            s.mul_(max_norm / norm)
+    for s in shards:
+        s.mul_(max_norm / max(norm, 1e-12))

# %% wrong_average (right_squares): wrong, mean_of_squares, levels 0 0 0
-    dist.all_reduce(total)
+    dist.all_reduce(total, op=dist.ReduceOp.AVG)

# %% wrong_by_value (right_squares): wrong, clipped_by_value, levels 0 0 0
-    if norm > max_norm:
-        for s in shards:
-            s.mul_(max_norm / norm)
+    for s in shards:
+        s.clamp_(-max_norm, max_norm)

# %% wrong_clamps_a_quotient: wrong, zero_divided, levels 1 0 1
def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total)
    norm = total.sqrt()
    factor = torch.clamp(max_norm / norm, max=1.0)
    for s in shards:
        s.mul_(factor)
    return norm.item()

# %% wrong_copies (right_squares): wrong, not_clipped, levels 0 0 0
-            s.mul_(max_norm / norm)
+            s = s * (max_norm / norm)

# %% wrong_each: wrong, clipped_each_tensor, levels 0 0 0
def clip_grad_norm_sharded(shards, max_norm):
    squares = torch.stack([(s**2).sum() for s in shards])
    own = squares.sqrt()
    total = squares.sum()
    dist.all_reduce(total)
    for s, norm in zip(shards, own.tolist()):
        if norm > max_norm:
            s.mul_(max_norm / norm)
    return total.sqrt().item()

# %% wrong_empty_rank_stays_away (right_squares): hung, missing_rank, levels 1 0 1
     total = sum((s**2).sum() for s in shards)
+    if all(len(s) == 0 for s in shards):
+        return 0.0

# %% wrong_epsilon (right_squares): wrong, divides_by_a_little_more, levels 0 0 0
-    if norm > max_norm:
-        for s in shards:
-            s.mul_(max_norm / norm)
+    factor = min(1.0, max_norm / (norm + 1e-6))
+    for s in shards:
+        s.mul_(factor)

# %% wrong_float32 (right_squares): wrong, lost_digits, levels 0 0 0
-    total = sum((s**2).sum() for s in shards)
+    total = torch.tensor(float(sum((s**2).sum() for s in shards)))

# %% wrong_gathers (right_squares): wrong, moves_too_much, levels 1 1 0
-    total = sum((s**2).sum() for s in shards)
-    dist.all_reduce(total)
-    norm = total.sqrt().item()
+    flat = torch.cat([s.reshape(-1) for s in shards])
+    sizes = [None] * dist.get_world_size()
+    dist.all_gather_object(sizes, flat.tolist())
+    norm = sum(x * x for one in sizes for x in one) ** 0.5

# %% wrong_limit_of_zero (right_squares): wrong, not_clipped, levels 0 1 1
-    total = sum((s**2).sum() for s in shards)
+    total = torch.zeros(1, dtype=torch.float64)
+    for s in shards:
+        total += s.double().square().sum()
@@
-    norm = total.sqrt().item()
-    if norm > max_norm:
+    norm = float(total.sqrt())
+    if max_norm and norm > max_norm:

# %% wrong_local: wrong, local_norm_clipping, levels 0 0 0
def clip_grad_norm_sharded(shards, max_norm):
    norm = sum((s**2).sum() for s in shards).sqrt().item()
    whole = torch.tensor(norm**2, dtype=torch.float64)
    dist.all_reduce(whole)
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return whole.sqrt().item()

# %% wrong_maximum (right_squares): wrong, largest_norm, levels 0 0 0
-    dist.all_reduce(total)
+    dist.all_reduce(total, op=dist.ReduceOp.MAX)

# %% wrong_new_tensors_in_the_list (right_squares): wrong, not_clipped, levels 0 0 0
-        for s in shards:
-            s.mul_(max_norm / norm)
+        shards[:] = [s * (max_norm / norm) for s in shards]

# %% wrong_no_root (right_squares): wrong, norm_squared, levels 0 0 0
-    norm = total.sqrt().item()
+    norm = total.item()

# %% wrong_norm_float32: wrong, lost_digits, levels 0 0 0
def clip_grad_norm_sharded(shards, max_norm):
    squares = torch.zeros(1, dtype=torch.float64)
    for one in shards:
        squares += (one**2).sum()
    dist.all_reduce(squares)
    norm = float(squares.sqrt())
    if norm > max_norm:
        for one in shards:
            one.mul_(max_norm / norm)
    return float(torch.tensor(norm))

# %% wrong_norms_added (right_squares): wrong, norms_added, levels 0 0 0
-    total = sum((s**2).sum() for s in shards)
+    total = sum((s**2).sum() for s in shards).sqrt()
@@
-    norm = total.sqrt().item()
+    norm = total.item()

# %% wrong_norms_of_tensors (right_squares): wrong, norms_of_tensors_added, levels 0 0 0
-    total = sum((s**2).sum() for s in shards)
+    total = sum(s.norm() for s in shards)
@@
-    norm = total.sqrt().item()
+    norm = total.item()

# %% wrong_one_per_tensor (right_squares): wrong, moves_too_much, levels 1 1 0
-    total = sum((s**2).sum() for s in shards)
-    dist.all_reduce(total)
-    norm = total.sqrt().item()
+    total = 0.0
+    for s in shards:
+        square = (s**2).sum()
+        dist.all_reduce(square)
+        total += square.item()
+    norm = total**0.5

# %% wrong_only_local (right_squares): wrong, local_norm_clipping, levels 0 0 0
-    total = sum((s**2).sum() for s in shards)
-    dist.all_reduce(total)
-    norm = total.sqrt().item()
+    norm = sum((s**2).sum() for s in shards).sqrt().item()
+    dist.barrier()

# %% wrong_own_norm (right_squares): wrong, own_norm_returned, levels 0 0 0
 def clip_grad_norm_sharded(shards, max_norm):
+    own = sum((s**2).sum() for s in shards).sqrt().item()
@@
-    return norm
+    return own

# %% wrong_python_float (right_squares): wrong, lost_digits, levels 0 0 0
-    total = sum((s**2).sum() for s in shards)
+    square = 0.0
+    for s in shards:
+        square += float((s * s).sum())
+    total = torch.tensor([square])
@@
-    norm = total.sqrt().item()
+    norm = total.item() ** 0.5

# %% wrong_reduce_and_broadcast (right_squares): wrong, too_many_collectives, levels 1 1 0
-    dist.all_reduce(total)
+    dist.reduce(total, 0)
+    dist.broadcast(total, 0)

# %% wrong_returns_the_square (right_squares): wrong, square_returned, levels 0 0 0
-    return norm
+    return norm**2

# %% wrong_scaled_copies_as_data (right_squares): wrong, not_clipped, levels 0 0 0
-            s.mul_(max_norm / norm)
+            s.data = s.data * (max_norm / norm)

# %% wrong_zero: wrong, zero_divided, levels 1 0 1
def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total)
    norm = total.sqrt().item()
    norm = torch.tensor(norm, dtype=torch.float64)
    factor = norm.clamp(max=max_norm) / norm
    for s in shards:
        s.mul_(factor)
    return norm.item()
