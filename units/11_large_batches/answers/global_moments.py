# Right and wrong answers to `global_moments`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_gathered: passed
def global_moments(x):
    n = len(x)
    mean = x.sum(0) / max(n, 1)
    around = ((x - mean) ** 2).sum(0)
    mine = torch.cat([x.new_tensor([n]), mean, around])
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    every = torch.stack(every)
    c = x.shape[1]
    rows, means, arounds = every[:, :1], every[:, 1 : 1 + c], every[:, 1 + c :]
    total = rows.sum()
    mean = (rows * means).sum(0) / total
    var = (arounds + rows * (means - mean) ** 2).sum(0) / total
    return mean, var

# %% right_merged: passed
# differs: The moments of the ranks are merged one after the other by Chan's formula: accurate also where the mean is large.
def global_moments(x):
    c = x.shape[1]
    mine = torch.zeros(2 * c + 1, dtype=torch.float64)
    if len(x):
        mine[0] = len(x)
        var, mean = torch.var_mean(x, 0, correction=0)
        mine[1 : c + 1], mine[c + 1 :] = mean, var * len(x)
    p = dist.get_world_size()
    table = torch.empty(p * (2 * c + 1), dtype=torch.float64)
    dist.all_gather_into_tensor(table, mine)
    n, mean, m2 = 0, torch.zeros(c, dtype=torch.float64), torch.zeros(c, dtype=torch.float64)
    for row in table.view(p, -1):
        k = int(row[0])
        if k == 0:
            continue
        delta = row[1 : c + 1] - mean
        mean = mean + delta * k / (n + k)
        m2 = m2 + row[c + 1 :] + delta**2 * n * k / (n + k)
        n += k
    return mean, m2 / n

# %% right_own_shift: passed
def global_moments(x):
    c = x.shape[1]
    shift = x[0] if len(x) else x.new_zeros(c)
    moved = x - shift
    own = torch.cat([x.new_tensor([len(x)]), shift + moved.sum(0) / max(len(x), 1), moved.square().sum(0)])
    if len(x):
        own[1 + c :] -= moved.sum(0) ** 2 / len(x)
    every = torch.empty(dist.get_world_size() * len(own), dtype=x.dtype)
    dist.all_gather_single(every, own)
    every = every.view(-1, len(own))
    weights = every[:, 0] / every[:, 0].sum()
    middle = every[every[:, 0] > 0][0, 1 : 1 + c]
    off = weights @ ((every[:, 1 : 1 + c] - middle) * (every[:, :1] > 0))
    var = every[:, 1 + c :].sum(0) / every[:, 0].sum()
    for weight, row in zip(weights, every):
        if weight > 0:
            var = var + weight * (row[1 : 1 + c] - middle - off) ** 2
    return middle + off, var

# %% right_slots: passed
def global_moments(x):
    p, rank, c = dist.get_world_size(), dist.get_rank(), x.shape[1]
    table = x.new_zeros(p, 2 * c + 1)
    if len(x):
        table[rank, 0] = len(x)
        table[rank, 1 : c + 1] = x.mean(0)
        table[rank, c + 1 :] = x.var(0, unbiased=False) * len(x)
    dist.all_reduce(table)
    n, mean, around = x.new_zeros(()), x.new_zeros(c), x.new_zeros(c)
    for row in table:
        if row[0] == 0:
            continue
        both = n + row[0]
        delta = row[1 : c + 1] - mean
        mean = mean + delta * row[0] / both
        around = around + row[c + 1 :] + delta**2 * n * row[0] / both
        n = both
    return mean, around / n

# %% wrong_around_rank_0: wrong, digits_cancel, levels 1 0
def global_moments(x):
    rows, channels = x.shape
    mean = x.mean(0) if rows else x.new_zeros(channels)
    mine = torch.cat([x.new_tensor([rows]), mean, ((x - mean) ** 2).sum(0)])
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    n, means, around = torch.stack(everyone).split([1, channels, channels], dim=1)
    shift = means[0]
    mean = (n * means).sum(0) / n.sum()
    squares = (around + n * (means - shift) ** 2).sum(0) / n.sum()
    return mean, squares - (mean - shift) ** 2

