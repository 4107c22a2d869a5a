# Right and wrong answers to `shard`. In files of their own: autograder bank --write DIR
import torch
import torch.nn.functional as F

# %% right_cat: passed
def shard(flat, rank, p):
    k = -(-len(flat) // p)
    padded = torch.cat([flat, flat.new_zeros(k * p - len(flat))])
    return padded[rank * k : (rank + 1) * k]

# %% right_indices: passed
# differs: The places that the vector has are looked up; the others stay zeros.
def shard(flat, rank, p):
    k = -(-len(flat) // p)
    at = torch.arange(rank * k, (rank + 1) * k)
    there = at < len(flat)
    mine = torch.zeros(k, dtype=flat.dtype)
    mine[there] = flat[at[there]]
    return mine

# %% right_own_part: passed
# differs: Only the own part is copied into zeros: nothing of the size of the whole is made.
def shard(flat, rank, p):
    k = (len(flat) + p - 1) // p
    mine = flat.new_zeros(k)
    part = flat[rank * k : (rank + 1) * k]
    mine[: len(part)] = part
    return mine

# %% right_pad: passed
def shard(flat, rank, p):
    padded = F.pad(flat, (0, -len(flat) % p))
    return padded.chunk(p)[rank].clone()

# %% wrong_as_strided (right_own_part): wrong, not_side_by_side, levels 0 1
-    part = flat[rank * k : (rank + 1) * k]
+    begin = min(len(flat), rank * k)
+    size = min(k, len(flat) - begin)
+    part = flat.as_strided((size,), (1,), flat.storage_offset() + begin)

# %% wrong_at_least_one: wrong, padded_by_one_too_many, levels 1 0
def shard(flat, rank, p):
    k = max(1, -(-len(flat) // p))
    out = torch.zeros(k, dtype=flat.dtype)
    part = flat[rank * k : (rank + 1) * k]
    out[: len(part)] = part
    return out

# %% wrong_chunk: wrong, not_padded, levels 0 0
def shard(flat, rank, p):
    return flat.chunk(p)[rank]

# %% wrong_empty_padding (right_own_part): wrong, padding_not_zeros, levels 0 0
-    mine = flat.new_zeros(k)
+    mine = flat.new_empty(k)

# %% wrong_float32 (right_cat): wrong, wrong_dtype, levels 0 0
-    padded = torch.cat([flat, flat.new_zeros(k * p - len(flat))])
+    padded = torch.zeros(k * p)
+    padded[: len(flat)] = flat

# %% wrong_floor: wrong, drops_remainder, levels 0 0
def shard(flat, rank, p):
    k = len(flat) // p
    return flat[rank * k : (rank + 1) * k]

# %% wrong_front (right_cat): wrong, padded_in_front, levels 0 0
-    padded = torch.cat([flat, flat.new_zeros(k * p - len(flat))])
+    padded = torch.cat([flat.new_zeros(k * p - len(flat)), flat])

# %% wrong_goes_on: wrong, leans_on_another_rank, levels 0 0
taken = [0]


def shard(flat, rank, p):
    k = -(-len(flat) // p)
    if rank == 0:
        taken[0] = 0
    part = flat[taken[0] : taken[0] + k]
    taken[0] += len(part)
    return torch.cat([part, part.new_zeros(k - len(part))])

# %% wrong_last_repeated (right_cat): wrong, padding_not_zeros, levels 0 0
-    padded = torch.cat([flat, flat.new_zeros(k * p - len(flat))])
+    padded = torch.cat([flat] + [flat[-1:]] * (k * p - len(flat)))

# %% wrong_masked: wrong, padding_not_zeros, levels 0 0
def shard(flat, rank, p):
    n = len(flat)
    k = -(-n // p)
    at = torch.arange(rank * k, (rank + 1) * k)
    return flat[at.clamp(max=n - 1)] * (at < n) if n else flat.clone()

# %% wrong_no_offset: wrong, unrecognised, levels 0 1
def shard(flat, rank, p):
    k = -(-len(flat) // p)
    out = flat.new_zeros(k)
    begin = min(len(flat), rank * k)
    size = min(k, len(flat) - begin)
    step = flat.stride(0)
    out[:size] = torch.as_strided(flat, (size,), (step,), begin * step)
    return out

# %% wrong_one_more: wrong, padded_by_one_too_many, levels 0 0
def shard(flat, rank, p):
    padded = torch.cat([flat, flat.new_zeros(p - len(flat) % p)])
    return padded.view(p, -1)[rank]

# %% wrong_padded_split: wrong, padded_fair_share, levels 0 0
def shard(flat, rank, p):
    k = -(-len(flat) // p)
    mine = flat.tensor_split(p)[rank]
    return F.pad(mine, (0, k - len(mine)))

# %% wrong_padded_with_floats: wrong, wrong_dtype, levels 0 0
def shard(flat, rank, p):
    k = -(-len(flat) // p)
    mine = flat[rank * k : (rank + 1) * k]
    return torch.cat([mine, torch.zeros(k - len(mine))])

# %% wrong_padding_to_the_end: wrong, wrong_shape, levels 1 0
def shard(flat, rank, p):
    k = -(-len(flat) // p)
    mine = flat[rank * k : (rank + 1) * k]
    return torch.cat([mine, flat.new_zeros(max(0, (rank + 1) * k - len(flat)))])

# %% wrong_shard_front: wrong, shard_padded_in_front, levels 0 0
def shard(flat, rank, p):
    k = -(-len(flat) // p)
    mine = flat[rank * k : (rank + 1) * k]
    return torch.cat([flat.new_zeros(k - len(mine)), mine])

# %% wrong_short: wrong, not_padded, levels 0 0
def shard(flat, rank, p):
    k = -(-len(flat) // p)
    return flat[rank * k : (rank + 1) * k]

# %% wrong_strided: wrong, every_pth, levels 0 0
def shard(flat, rank, p):
    padded = torch.cat([flat, flat.new_zeros(-len(flat) % p)])
    return padded[rank::p]

# %% wrong_tensor_split: wrong, fair_share, levels 0 0
def shard(flat, rank, p):
    return flat.tensor_split(p)[rank]
