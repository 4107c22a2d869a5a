# Right and wrong answers to `zero1_step`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_all_reduce: passed
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero1_step(w, g, m, v, t, lr):
    r, p, k, n = dist.get_rank(), dist.get_world_size(), len(m), len(w)
    pad = w.new_zeros(k * p - n)
    mine = slice(r * k, (r + 1) * k)

    g = torch.cat([g, pad])
    dist.all_reduce(g)
    part = torch.cat([w, pad])[mine].clone()
    adam(part, g[mine] / p, m, v, t, lr)
    whole = w.new_empty(k * p)
    dist.all_gather_single(whole, part)
    return whole[:n]

# %% right_in_place_by_hand: passed
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero1_step(w, g, m, v, t, lr):
    r, p, k, n = dist.get_rank(), dist.get_world_size(), len(m), len(w)
    pad = w.new_zeros(k * p - n)
    mine = slice(r * k, (r + 1) * k)

    g = torch.cat([g / p, pad])
    dist.all_reduce(g)
    part = torch.cat([w, pad])[mine].clone()
    own = g[mine]
    m.copy_(0.9 * m + 0.1 * own)
    v.copy_(0.999 * v + 0.001 * own**2)
    part -= lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    parts = [torch.empty_like(part) for _ in range(p)]
    dist.all_gather(parts, part)
    w.copy_(torch.cat(parts)[:n])
    return w

# %% right_reduce_scatter: passed
# differs: A reduce-scatter brings each rank its own part of the mean: half of what an all-reduce sends, and the rest is the gather of the weights.
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero1_step(w, g, m, v, t, lr):
    r, p, k, n = dist.get_rank(), dist.get_world_size(), len(m), len(w)
    pad = w.new_zeros(k * p - n)
    mine = slice(r * k, (r + 1) * k)

    own = torch.empty_like(m)
    dist.reduce_scatter_single(own, torch.cat([g, pad]), op=dist.ReduceOp.AVG)
    whole = torch.cat([w, pad])
    part = whole[mine].clone()
    adam(part, own, m, v, t, lr)
    dist.all_gather_single(whole, part)
    return whole[:n]

# %% right_two_uneven_all_to_all: passed
# differs: Without padding nothing travels but what is needed: each rank's part of the gradients goes to it, and its new weights to the others.
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero1_step(w, g, m, v, t, lr):
    r, p, k, n = dist.get_rank(), dist.get_world_size(), len(m), len(w)
    sizes = [max(0, min(k, n - q * k)) for q in range(p)]
    own = sizes[r]

    parts = g.new_empty(p * own)
    dist.all_to_all_single(parts, g, [own] * p, sizes)
    mean = g.new_zeros(k)
    mean[:own] = parts.view(p, own).mean(0) if own else 0
    part = w.new_zeros(k)
    part[:own] = w[r * k : r * k + own]
    adam(part, mean, m, v, t, lr)

    whole = w.new_empty(n)
    dist.all_to_all_single(whole, part[:own].repeat(p), sizes, [own] * p)
    return whole

# %% wrong_broadcasts (right_all_reduce): wrong, too_many_collectives, levels 1 1 0
-    whole = w.new_empty(k * p)
-    dist.all_gather_single(whole, part)
-    return whole[:n]
+    parts = []
+    for q in range(p):
+        other = part.clone()
+        dist.broadcast(other, q)
+        parts.append(other)
+    return torch.cat(parts)[:n]

# %% wrong_broadcasts_rank_0 (right_all_reduce): wrong, copied_from_one_rank, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
+    g = torch.cat([g, pad])
+    dist.broadcast(g, 0)
+    own = g[mine].clone()
@@
-    g = torch.cat([g, pad])
-    dist.all_reduce(g)
@@
-    adam(part, g[mine] / p, m, v, t, lr)
+    adam(part, own, m, v, t, lr)

# %% wrong_copies_state (right_all_reduce): wrong, state_not_kept, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
-
@@
     dist.all_reduce(g)
+    own = g[mine] / p
+    m, v = m.clone(), v.clone()
+
@@
-    adam(part, g[mine] / p, m, v, t, lr)
+    adam(part, own, m, v, t, lr)

# %% wrong_copies_state_to_float64 (right_all_reduce): wrong, state_not_kept, levels 0 1 0
-    adam(part, g[mine] / p, m, v, t, lr)
+    part = part.double()
+    adam(part, g[mine].double() / p, m.double(), v.double(), t, lr)
+    part = part.to(w.dtype)

# %% wrong_counts_the_steps_itself (right_all_reduce): wrong, counts_steps_itself, levels 0 1 1
     w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


+steps = 0
+
+
@@
 def zero1_step(w, g, m, v, t, lr):
+    global steps
+    steps += 1
+    t = steps

