# Right and wrong answers to `head_attention`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
import torch.nn.functional as F

# %% right_asks_for_ranks: passed
def head_attention(x, q, k, v, out, head_size):
    if out.shape[0] % (head_size * dist.get_world_size()):
        raise ValueError(f"{q.shape[0]} rows are no whole heads of {head_size}")
    q, k, v = ((x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
    scores = q @ k.transpose(-2, -1) / head_size**0.5
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
    y = mixed.transpose(0, 1).flatten(1) @ out.T
    dist.all_reduce(y)
    return y

# %% right_by_hand: passed
def head_attention(x, q, k, v, out, head_size):
    if q.shape[0] % head_size:
        raise ValueError(f"{q.shape[0]} rows are no whole heads of {head_size}")
    q, k, v = ((x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
    scores = q @ k.transpose(-2, -1) / head_size**0.5
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
    y = mixed.transpose(0, 1).flatten(1) @ out.T
    dist.all_reduce(y)
    return y

# %% right_head_by_head: passed
import math


def head_attention(x, q, k, v, out, head_size):
    heads, rest = divmod(q.shape[0], head_size)
    if rest:
        raise ValueError("heads do not divide")
    y = torch.zeros_like(x)
    seen = torch.ones(len(x), len(x)).tril() > 0
    for h in range(heads):
        rows = slice(h * head_size, (h + 1) * head_size)
        a, b, c = x @ q[rows].T, x @ k[rows].T, x @ v[rows].T
        scores = torch.where(seen, a @ b.T / math.sqrt(head_size), -torch.inf)
        y += scores.softmax(1) @ c @ out[:, rows].T
    dist.all_reduce(y)
    return y

# %% right_library: passed
# differs: `scaled_dot_product_attention` does the masking and the softmax for all heads of this rank at once.
def head_attention(x, q, k, v, out, head_size):
    if len(q) % head_size != 0:
        raise ValueError("heads do not divide")
    q, k, v = (F.linear(x, w).view(len(x), -1, head_size).movedim(1, 0) for w in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = F.linear(mixed.movedim(0, 1).reshape(len(x), -1), out)
    dist.all_reduce(y)
    return y

# %% wrong_across: wrong, wrong_order, levels 0 1
def head_attention(x, q, k, v, out, head_size):
    if q.shape[0] % head_size:
        raise ValueError("heads do not divide")
    q, k, v = ((x @ w.T).unflatten(-1, (head_size, -1)).permute(2, 0, 1) for w in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = mixed.permute(1, 2, 0).flatten(1) @ out.T
    dist.all_reduce(y)
    return y

# %% wrong_any_rows (right_asks_for_ranks): wrong, accepts_any_size, levels 1 0
-    if out.shape[0] % (head_size * dist.get_world_size()):
-        raise ValueError(f"{q.shape[0]} rows are no whole heads of {head_size}")
+    rows = max(q.shape[0] // head_size, 1) * head_size
+    q, k, v, out = q[:rows], k[:rows], v[:rows], out[:, :rows]
+    head_size = min(head_size, len(q))

# %% wrong_asks_for_heads_rounded_down (right_asks_for_ranks): raised, RuntimeError, levels 1 0
-    if out.shape[0] % (head_size * dist.get_world_size()):
+    if out.shape[0] // head_size % dist.get_world_size():

# %% wrong_asks_too_late: wrong, too_many_bytes, levels 0 0
def head_attention(x, q, k, v, out, head_size):
    rows = torch.tensor([q.shape[0]])
    dist.all_reduce(rows)
    if q.shape[0] % head_size:
        raise ValueError("heads do not divide")
    q, k, v = ((x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = mixed.transpose(0, 1).flatten(1) @ out.T
    dist.all_reduce(y)
    return y

# %% wrong_barrier_first (right_library): wrong, accepts_any_size, levels 1 0
 def head_attention(x, q, k, v, out, head_size):
+    dist.barrier()

# %% wrong_exits (right_by_hand): wrong, accepts_any_size, levels 1 0
-        raise ValueError(f"{q.shape[0]} rows are no whole heads of {head_size}")
+        return None

# %% wrong_gathers_heads: wrong, too_many_bytes, levels 0 1
def gathered(t):
    parts = [torch.empty_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, t.contiguous())
    return torch.cat(parts, -1)


def head_attention(x, q, k, v, out, head_size):
    if q.shape[0] % head_size:
        raise ValueError("heads do not divide")
    q, k, v = (gathered(x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(0, 1).flatten(1) @ gathered(out).T

# %% wrong_masked_after (right_by_hand): wrong, masked_after_the_softmax, levels 0 1
-    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
+    mixed = scores.softmax(-1).masked_fill(later, 0) @ v

# %% wrong_masked_with_zero (right_by_hand): wrong, mask_too_weak, levels 0 1
-    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
+    mixed = scores.tril().softmax(-1) @ v

# %% wrong_minus_100: wrong, mask_too_weak, levels 0 1
def head_attention(x, q, k, v, out, head_size):
    rows = q.shape[0]
    if rows % head_size:
        raise ValueError(f"{rows} rows are no whole heads of {head_size}")
    heads, s = rows // head_size, x.shape[0]
    queries, keys, values = (
        F.linear(x, w).view(s, heads, head_size).transpose(0, 1) for w in (q, k, v)
    )
    scores = queries @ keys.transpose(1, 2) / head_size**0.5
    later = torch.ones(s, s, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, -100.0).softmax(-1)
    mixed = (weights @ values).transpose(0, 1).reshape(s, rows)
    y = F.linear(mixed, out)
    dist.all_reduce(y)
    return y

# %% wrong_never_asks (right_asks_for_ranks): raised, RuntimeError, levels 1 0
-    if out.shape[0] % (head_size * dist.get_world_size()):
-        raise ValueError(f"{q.shape[0]} rows are no whole heads of {head_size}")

# %% wrong_no_mask (right_by_hand): wrong, no_mask, levels 0 1
-    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
+    mixed = scores.softmax(-1) @ v

# %% wrong_no_scale (right_by_hand): wrong, no_scale, levels 0 1
-    scores = q @ k.transpose(-2, -1) / head_size**0.5
+    scores = q @ k.transpose(-2, -1)

# %% wrong_not_itself (right_by_hand): wrong, does_not_see_itself, levels 0 1
-    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
+    later = torch.ones(len(x), len(x), dtype=torch.bool).triu()

# %% wrong_not_itself_but_finite (right_by_hand): wrong, does_not_see_itself, levels 0 1
-    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
-    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
+    later = torch.ones(len(x), len(x), dtype=torch.bool).triu()
+    mixed = scores.masked_fill(later, -1e9).softmax(-1) @ v

# %% wrong_one_head (right_by_hand): wrong, one_head, levels 0 1
-    q, k, v = ((x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
-    scores = q @ k.transpose(-2, -1) / head_size**0.5
+    q, k, v = ((x @ w.T).unflatten(-1, (1, -1)).transpose(0, 1) for w in (q, k, v))
+    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5

# %% wrong_one_rank_unmasked: wrong, no_mask, levels 0 1
def head_attention(x, q, k, v, out, head_size):
    if len(q) % head_size:
        raise ValueError("heads do not divide")
    q, k, v = (F.linear(x, w).unflatten(1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
    if dist.get_world_size() == 1:
        return F.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1) @ out.T
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = mixed.transpose(0, 1).flatten(1) @ out.T
    dist.all_reduce(y)
    return y

# %% wrong_one_softmax (right_by_hand): wrong, one_softmax, levels 0 1
-    q, k, v = ((x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
+    q, k, v = ((x @ w.T)[None] for w in (q, k, v))

# %% wrong_own (right_by_hand): wrong, own_only, levels 0 1
-    dist.all_reduce(y)

# %% wrong_plain_exponentials: wrong, unrecognised, levels 0 1
def head_attention(x, q, k, v, out, head_size):
    rows = q.shape[0]
    if rows % head_size:
        raise ValueError(f"{rows} rows are no whole heads of {head_size}")
    heads, s = rows // head_size, x.shape[0]
    queries, keys, values = (
        F.linear(x, w).view(s, heads, head_size).transpose(0, 1) for w in (q, k, v)
    )
    scores = queries @ keys.transpose(1, 2) / head_size**0.5
    later = torch.ones(s, s, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, float("-inf")).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    mixed = (weights @ values).transpose(0, 1).reshape(s, rows)
    y = F.linear(mixed, out)
    dist.all_reduce(y)
    return y

# %% wrong_reduce (right_by_hand): wrong, only_one_rank, levels 0 1
-    dist.all_reduce(y)
+    dist.reduce(y, 0)

# %% wrong_reshaped (right_by_hand): wrong, reshaped_in_and_out, levels 0 1
-    q, k, v = ((x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
+    q, k, v = ((x @ w.T).reshape(-1, len(x), head_size) for w in (q, k, v))
@@
-    y = mixed.transpose(0, 1).flatten(1) @ out.T
+    y = mixed.reshape(len(x), -1) @ out.T

# %% wrong_reshaped_in (right_by_hand): wrong, reshaped_into_heads, levels 0 1
-    q, k, v = ((x @ w.T).unflatten(-1, (-1, head_size)).transpose(0, 1) for w in (q, k, v))
+    q, k, v = ((x @ w.T).reshape(-1, len(x), head_size) for w in (q, k, v))

# %% wrong_reshaped_out (right_by_hand): wrong, reshaped_back, levels 0 1
-    y = mixed.transpose(0, 1).flatten(1) @ out.T
+    y = mixed.reshape(len(x), -1) @ out.T

# %% wrong_scale (right_by_hand): wrong, wrong_scale, levels 0 1
         raise ValueError(f"{q.shape[0]} rows are no whole heads of {head_size}")
+    width = q.shape[0]
@@
-    scores = q @ k.transpose(-2, -1) / head_size**0.5
+    scores = q @ k.transpose(-2, -1) / width**0.5

# %% wrong_scale_of_width (right_by_hand): wrong, scale_of_the_width, levels 0 1
-    scores = q @ k.transpose(-2, -1) / head_size**0.5
+    scores = q @ k.transpose(-2, -1) / x.shape[-1] ** 0.5

# %% wrong_scaled_twice (right_library): wrong, scaled_twice, levels 0 1
-    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
+    mixed = F.scaled_dot_product_attention(q / head_size**0.5, k, v, is_causal=True)

# %% wrong_softmax_over_queries (right_by_hand): wrong, softmax_over_queries, levels 0 1
-    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
+    mixed = scores.masked_fill(later, -torch.inf).softmax(1) @ v
