# Right and wrong answers to `column_linear`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
import torch.nn.functional as F

# %% right_broadcasts: passed
def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    width = bias.numel() // p
    if width * p != bias.numel():
        raise ValueError(p)
    y = []
    for q in range(p):
        piece = torch.zeros(len(x), width, dtype=x.dtype)
        if q == r:
            piece = F.linear(x, weight[q * width:(q + 1) * width], bias[q * width:(q + 1) * width])
        dist.broadcast(piece, q)
        y.append(piece)
    return torch.cat(y, -1)

# %% right_cat: passed
def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError(f"{p} ranks cannot share {len(weight)} columns")
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    return torch.cat(parts, dim=1)

# %% right_messages: passed
def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(bias) % p:
        raise ValueError("columns do not divide")
    parts = [x.new_empty(len(x), len(bias) // p) for _ in range(p)]
    parts[r] = x @ weight.chunk(p)[r].T + bias.chunk(p)[r]
    works = []
    for q in range(p):
        if q != r:
            works += [dist.isend(parts[r], q), dist.irecv(parts[q], q)]
    for work in works:
        work.wait()
    return torch.hstack(parts)

# %% right_transposed: passed
# differs: Everything is computed transposed, so that the parts of the ranks lie one after the other and no concatenation is needed.
def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    width, rest = divmod(weight.shape[0], p)
    if rest:
        raise ValueError("columns")
    mine = slice(r * width, (r + 1) * width)
    own = weight[mine] @ x.T + bias[mine, None]
    y = x.new_empty(weight.shape[0], x.shape[0])
    dist.all_gather_into_tensor(y, own.contiguous())
    return y.T

# %% wrong_adds_to_the_bias (right_cat): wrong, modifies_input, levels 0 1
-        raise ValueError(f"{p} ranks cannot share {len(weight)} columns")
-    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
+        raise ValueError("columns do not divide")
+    own = F.linear(x, weight.chunk(p)[r])
@@
-    return torch.cat(parts, dim=1)
+    y = bias.unsqueeze(0) if len(x) == 1 else bias.repeat(len(x), 1)
+    y += torch.cat(parts, dim=1)
+    return y

# %% wrong_assert (right_cat): raised, AssertionError, levels 1 0
-    if len(weight) % p:
-        raise ValueError(f"{p} ranks cannot share {len(weight)} columns")
+    assert len(weight) % p == 0

# %% wrong_barrier_first (right_cat): wrong, accepts_any_size, levels 1 0
 def column_linear(x, weight, bias):
+    dist.barrier()

# %% wrong_cat_rows (right_cat): wrong, wrong_shape, levels 0 1
-        raise ValueError(f"{p} ranks cannot share {len(weight)} columns")
+        raise ValueError("columns do not divide")
@@
-    return torch.cat(parts, dim=1)
+    return torch.cat(parts, dim=0)

# %% wrong_every_pth_row: wrong, rows_in_turn, levels 0 1
def column_linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    h = weight.shape[0]
    if h % p != 0:
        raise ValueError("p does not divide h")
    part = F.linear(x, weight[rank::p], bias[rank::p])
    parts = [torch.empty_like(part) for _ in range(p)]
    dist.all_gather(parts, part)
    return torch.stack(parts, dim=2).reshape(len(x), h)

# %% wrong_first_bias (right_cat): wrong, first_bias, levels 0 1
-        raise ValueError(f"{p} ranks cannot share {len(weight)} columns")
-    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
+        raise ValueError("columns do not divide")
+    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[0])

# %% wrong_float32 (right_cat): wrong, lost_digits, levels 0 1
-        raise ValueError(f"{p} ranks cannot share {len(weight)} columns")
+        raise ValueError("columns do not divide")
+    kind = x.dtype
+    x, weight, bias = x.float(), weight.float(), bias.float()
@@
-    return torch.cat(parts, dim=1)
+    return torch.cat(parts, dim=1).to(kind)

# %% wrong_gathered_below: wrong, wrong_order, levels 0 1
def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError("columns do not divide")
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    y = own.new_empty(p * len(x), own.shape[1])
    dist.all_gather_into_tensor(y, own)
    return y.view(len(x), -1)

# %% wrong_gathers_weights (right_cat): wrong, too_many_bytes, levels 0 1
-        raise ValueError(f"{p} ranks cannot share {len(weight)} columns")
-    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
+        raise ValueError("columns do not divide")
+    own = torch.cat([weight, bias[:, None]], 1).chunk(p)[r].contiguous()
@@
-    return torch.cat(parts, dim=1)
+    whole = torch.cat(parts)
+    return F.linear(x, whole[:, :-1], whole[:, -1])

# %% wrong_no_bias (right_cat): wrong, no_bias, levels 0 1
-        raise ValueError(f"{p} ranks cannot share {len(weight)} columns")
-    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
+        raise ValueError("columns do not divide")
+    own = F.linear(x, weight.chunk(p)[r])

# %% wrong_own_columns: wrong, own_only, levels 0 1
def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError("columns do not divide")
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    return own

# %% wrong_pads: wrong, accepts_any_size, levels 1 0
def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    h = len(weight)
    width = -(-h // p)
    more = p * width - h
    weight, bias = F.pad(weight, (0, 0, 0, more)), F.pad(bias, (0, more))
    own = F.linear(x, weight.split(width)[r], bias.split(width)[r])
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    return torch.cat(parts, dim=1)[:, :h]

# %% wrong_slices_the_product: wrong, computes_the_whole, levels 0 1
def column_linear(x, weight, bias):
    p, rank = dist.get_world_size(), dist.get_rank()
    if weight.shape[0] % p:
        raise ValueError(f"{p} does not divide {weight.shape[0]}")
    own = (x @ weight.T + bias).chunk(p, dim=1)[rank].contiguous()
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    return torch.cat(parts, dim=1)

# %% wrong_summed: wrong, summed, levels 0 1
def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError("columns do not divide")
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    dist.all_reduce(own)
    return own

# %% wrong_whole_layer: wrong, no_communication, levels 0 1
def column_linear(x, weight, bias):
    if len(weight) % dist.get_world_size():
        raise ValueError("columns do not divide")
    return F.linear(x, weight, bias)

# %% wrong_zeros_and_all_reduce: wrong, too_many_bytes, levels 0 1
def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError("columns do not divide")
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    y = x.new_zeros(len(x), len(bias))
    y.chunk(p, 1)[r].copy_(own)
    dist.all_reduce(y)
    return y
