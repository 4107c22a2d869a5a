# Right and wrong answers to `sync_norm_backward`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_async: passed
def sync_norm_backward(g, xhat, weight, inv, n):
    bias_gradient = g.sum(dim=0)
    weight_gradient = torch.einsum("ij,ij->j", g, xhat)
    sums = torch.cat([bias_gradient, weight_gradient])
    work = dist.all_reduce(sums, async_op=True)
    scale = weight * inv
    gx = scale * g
    work.wait()
    first, second = (sums / n).chunk(2)
    return gx - scale * (first + xhat * second), weight_gradient, bias_gradient

# %% right_gathers_sums: passed
# differs: The sums of all ranks are gathered and added by each for itself: p times the bytes, one collective all the same.
def sync_norm_backward(g, xhat, weight, inv, n):
    mine = torch.cat([g.sum(0, keepdim=True), (g * xhat).sum(0, keepdim=True)], dim=1)
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    c = g.shape[1]
    mean = torch.cat(every).sum(0) / n
    gx = (g - mean[:c] - xhat * mean[c:]) * (inv * weight)
    return gx, mine[0, c:], mine[0, :c]

# %% right_stacked: passed
def sync_norm_backward(g, xhat, weight, inv, n):
    own = torch.stack([g.sum(0), (g * xhat).sum(0)])
    total = own.clone()
    dist.all_reduce(total)
    gx = weight * inv * (g - total[0] / n - xhat * total[1] / n)
    return gx, own[1], own[0]

# %% wrong_averaged (right_stacked): wrong, sums_averaged, levels 0 0
-    dist.all_reduce(total)
+    dist.all_reduce(total, op=dist.ReduceOp.AVG)

# %% wrong_constant (right_stacked): wrong, as_if_constant, levels 0 0
-    gx = weight * inv * (g - total[0] / n - xhat * total[1] / n)
+    gx = weight * inv * g

# %% wrong_divides_by_the_weight: wrong, unrecognised, levels 0 1
def sync_norm_backward(g, xhat, weight, inv, n):
    inner = weight * g  # the gradient of xhat
    own = torch.stack([inner.sum(0), (inner * xhat).sum(0)])
    total = own.clone()
    dist.all_reduce(total)
    dx = inv * (inner - total[0] / n - xhat * total[1] / n)
    return dx, own[1] / weight, own[0] / weight

# %% wrong_empty_means_zero: wrong, empty_means_zero, levels 0 0
def sync_norm_backward(g, xhat, weight, inv, n):
    g_bias, g_weight = g.sum(0), (g * xhat).sum(0)
    means = torch.cat([g_bias, g_weight]) / max(1, len(g))
    dist.all_reduce(means)
    means /= dist.get_world_size()
    mean_g, mean_gx = means.chunk(2)
    g_x = weight * inv * (g - mean_g - xhat * mean_gx)
    return g_x, g_weight, g_bias

# %% wrong_empty_stays_out: hung, missing_rank, levels 0 1
def sync_norm_backward(g, xhat, weight, inv, n):
    own = torch.stack([g.sum(0), (g * xhat).sum(0)])
    if len(g) == 0:
        return g, own[1], own[0]
    total = own.clone()
    dist.all_reduce(total)
    return weight * inv * (g - total[0] / n - xhat * total[1] / n), own[1], own[0]

# %% wrong_exchanged (right_stacked): wrong, exchanged, levels 0 0
-    return gx, own[1], own[0]
+    return gx, own[0], own[1]

# %% wrong_float32 (right_stacked): wrong, lost_digits, levels 0 0
     total = own.clone()
+    total = total.float()

# %% wrong_gathers: wrong, too_many_collectives, levels 1 0
def sync_norm_backward(g, xhat, weight, inv, n):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, (g.numpy(), xhat.numpy()))
    gs = torch.cat([torch.from_numpy(one) for one, _ in every])
    xs = torch.cat([torch.from_numpy(one) for _, one in every])
    gx = weight * inv * (g - gs.mean(0) - xhat * (gs * xs).mean(0))
    return gx, (g * xhat).sum(0), g.sum(0)

# %% wrong_gathers_padded: wrong, moves_too_much, levels 1 0
def sync_norm_backward(g, xhat, weight, inv, n):
    both = g.new_zeros(n, 2 * g.shape[1])
    both[: len(g)] = torch.cat([g, g * xhat], dim=1)
    every = [torch.empty_like(both) for _ in range(dist.get_world_size())]
    dist.all_gather(every, both)
    first, second = (torch.cat(every).sum(0) / n).chunk(2)
    return weight * inv * (g - first - xhat * second), (g * xhat).sum(0), g.sum(0)

