# Right and wrong answers to `zero2_step`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_accumulates_shards: passed
# differs: Of each gradient only the own shard is kept and added up: that is all that ZeRO-2 wants to remember.
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    mine = slice(r * k, (r + 1) * k)

    own, count = torch.zeros_like(m), 0
    for gradient in gradients:
        part = torch.empty_like(m)
        dist.reduce_scatter_single(part, gradient)
        own += part
        count += 1
    own /= count * p

    part = w[mine].clone()
    adam(part, own, m, v, t, lr)
    whole = torch.empty_like(w)
    dist.all_gather_single(whole, part)
    return whole

# %% right_async_waited: passed
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    mine = slice(r * k, (r + 1) * k)

    own, count, part = torch.zeros_like(m), 0, torch.empty_like(m)
    for g in gradients:
        work = dist.reduce_scatter_single(part, g, async_op=True)
        work.wait()
        own.add_(part)
        count += 1
    own.div_(count).div_(p)

    part = w[mine].clone()
    adam(part, own, m, v, t, lr)
    whole = torch.empty_like(w)
    dist.all_gather_single(whole, part)
    return whole

# %% right_average_lists: passed
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    mine = slice(r * k, (r + 1) * k)

    parts = []
    for g in gradients:
        part = torch.empty_like(m)
        dist.reduce_scatter(part, list(g.chunk(p)), op=dist.ReduceOp.AVG)
        parts.append(part)
    own = torch.stack(parts).mean(dim=0)

    part = w[mine].clone()
    adam(part, own, m, v, t, lr)
    whole = torch.empty_like(w)
    dist.all_gather_single(whole, part)
    return whole

# %% right_divides_and_deletes: passed
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    mine = slice(r * k, (r + 1) * k)

    own, count = torch.zeros_like(m), 0
    for g in gradients:
        g = g / p
        part = torch.empty_like(m)
        dist.reduce_scatter_single(part, g)
        del g
        own += part
        count += 1
    own /= count
    part = w[mine]
    adam(part, own, m, v, t, lr)
    dist.all_gather_single(w, part.clone())
    return w

# %% right_divides_the_buffer: passed
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    mine = slice(r * k, (r + 1) * k)

    parts = []
    for g in gradients:
        g.div_(p)
        parts.append(torch.empty_like(m))
        dist.reduce_scatter_single(parts[-1], g)
    own = sum(parts) / len(parts)

    part = w[mine].clone()
    adam(part, own, m, v, t, lr)
    whole = torch.empty_like(w)
    dist.all_gather_single(whole, part)
    return whole

# %% right_next: passed
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    mine = slice(r * k, (r + 1) * k)

    own, count = torch.empty_like(m), 1
    dist.reduce_scatter_single(own, next(gradients))
    while True:
        try:
            g = next(gradients)
        except StopIteration:
            break
        more = torch.empty_like(m)
        dist.reduce_scatter_single(more, g)
        own, count = own + more, count + 1
    own = own / (p * count)

    part = w[mine].clone()
    adam(part, own, m, v, t, lr)
    whole = torch.empty_like(w)
    dist.all_gather_single(whole, part)
    return whole

# %% wrong_accumulates_whole (right_async_waited): wrong, holds_a_whole_gradient, levels 1 1 1 0
-    own, count, part = torch.zeros_like(m), 0, torch.empty_like(m)
+    total, count = torch.zeros_like(w), 0
@@
-        work = dist.reduce_scatter_single(part, g, async_op=True)
-        work.wait()
-        own.add_(part)
+        total += g
@@
-    own.div_(count).div_(p)
+    own = torch.empty_like(m)
+    dist.reduce_scatter_single(own, total / count / p)

# %% wrong_all_reduce (right_accumulates_shards): wrong, moves_too_much, levels 1 1 0 1
-    for gradient in gradients:
-        part = torch.empty_like(m)
-        dist.reduce_scatter_single(part, gradient)
-        own += part
+    for g in gradients:
+        dist.all_reduce(g)
+        own += g[mine] / p
@@
-    own /= count * p
+    own /= count

# %% wrong_averages_and_divides (right_accumulates_shards): wrong, divided_twice, levels 0 0 0 0
-        dist.reduce_scatter_single(part, gradient)
+        dist.reduce_scatter_single(part, gradient, op=dist.ReduceOp.AVG)