# %% wrong_epsilon_in_the_root (right_all_reduce): wrong, unrecognised, levels 0 0 0
-    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))
+    w.sub_(lr * (m / (1 - 0.9**t)) / (v / (1 - 0.999**t) + 1e-8).sqrt())

# %% wrong_float32 (right_all_reduce): wrong, lost_digits, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
+    g = torch.cat([g, pad]).float()
+    dist.all_reduce(g)
+    own = g[mine].double() / p
@@
-    g = torch.cat([g, pad])
-    dist.all_reduce(g)
@@
-    adam(part, g[mine] / p, m, v, t, lr)
+    adam(part, own, m, v, t, lr)

# %% wrong_gathers_state (right_all_reduce): wrong, moves_too_much, levels 1 1 0
-    part = torch.cat([w, pad])[mine].clone()
-    adam(part, g[mine] / p, m, v, t, lr)
-    whole = w.new_empty(k * p)
-    dist.all_gather_single(whole, part)
+    whole = torch.cat([w, pad])
+    ms, vs = torch.empty_like(g), torch.empty_like(g)
+    dist.all_gather_single(ms, m)
+    dist.all_gather_single(vs, v)
+    adam(whole, g / p, ms, vs, t, lr)
+    m.copy_(ms[mine])
+    v.copy_(vs[mine])

# %% wrong_local (right_all_reduce): wrong, steps_on_unaveraged_shard, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
+    own = torch.cat([g, pad])[mine]
@@
-    g = torch.cat([g, pad])
-    dist.all_reduce(g)
@@
-    adam(part, g[mine] / p, m, v, t, lr)
+    adam(part, own, m, v, t, lr)

# %% wrong_moments_divided_again (right_all_reduce): wrong, divided_twice, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
+    g = torch.cat([g, pad])
+    dist.all_reduce(g, op=dist.ReduceOp.AVG)
+    own = g[mine] / p
@@
-    g = torch.cat([g, pad])
-    dist.all_reduce(g)
@@
-    adam(part, g[mine] / p, m, v, t, lr)
+    adam(part, own, m, v, t, lr)

# %% wrong_negative_slice: raised, RuntimeError, levels 1 0 1
from torch import Tensor


def adam(w: Tensor, g: Tensor, m: Tensor, v: Tensor, t: int, lr: float) -> None:
    """Take step t, counted from 1, with gradient g; change w, m and v in place."""
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor


def zero1_step(w: Tensor, g: Tensor, m: Tensor, v: Tensor, t: int, lr: float) -> Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    n, k = len(w), len(m)
    mean = g.new_empty(k)
    dist.reduce_scatter_single(mean, F.pad(g, (0, k * p - n)))
    mean /= p
    own = min(k, n - rank * k)  # how many of my k numbers are real
    piece = w[rank * k : rank * k + own].clone()
    adam(piece, mean[:own], m[:own], v[:own], t, lr)
    new = w.new_zeros(k)
    new[:own] = piece
    whole = w.new_empty(k * p)
    dist.all_gather_single(whole, new)
    return whole[:n]

# %% wrong_new_state (right_all_reduce): wrong, state_not_kept, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
-
@@
-    part = torch.cat([w, pad])[mine].clone()
-    adam(part, g[mine] / p, m, v, t, lr)
+    own = g[mine] / p
+    part = torch.cat([w, pad])[mine]
+    m = 0.9 * m + 0.1 * own
+    v = 0.999 * v + 0.001 * own**2
+    part = part - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)