# %% wrong_mean_of_means: wrong, mean_of_means, levels 0 0
def sync_norm_backward(g, xhat, weight, inv, n):
    gw, gb = (g * xhat).sum(0), g.sum(0)
    both = torch.cat([g.mean(0), (g * xhat).mean(0)])
    dist.all_reduce(both)
    sg, sgx = both.chunk(2)
    p = dist.get_world_size()
    return weight * inv * (g - sg / p - xhat * sgx / p), gw, gb

# %% wrong_no_inv (right_stacked): wrong, inv_forgotten, levels 0 0
-    gx = weight * inv * (g - total[0] / n - xhat * total[1] / n)
+    gx = weight * (g - total[0] / n - xhat * total[1] / n)

# %% wrong_no_mean (right_stacked): wrong, no_mean_term, levels 0 0
-    gx = weight * inv * (g - total[0] / n - xhat * total[1] / n)
+    gx = weight * inv * (g - xhat * total[1] / n)

# %% wrong_no_variance (right_stacked): wrong, no_variance_term, levels 0 0
-    gx = weight * inv * (g - total[0] / n - xhat * total[1] / n)
+    gx = weight * inv * (g - total[0] / n)

# %% wrong_no_weight (right_stacked): wrong, weight_forgotten, levels 0 0
-    gx = weight * inv * (g - total[0] / n - xhat * total[1] / n)
+    gx = inv * (g - total[0] / n - xhat * total[1] / n)

# %% wrong_not_waited (right_stacked): wrong, forgot_wait, levels 0 0
-    dist.all_reduce(total)
+    dist.all_reduce(total, async_op=True)

# %% wrong_over_n (right_stacked): wrong, divided_by_n, levels 0 0
-    return gx, own[1], own[0]
+    return gx, own[1] / n, own[0] / n

# %% wrong_own (right_stacked): wrong, own_sums, levels 0 0
-    dist.all_reduce(total)
+    n = max(len(g), 1)

# %% wrong_own_means: wrong, divided_by_own_n, levels 0 0
def sync_norm_backward(g, xhat, weight, inv, n):
    gw, gb = (g * xhat).mean(0), g.mean(0)
    both = torch.cat([(g * xhat).sum(0), g.sum(0)])
    dist.all_reduce(both)
    sgx, sg = both.chunk(2)
    return weight * inv * (g - sg / n - xhat * sgx / n), gw, gb

# %% wrong_own_n (right_stacked): wrong, own_n, levels 0 0
     dist.all_reduce(total)
+    n = max(len(g), 1)

# %% wrong_own_over_n (right_stacked): wrong, own_sums_over_n, levels 0 0
-    dist.all_reduce(total)

# %% wrong_reduces_own (right_stacked): wrong, sums_of_all, levels 0 0
-    total = own.clone()
+    total = own

# %% wrong_sends_the_rows_along: wrong, moves_too_much, levels 1 0
def sync_norm_backward(g, xhat, weight, inv, n):
    own = torch.stack([g.sum(0), (g * xhat).sum(0)])
    total = own.clone()
    total = torch.cat([total.flatten(), torch.tensor([float(len(g))], dtype=g.dtype)])
    dist.all_reduce(total)
    total = total[:-1].reshape(2, -1)
    a, b = total / n
    return weight * inv * (g - a - xhat * b), own[1], own[0]

# %% wrong_squeezed (right_stacked): wrong, wrong_shape, levels 0 1
-    own = torch.stack([g.sum(0), (g * xhat).sum(0)])
+    own = torch.stack([g.sum(0, keepdim=True), (g * xhat).sum(0, keepdim=True)])
@@
-    return gx, own[1], own[0]
+    return gx, own[1].squeeze(), own[0].squeeze()

# %% wrong_sums_of_all (right_stacked): wrong, sums_of_all, levels 0 0
-    return gx, own[1], own[0]
+    return gx, total[1], total[0]

# %% wrong_two_calls (right_stacked): wrong, too_many_collectives, levels 1 0
-    dist.all_reduce(total)
+    dist.all_reduce(total[0])
+    dist.all_reduce(total[1])

# %% wrong_weight_in_the_sums: wrong, weight_in_the_sums, levels 0 0
def sync_norm_backward(g, xhat, weight, inv, n):
    weighed = g * weight
    own = torch.stack([weighed.sum(0), (weighed * xhat).sum(0)])
    total = own.clone()
    dist.all_reduce(total)
    return inv * (weighed - total[0] / n - xhat * total[1] / n), own[1], own[0]