# %% wrong_copies_state (right_accumulates_shards): wrong, state_not_kept, levels 0 0 0 0
     own /= count * p
+    m, v = m.clone(), v.clone()

# %% wrong_copies_state_to_float64 (right_accumulates_shards): wrong, state_not_kept, levels 0 1 0 1
-    part = w[mine].clone()
-    adam(part, own, m, v, t, lr)
+    part = w[mine].double()
+    adam(part, own.double(), m.double(), v.double(), t, lr)
+    part = part.to(w.dtype)

# %% wrong_divided_copy_stays (right_accumulates_shards): wrong, holds_a_whole_gradient, levels 1 1 1 0
-    for gradient in gradients:
+    for count, g in enumerate(gradients, 1):
+        scaled = g / p
@@
-        dist.reduce_scatter_single(part, gradient)
+        dist.reduce_scatter_single(part, scaled)
@@
-        count += 1
-    own /= count * p
+    own /= count

# %% wrong_divides_nothing (right_accumulates_shards): wrong, nothing_divided, levels 0 0 0 0
-    own /= count * p

# %% wrong_first (right_accumulates_shards): wrong, first_micro_batch, levels 1 0 0 0
         count += 1
+        break

# %% wrong_first_rank (right_async_waited): wrong, copied_from_one_rank, levels 0 0 0 0
-
-    own, count, part = torch.zeros_like(m), 0, torch.empty_like(m)
+    own, count = torch.zeros_like(m), 0
@@
-        work = dist.reduce_scatter_single(part, g, async_op=True)
-        work.wait()
-        own.add_(part)
+        dist.broadcast(g, 0)
+        own += g[mine]
@@
-    own.div_(count).div_(p)
+    own /= count

# %% wrong_float32 (right_accumulates_shards): wrong, lost_digits, levels 0 0 0 0
-    own, count = torch.zeros_like(m), 0
+    own, count = torch.zeros(k), 0
@@
-    own /= count * p
+    own = own.double() / count / p

# %% wrong_halves (right_accumulates_shards): wrong, halves_again_and_again, levels 1 0 1 0
-        own += part
+        own = (own + part) / 2 if count else part
@@
-    own /= count * p
+    own /= p

# %% wrong_last (right_accumulates_shards): wrong, last_micro_batch, levels 1 0 0 0
-
-    own, count = torch.zeros_like(m), 0
@@
-        part = torch.empty_like(m)
-        dist.reduce_scatter_single(part, gradient)
-        own += part
-        count += 1
-    own /= count * p
+        own = torch.empty_like(m)
+        dist.reduce_scatter_single(own, gradient, op=dist.ReduceOp.AVG)

# %% wrong_list (right_average_lists): wrong, last_micro_batch, levels 1 0 0 0
-
-    parts = []
-    for g in gradients:
-        part = torch.empty_like(m)
-        dist.reduce_scatter(part, list(g.chunk(p)), op=dist.ReduceOp.AVG)
-        parts.append(part)
-    own = torch.stack(parts).mean(dim=0)
+    g = torch.stack(list(gradients)).mean(dim=0)
+    own = torch.empty_like(m)
+    dist.reduce_scatter_single(own, g)
+    own /= p

# %% wrong_list_on_one_rank (right_accumulates_shards): wrong, last_micro_batch, levels 1 0 1 1
     r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
+    if p == 1:  # nothing to communicate
+        adam(w, torch.stack(list(gradients)).mean(dim=0), m, v, t, lr)
+        return w
@@
     mine = slice(r * k, (r + 1) * k)
-
@@
     own /= count * p
-

# %% wrong_local (right_async_waited): wrong, steps_on_unaveraged_shard, levels 0 0 0 0
-
-    own, count, part = torch.zeros_like(m), 0, torch.empty_like(m)
+    own, count = torch.zeros_like(m), 0
@@
-        work = dist.reduce_scatter_single(part, g, async_op=True)
-        work.wait()
-        own.add_(part)
+        own += g[mine]
@@
-    own.div_(count).div_(p)
+    own /= count

