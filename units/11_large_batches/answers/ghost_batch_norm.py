# Right and wrong answers to `ghost_batch_norm`. In files of their own: autograder bank --write DIR
import torch

# %% right_library: passed
def ghost_batch_norm(x, ghost, eps):
    if ghost <= 0 or len(x) % ghost != 0:
        raise ValueError("ghost must divide the rows")
    if ghost == 1:
        return torch.zeros_like(x)
    return torch.cat(
        [torch.nn.functional.batch_norm(part, None, None, training=True, eps=eps) for part in x.split(ghost)]
    )

# %% right_reshaped: passed
# differs: The groups become an axis of the tensor, and mean and variance are taken along it: no loop.
def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError(f"{len(x)} rows are no groups of {ghost}")
    groups = x.reshape(-1, ghost, x.shape[1])
    mean = groups.mean(1, keepdim=True)
    var = groups.var(1, unbiased=False, keepdim=True)
    return ((groups - mean) / torch.sqrt(var + eps)).reshape(x.shape)

# %% wrong_centred (right_reshaped): wrong, only_centred, levels 0 1
-    return ((groups - mean) / torch.sqrt(var + eps)).reshape(x.shape)
+    return (groups - mean).reshape(x.shape)

# %% wrong_difference_of_squares (right_reshaped): wrong, digits_cancel, levels 0 1
-    var = groups.var(1, unbiased=False, keepdim=True)
+    var = (groups**2).mean(1, keepdim=True) - mean**2

# %% wrong_eps_at_least: wrong, default_eps, levels 0 1
def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError("the rows make no groups")
    groups = x.reshape(-1, ghost, x.shape[1])
    var = groups.var(1, keepdim=True, correction=0)
    return ((groups - groups.mean(1, keepdim=True)) / (var + max(eps, 1e-5)).sqrt()).reshape(x.shape)

# %% wrong_eps_outside (right_reshaped): wrong, eps_outside, levels 0 1
-    return ((groups - mean) / torch.sqrt(var + eps)).reshape(x.shape)
+    return ((groups - mean) / (torch.sqrt(var) + eps)).reshape(x.shape)

# %% wrong_float32 (right_reshaped): wrong, lost_digits, levels 0 1
-    groups = x.reshape(-1, ghost, x.shape[1])
+    groups = x.float().double().reshape(-1, ghost, x.shape[1])

# %% wrong_groups_counted (right_reshaped): wrong, groups_counted, levels 0 1
-    groups = x.reshape(-1, ghost, x.shape[1])
+    groups = x.reshape(ghost, -1, x.shape[1])

# %% wrong_last_group_small: wrong, not_refused, levels 1 0
def ghost_batch_norm(x, ghost, eps):
    parts = x.split(max(ghost, 1))
    return torch.cat([(p - p.mean(0)) / torch.sqrt(p.var(0, unbiased=False) + eps) for p in parts])

# %% wrong_layer_norm: wrong, across_channels, levels 0 1
def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError
    return torch.nn.functional.layer_norm(x, x.shape[1:], eps=eps)

# %% wrong_library_one_row: wrong, ValueError, levels 0 1
def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError
    norm = torch.nn.BatchNorm1d(x.shape[1], eps=eps, affine=False, dtype=x.dtype)
    return torch.cat([norm(part) for part in x.split(ghost)])

# %% wrong_no_eps (right_reshaped): wrong, eps_forgotten, levels 0 1
-    return ((groups - mean) / torch.sqrt(var + eps)).reshape(x.shape)
+    return ((groups - mean) / torch.sqrt(var)).reshape(x.shape)

# %% wrong_not_refused (right_reshaped): wrong, not_refused, levels 1 0
-    if ghost < 1 or len(x) % ghost:
-        raise ValueError(f"{len(x)} rows are no groups of {ghost}")
+    rows = len(x) // ghost * ghost if ghost > 0 else 0
+    if rows < len(x):
+        return x[:rows]

# %% wrong_one_mean (right_reshaped): wrong, one_mean, levels 0 1
-    mean = groups.mean(1, keepdim=True)
-    var = groups.var(1, unbiased=False, keepdim=True)
+    mean = groups.mean((1, 2), keepdim=True)
+    var = groups.var((1, 2), unbiased=False, keepdim=True)

# %% wrong_refuses_everything: wrong, ValueError, levels 0 0
def ghost_batch_norm(*arguments, **options):
    raise ValueError("not today")

# %% wrong_refuses_one (right_reshaped): wrong, ValueError, levels 0 1
-    if ghost < 1 or len(x) % ghost:
+    if ghost <= 1 or len(x) % ghost:

# %% wrong_squeezed: wrong, wrong_shape, levels 0 1
def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError("the rows make no groups")
    out = []
    for part in x.split(ghost):
        mean = part.mean(0, keepdim=True)
        var = ((part - mean) ** 2).mean(0, keepdim=True)
        out += [row for row in ((part - mean) / (var + eps).sqrt())]
    return torch.stack(out).squeeze()

# %% wrong_strided: wrong, dealt, levels 0 1
def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError
    y, groups = torch.empty_like(x), len(x) // ghost
    for k in range(groups):
        part = x[k::groups]
        y[k::groups] = (part - part.mean(0)) / (part.var(0, unbiased=False) + eps).sqrt()
    return y

# %% wrong_unbiased (right_reshaped): wrong, unbiased, levels 0 1
-    var = groups.var(1, unbiased=False, keepdim=True)
+    var = groups.var(1, unbiased=True, keepdim=True)

# %% wrong_whole (right_reshaped): wrong, whole_batch, levels 0 1
-    groups = x.reshape(-1, ghost, x.shape[1])
+    groups = x[None]

# %% wrong_zero_is_a_division: raised, not_a_value_error, levels 1 0
def ghost_batch_norm(x, ghost, eps):
    if len(x) % ghost or ghost < 1:
        raise ValueError("the rows make no groups")
    groups = x.view(-1, ghost, x.shape[1])
    var = groups.var(1, keepdim=True, correction=0)
    return ((groups - groups.mean(1, keepdim=True)) / (var + eps).sqrt()).view_as(x)