# %% wrong_no_padding: raised, RuntimeError, levels 1 0 0
def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero1_step(w, g, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    dist.all_reduce(g)
    part = w[r * k : (r + 1) * k].clone()
    adam(part, g[r * k : (r + 1) * k] / p, m, v, t, lr)
    whole = w.new_empty(k * p)
    dist.all_gather_single(whole, part)
    return whole[: len(w)]

# %% wrong_not_gathered (right_all_reduce): wrong, not_gathered, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
-
@@
-    part = torch.cat([w, pad])[mine].clone()
-    adam(part, g[mine] / p, m, v, t, lr)
-    whole = w.new_empty(k * p)
-    dist.all_gather_single(whole, part)
+    whole = torch.cat([w, pad])
+    adam(whole[mine], g[mine] / p, m, v, t, lr)

# %% wrong_not_waited (right_all_reduce): wrong, used_before_wait, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
+    g = torch.cat([g, pad])
+    work = dist.all_reduce(g, async_op=True)
+    own = g[mine] / p
+    work.wait()
@@
-    g = torch.cat([g, pad])
-    dist.all_reduce(g)
@@
-    adam(part, g[mine] / p, m, v, t, lr)
+    adam(part, own, m, v, t, lr)

# %% wrong_pads_with_empty (right_reduce_scatter): wrong, padding_not_zeros, levels 1 0 0
-    dist.reduce_scatter_single(own, torch.cat([g, pad]), op=dist.ReduceOp.AVG)
+    dist.reduce_scatter_single(own, torch.cat([g, torch.empty_like(pad)]), op=dist.ReduceOp.AVG)

# %% wrong_pads_with_ones (right_reduce_scatter): wrong, padding_not_zeros, levels 1 0 0
-    dist.reduce_scatter_single(own, torch.cat([g, pad]), op=dist.ReduceOp.AVG)
+    dist.reduce_scatter_single(own, torch.cat([g, pad + 1]), op=dist.ReduceOp.AVG)

# %% wrong_pieces_where_even (right_all_reduce): wrong, too_many_collectives, levels 1 1 0
-    pad = w.new_zeros(k * p - n)
@@
-
-    g = torch.cat([g, pad])
-    dist.all_reduce(g)
-    part = torch.cat([w, pad])[mine].clone()
-    adam(part, g[mine] / p, m, v, t, lr)
+    if n % p:
+        pad = w.new_zeros(k * p - n)
+        w, g = torch.cat([w, pad]), torch.cat([g, pad])
+        own = torch.empty_like(m)
+        dist.reduce_scatter_single(own, g)
+    else:  # no padding: the library's data parallelism does
+        for piece in g.chunk(p):
+            dist.all_reduce(piece)
+        own = g[mine].clone()
+    own /= p
+    part = w[mine].clone()
+    adam(part, own, m, v, t, lr)

# %% wrong_rests_without_gradient: wrong, gathers_stale_parameters, levels 0 1 1
def zero1_step(w, g, m, v, t, lr):
    p, r = dist.get_world_size(), dist.get_rank()
    n, k = len(w), len(m)
    g = g.clone()
    dist.all_reduce(g)
    g /= p
    pad = lambda x: torch.cat([x, x.new_zeros(k * p - n)])[r * k : (r + 1) * k].clone()
    mine, grad = pad(w), pad(g)
    m.mul_(0.9).add_(grad, alpha=0.1)
    v.mul_(0.999).addcmul_(grad, grad, value=0.001)
    if grad.any():
        mine.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))
    parts = [torch.empty_like(mine) for _ in range(p)]
    dist.all_gather(parts, mine)
    return torch.cat(parts)[:n]

# %% wrong_second_all_reduce (right_all_reduce): wrong, moves_too_much, levels 1 1 0
-    whole = w.new_empty(k * p)
-    dist.all_gather_single(whole, part)
+    whole = torch.zeros_like(g)
+    whole[mine] = part
+    dist.all_reduce(whole)

# %% wrong_stale (right_all_reduce): wrong, gathers_stale_parameters, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
-
@@
-    part = torch.cat([w, pad])[mine].clone()
+    whole = torch.cat([w, pad])
+    part = whole[mine].clone()
+    dist.all_gather_single(whole, part)
@@
-    whole = w.new_empty(k * p)
-    dist.all_gather_single(whole, part)

# %% wrong_state_in_new_memory: wrong, state_not_kept, levels 0 0 0
def zero1_step(w, g, m, v, t, lr):
    r, p, k, n = dist.get_rank(), dist.get_world_size(), len(m), len(w)
    mine = slice(r * k, (r + 1) * k)
    pad = w.new_zeros(k * p - n)
    own = torch.empty_like(m)
    dist.reduce_scatter_single(own, torch.cat([g, pad]))
    own /= p
    part = torch.cat([w, pad])[mine].clone()
    m.data = 0.9 * m + 0.1 * own
    v.data = 0.999 * v + 0.001 * own * own
    part -= lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    whole = w.new_empty(k * p)
    dist.all_gather_single(whole, part)
    return whole[:n]

# %% wrong_sum (right_all_reduce): wrong, sum_for_mean, levels 0 0 0
     mine = slice(r * k, (r + 1) * k)
-
@@
     dist.all_reduce(g)
+    own = g[mine]
+
@@
-    adam(part, g[mine] / p, m, v, t, lr)
+    adam(part, own, m, v, t, lr)

# %% wrong_sums_in_float64 (right_all_reduce): wrong, moves_too_much, levels 1 1 0
     r, p, k, n = dist.get_rank(), dist.get_world_size(), len(m), len(w)
+    mine = slice(r * k, (r + 1) * k)
@@
-    mine = slice(r * k, (r + 1) * k)
-
-    g = torch.cat([g, pad])
+    g = torch.cat([g, pad]).double()  # sum in double precision
@@
     dist.all_reduce(g)
+    g = (g / p).to(w.dtype)
@@
-    adam(part, g[mine] / p, m, v, t, lr)
+    adam(part, g[mine], m, v, t, lr)