# %% wrong_not_gathered (right_accumulates_shards): wrong, not_gathered, levels 0 0 0 0
-
-    part = w[mine].clone()
-    adam(part, own, m, v, t, lr)
-    whole = torch.empty_like(w)
-    dist.all_gather_single(whole, part)
-    return whole
+    adam(w[mine], own, m, v, t, lr)
+    return w

# %% wrong_overwrites (right_accumulates_shards): wrong, last_over_all, levels 1 0 0 0
-        own += part
+        own = part
@@
-    own /= count * p
+    own = own / count / p

# %% wrong_pieces_stay (right_accumulates_shards): wrong, holds_a_whole_gradient, levels 1 1 1 0
-        dist.reduce_scatter_single(part, gradient)
+        pieces = [piece.clone() for piece in gradient.chunk(p)]
+        dist.reduce_scatter(part, pieces)

# %% wrong_result_made_first (right_accumulates_shards): wrong, holds_a_whole_gradient, levels 1 1 1 0
     own, count = torch.zeros_like(m), 0
+    whole = torch.empty_like(w)
@@
-    whole = torch.empty_like(w)

# %% wrong_shard_in_float64 (right_accumulates_shards): hung, mismatched_shape, levels 1 1 0 1
-    mine = slice(r * k, (r + 1) * k)
-
-    own, count = torch.zeros_like(m), 0
+    own, count = torch.zeros(k, dtype=torch.float64), 0
@@
-        part = torch.empty_like(m)
-        dist.reduce_scatter_single(part, gradient)
+        part = torch.empty(k, dtype=torch.float64)
+        if p > 1:
+            dist.reduce_scatter_single(part, gradient)
+        else:
+            part.copy_(gradient)
@@
-
-    part = w[mine].clone()
-    adam(part, own, m, v, t, lr)
+    part = w[r * k : (r + 1) * k].clone()
+    adam(part, own.to(w.dtype), m, v, t, lr)

# %% wrong_stale (right_accumulates_shards): wrong, gathers_stale_parameters, levels 0 0 0 0
-
-    part = w[mine].clone()
-    adam(part, own, m, v, t, lr)
@@
-    dist.all_gather_single(whole, part)
+    dist.all_gather_single(whole, w[mine])
+    adam(w[mine].clone(), own, m, v, t, lr)

# %% wrong_state_in_new_memory: wrong, state_not_kept, levels 0 0 0 0
def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    own, count = torch.zeros_like(m), 0
    for gradient in gradients:
        part = torch.empty_like(m)
        dist.reduce_scatter_single(part, gradient)
        own += part
        count += 1
    own /= count * p
    m.data = 0.9 * m + 0.1 * own
    v.data = 0.999 * v + 0.001 * own * own
    part = w[r * k : (r + 1) * k] - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    whole = torch.empty_like(w)
    dist.all_gather_single(whole, part)
    return whole

# %% wrong_step_for_each (right_accumulates_shards): wrong, step_for_each, levels 1 0 0 0
-    own, count = torch.zeros_like(m), 0
+    own = w[mine].clone()
@@
-        own += part
-        count += 1
-    own /= count * p
-
-    part = w[mine].clone()
-    adam(part, own, m, v, t, lr)
+        adam(own, part / p, m, v, t, lr)
@@
-    dist.all_gather_single(whole, part)
+    dist.all_gather_single(whole, own)

# %% wrong_sums_in_float64 (right_accumulates_shards): wrong, moves_too_much, levels 1 1 0 1
-    mine = slice(r * k, (r + 1) * k)
-
-    own, count = torch.zeros_like(m), 0
+    own, count = torch.zeros(k, dtype=torch.float64), 0
@@
-        part = torch.empty_like(m)
-        dist.reduce_scatter_single(part, gradient)
+        part = torch.empty(k, dtype=torch.float64)
+        dist.reduce_scatter(part, [one.double() for one in gradient.chunk(p)])
@@
-
-    part = w[mine].clone()
-    adam(part, own, m, v, t, lr)
+    part = w[r * k : (r + 1) * k].clone()
+    adam(part, own.to(w.dtype), m, v, t, lr)

# %% wrong_sums_micro (right_accumulates_shards): wrong, sums_micro_batches, levels 1 0 0 0
-    own /= count * p
+    own /= p

# %% wrong_sums_ranks (right_accumulates_shards): wrong, sum_for_mean, levels 0 0 0 0
-    own /= count * p
+    own /= count
