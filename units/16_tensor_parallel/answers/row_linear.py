# Right and wrong answers to `row_linear`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist
import torch.nn.functional as F

# %% right_all_reduce: passed
def row_linear(x, weight, bias):
    y = x @ weight.T
    dist.all_reduce(y)
    return y if bias is None else y + bias

# %% right_bias_on_rank_0: passed
def row_linear(x, weight, bias):
    y = F.linear(x, weight, bias if dist.get_rank() == 0 else None)
    dist.all_reduce(y)
    return y

# %% right_reduce_broadcast: passed
# differs: The sum is made on rank 0, which adds the bias, and goes back to all: bias once, by construction.
def row_linear(x, weight, bias):
    y = x @ weight.T
    dist.reduce(y, 0)
    if bias is not None and dist.get_rank() == 0:
        y += bias
    dist.broadcast(y, 0)
    return y

# %% right_two_halves: passed
def row_linear(x, weight, bias):
    p = dist.get_world_size()
    y = F.linear(x, weight)
    flat = F.pad(y.flatten(), (0, -y.numel() % p))
    if flat.numel() > y.numel():  # padding would cost bytes
        dist.all_reduce(y)
    else:
        mine = flat.new_empty(flat.numel() // p)
        dist.reduce_scatter_tensor(mine, flat)
        dist.all_gather_into_tensor(flat, mine)
        y = flat.view_as(y)
    if bias is not None:
        y += bias
    return y

# %% wrong_async_not_waited (right_all_reduce): wrong, forgot_wait, levels 0 0
-    dist.all_reduce(y)
+    dist.all_reduce(y, async_op=True)

# %% wrong_bias_by_rank_1: wrong, no_bias, levels 1 0
def row_linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    y = F.linear(x, weight, bias if dist.get_rank() == 1 else None)
    dist.all_reduce(y)
    return y

# %% wrong_bias_in_place (right_all_reduce): raised, RuntimeError, levels 1 0
-    return y if bias is None else y + bias
+    return y if bias is None else bias.add_(0).add_(y)

# %% wrong_bias_of_sum_zero (right_all_reduce): wrong, no_bias, levels 1 0
-    return y if bias is None else y + bias
+    if bias is not None and bias.sum() != 0:
+        y += bias
+    return y

# %% wrong_bias_p_times (right_bias_on_rank_0): wrong, bias_on_every_rank, levels 1 0
-    y = F.linear(x, weight, bias if dist.get_rank() == 0 else None)
+    y = F.linear(x, weight, bias)

# %% wrong_float32: wrong, lost_digits, levels 0 0
def row_linear(x, weight, bias):
    y = x.float() @ weight.float().T
    dist.all_reduce(y)
    y = y.double()
    return y if bias is None else y + bias

# %% wrong_gathers: wrong, too_many_bytes, levels 0 0
def row_linear(x, weight, bias):
    p = dist.get_world_size()
    xs = [torch.empty_like(x) for _ in range(p)]
    ws = [torch.empty_like(weight) for _ in range(p)]
    dist.all_gather(xs, x.contiguous())
    dist.all_gather(ws, weight.contiguous())
    return F.linear(torch.cat(xs, 1), torch.cat(ws, 1), bias)

# %% wrong_gathers_products (right_all_reduce): wrong, too_many_bytes, levels 0 0
-    dist.all_reduce(y)
+    parts = [torch.empty_like(y) for _ in range(dist.get_world_size())]
+    dist.all_gather(parts, y)
+    y = sum(parts)

# %% wrong_mean (right_all_reduce): wrong, averaged, levels 0 0
     dist.all_reduce(y)
+    y /= dist.get_world_size()

# %% wrong_no_bias (right_all_reduce): wrong, no_bias, levels 1 0
-    return y if bias is None else y + bias
+    return y

# %% wrong_own (right_all_reduce): wrong, own_only, levels 0 0
-    dist.all_reduce(y)

# %% wrong_reduce (right_all_reduce): wrong, only_one_rank, levels 0 0
-    dist.all_reduce(y)
+    dist.reduce(y, 0)

# %% wrong_sum_in_the_bias (right_all_reduce): wrong, modifies_input, levels 1 0
-    return y if bias is None else y + bias
+    if bias is None:
+        return y
+    return bias.add_(y[0])[None] if len(y) == 1 else y + bias