# %% wrong_broadcast_shift: wrong, too_many_collectives, levels 1 0
def global_moments(x):
    c = x.shape[1]
    shift = x.max(0).values if len(x) else x.new_full((c,), float("-inf"))
    dist.all_reduce(shift, op=dist.ReduceOp.MAX)
    moved = x - shift
    sums = torch.cat([moved.sum(0), moved.square().sum(0), x.new_tensor([len(x)])])
    dist.all_reduce(sums)
    mean = sums[:c] / sums[-1]
    return shift + mean, sums[c : 2 * c] / sums[-1] - mean**2

# %% wrong_count_for_each_channel: wrong, moves_too_much, levels 1 0
def global_moments(x):
    n = len(x)
    mean = x.sum(0) / max(n, 1)
    mine = torch.stack([torch.full_like(mean, n), mean, ((x - mean) ** 2).sum(0)])
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    counts, means, squares = torch.stack(everyone).unbind(1)
    total = counts.sum(0)
    mean = (counts * means).sum(0) / total
    return mean, (squares + counts * (means - mean) ** 2).sum(0) / total

# %% wrong_deviation (right_gathered): wrong, deviation, levels 0 0
-    return mean, var
+    return mean, var.sqrt()

# %% wrong_empty (right_gathered): wrong, empty_divided, levels 0 0
-    mean = x.sum(0) / max(n, 1)
+    mean = x.mean(0)

# %% wrong_empty_stays_out: hung, missing_rank, levels 0 0
def global_moments(x):
    if len(x) == 0:
        return x.new_zeros(x.shape[1]), x.new_zeros(x.shape[1])
    own = torch.cat([x.new_tensor([len(x)]), x.mean(0), x.var(0, unbiased=False)])
    every = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(every, own)
    rows, means, variances = torch.stack(every).split([1, x.shape[1], x.shape[1]], dim=1)
    mean = (rows * means).sum(0) / rows.sum()
    return mean, (rows * (variances + (means - mean) ** 2)).sum(0) / rows.sum()

# %% wrong_float32 (right_gathered): wrong, lost_digits, levels 0 0
-    mine = torch.cat([x.new_tensor([n]), mean, around])
+    mine = torch.cat([x.new_tensor([n]), mean, around]).float().double()

# %% wrong_gathers_objects: wrong, too_many_collectives, levels 1 0
def global_moments(x):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, x.numpy())
    rows = torch.cat([torch.from_numpy(one) for one in every])
    return rows.mean(0), rows.var(0, unbiased=False)

# %% wrong_gathers_padded: wrong, moves_too_much, levels 1 0
def global_moments(x):
    padded = x.new_full((100, x.shape[1]), float("nan"))
    padded[: len(x)] = x
    every = [torch.empty_like(padded) for _ in range(dist.get_world_size())]
    dist.all_gather(every, padded)
    rows = torch.cat(every)
    rows = rows[~rows[:, 0].isnan()]
    return rows.mean(0), rows.var(0, unbiased=False)

# %% wrong_gathers_rows: wrong, too_many_collectives, levels 1 0
def global_moments(x):
    p = dist.get_world_size()
    counts = [torch.zeros(1, dtype=torch.int64) for _ in range(p)]
    dist.all_gather(counts, torch.tensor([len(x)]))
    most = int(max(counts))
    padded = torch.cat([x, x.new_zeros(most - len(x), x.shape[1])])
    every = [torch.empty_like(padded) for _ in range(p)]
    dist.all_gather(every, padded)
    rows = torch.cat([one[: int(n)] for one, n in zip(every, counts)])
    return rows.mean(0), rows.var(0, unbiased=False)

