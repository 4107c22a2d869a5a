# Right and wrong answers to `unshard`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_async_rows: passed
# differs: A row for each rank and a call that returns at once; the padding is cut off at the end.
def unshard(part, n):
    whole = part.new_zeros(dist.get_world_size(), len(part))
    work = dist.all_gather_single(whole, part, async_op=True)
    work.wait()
    return whole.flatten()[:n]

# %% right_into_tensor: passed
def unshard(part, n):
    whole = part.new_empty(len(part) * dist.get_world_size())
    dist.all_gather_into_tensor(whole, part)
    return whole[:n]

# %% right_list: passed
def unshard(part, n):
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part.contiguous())
    return torch.cat(parts)[:n].clone()

# %% wrong_all_padding_stays_away: hung, missing_rank, levels 1 0 1
def unshard(part, n):
    whole = part.new_zeros(len(part) * dist.get_world_size())
    if dist.get_rank() * len(part) < n:
        dist.all_gather_single(whole, part)
    return whole[:n]

# %% wrong_broadcasts: wrong, too_many_collectives, levels 1 1 0
def unshard(part, n):
    parts = []
    for r in range(dist.get_world_size()):
        other = part.clone()
        dist.broadcast(other, r)
        parts.append(other)
    return torch.cat(parts)[:n]

# %% wrong_broadcasts_where_padded: wrong, too_many_collectives, levels 1 1 0
def unshard(part, n):
    p = dist.get_world_size()
    if n % p == 0:
        whole = part.new_empty(n)
        dist.all_gather_single(whole, part)
        return whole
    parts = []
    for r in range(p):
        one = part.clone()
        dist.broadcast(one, r)
        parts.append(one)
    return torch.cat(parts)[:n]

# %% wrong_even_shares: wrong, even_shares, levels 1 0 1
def unshard(part, n):
    p = dist.get_world_size()
    parts = [torch.empty_like(part) for _ in range(p)]
    dist.all_gather(parts, part)
    if n >= p and n > (p - 1) * len(part):
        return torch.cat(parts)[:n]
    held = [n // p + (r < n % p) for r in range(p)]
    return torch.cat([one[:m] for one, m in zip(parts, held)])

# %% wrong_gather: wrong, only_one_rank, levels 0 0 0
def unshard(part, n):
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    dist.gather(part, parts)
    whole = torch.zeros(n, dtype=part.dtype)
    if parts:
        whole = torch.cat(parts)[:n]
    return whole

# %% wrong_interleaved (right_list): wrong, interleaved, levels 0 0 0
-    return torch.cat(parts)[:n].clone()
+    return torch.stack(parts, dim=1).flatten()[:n]

# %% wrong_nothing_has_no_type (right_into_tensor): wrong, wrong_dtype, levels 1 0 1
 def unshard(part, n):
+    if n == 0:
+        return torch.empty(0)

# %% wrong_objects: wrong, moves_too_much, levels 1 1 0
def unshard(part, n):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, part)
    return torch.cat(parts)[:n]

# %% wrong_own: wrong, own_only, levels 0 0 0
def unshard(part, n):
    dist.barrier()
    return part

# %% wrong_padding: wrong, keeps_padding, levels 0 0 0
def unshard(part, n):
    whole = part.new_empty(len(part) * dist.get_world_size())
    dist.all_gather_single(whole, part)
    return whole

# %% wrong_reversed: wrong, wrong_order, levels 0 0 0
def unshard(part, n):
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part)
    return torch.cat(parts[::-1])[:n]

# %% wrong_rotated: wrong, own_first, levels 0 0 0
def unshard(part, n):
    r = dist.get_rank()
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part)
    return torch.cat(parts[r:] + parts[:r])[:n]

# %% wrong_sum_of_zeros: wrong, moves_too_much, levels 1 1 0
def unshard(part, n):
    r, k = dist.get_rank(), len(part)
    whole = part.new_zeros(k * dist.get_world_size())
    whole[r * k : (r + 1) * k] = part
    dist.all_reduce(whole)
    return whole[:n]

# %% wrong_through_numpy: raised, TypeError, levels 1 0 1
import numpy as np


def unshard(part, n):
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part)
    return torch.from_numpy(np.concatenate([one.numpy() for one in parts])[:n])

# %% wrong_trailing_zeros: wrong, wrong_shape, levels 0 0 0
def unshard(part, n):
    whole = torch.empty(dist.get_world_size() * len(part), dtype=part.dtype)
    dist.all_gather_single(whole, part)
    return whole[: int(whole.nonzero()[-1]) + 1]  # the padding is zeros

# %% wrong_unwaited: wrong, forgot_wait, levels 0 0 0
def unshard(part, n):
    whole = part.new_zeros(len(part) * dist.get_world_size())
    dist.all_gather_single(whole, part, async_op=True)
    dist.barrier()
    return whole[:n].clone()