# %% wrong_means_alike (right_gathered): wrong, mean_of_means, levels 0 0
-    mean = (rows * means).sum(0) / total
+    mean = means.mean(0)

# %% wrong_one_row_has_no_deviation: wrong, unbiased_on_ranks, levels 0 0
def global_moments(x):
    n, channels = x.shape
    own = torch.zeros(2 * channels + 1, dtype=x.dtype)
    if n:
        own[0], own[1 : channels + 1], own[channels + 1 :] = n, x.mean(0), n * x.var(0)
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    table = torch.stack(parts)
    rows, means, around = table[:, :1], table[:, 1 : channels + 1], table[:, channels + 1 :]
    mean = (rows * means).sum(0) / rows.sum()
    return mean, (around + rows * (means - mean) ** 2).sum(0) / rows.sum()

# %% wrong_own: wrong, own_rows, levels 0 0
def global_moments(x):
    return x.mean(0), x.var(0, unbiased=False)

# %% wrong_own_rows_in_a_layer: wrong, own_rows, levels 0 0
def global_moments(x):
    norm = torch.nn.BatchNorm1d(x.shape[1], momentum=None, affine=False).double()
    norm.train()
    if len(x) > 1:
        norm(x)
    return x.mean(0), x.var(0, correction=0)

# %% wrong_squares_only: wrong, squares_only, levels 0 0
def global_moments(x):
    c = x.shape[1]
    s = torch.cat([x.sum(0), (x * x).sum(0), x.new_tensor([len(x)])])
    dist.all_reduce(s)
    s = s / s[-1]
    return s[:c], s[c : 2 * c]

# %% wrong_squeezed: wrong, wrong_shape, levels 0 1
def global_moments(x):
    n, c = x.shape
    mean = x.sum(0, keepdim=True) / max(n, 1)
    around = ((x - mean) ** 2).sum(0, keepdim=True)
    mine = torch.cat([x.new_tensor([[n]]), mean, around], dim=1)
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    rows, means, arounds = torch.cat(every).split([1, c, c], dim=1)
    mean = (rows * means).sum(0, keepdim=True) / rows.sum()
    var = (arounds + rows * (means - mean) ** 2).sum(0, keepdim=True) / rows.sum()
    return mean.squeeze(), var.squeeze()

# %% wrong_sums: wrong, digits_cancel, levels 1 0
def global_moments(x):
    c = x.shape[1]
    s = torch.cat([x.sum(0), (x * x).sum(0), x.new_tensor([len(x)])])
    dist.all_reduce(s)
    mean = s[:c] / s[-1]
    return mean, s[c : 2 * c] / s[-1] - mean**2

# %% wrong_two_steps: wrong, too_many_collectives, levels 1 0
def global_moments(x):
    s = torch.cat([x.sum(0), x.new_tensor([len(x)])])
    dist.all_reduce(s)
    mean = s[:-1] / s[-1]
    var = ((x - mean) ** 2).sum(0)
    dist.all_reduce(var)
    return mean, var / s[-1]

# %% wrong_unbiased (right_gathered): wrong, unbiased, levels 0 0
-    var = (arounds + rows * (means - mean) ** 2).sum(0) / total
+    var = (arounds + rows * (means - mean) ** 2).sum(0) / (total - 1)

# %% wrong_unbiased_on_one_rank (right_gathered): wrong, unbiased, levels 0 1
     n = len(x)
+    if dist.get_world_size() == 1:
+        return x.mean(0), x.var(0)

# %% wrong_variances_alike (right_gathered): wrong, variances_alike, levels 0 0
-    var = (arounds + rows * (means - mean) ** 2).sum(0) / total
+    var = (arounds / rows.clamp(min=1)).mean(0)

# %% wrong_within (right_gathered): wrong, averages_variances, levels 0 0
-    var = (arounds + rows * (means - mean) ** 2).sum(0) / total
+    var = arounds.sum(0) / total
