# Right and wrong answers to `evaluate`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_gathers: passed
def evaluate(correct, loss_sum, count, root):
    own = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    p = dist.get_world_size()
    parts = [torch.empty_like(own) for _ in range(p)]
    if root is None:
        dist.all_gather(parts, own)
    else:
        dist.gather(own, parts if dist.get_rank() == root else None, dst=root)
        if dist.get_rank() != root:
            return None
    total = torch.stack(parts).sum(0)
    return float(total[0] / total[2]), float(total[1] / total[2])

# %% right_one_tensor: passed
def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root is None:
        dist.all_reduce(sums)
    else:
        dist.reduce(sums, dst=root)
        if dist.get_rank() != root:
            return None
    correct, loss_sum, count = sums.tolist()
    return correct / count, loss_sum / count

# %% right_two_types: passed
# differs: Counts travel as integers and the loss as a float: no count is ever rounded, at the price of a second call.
def evaluate(correct, loss_sum, count, root):
    counts, loss = torch.tensor([correct, count]), torch.tensor([loss_sum], dtype=torch.double)
    for sums in (counts, loss):
        if root is None:
            dist.all_reduce(sums)
        else:
            dist.reduce(sums, root)
    if root is not None and root != dist.get_rank():
        return None
    return (counts[0] / counts[1].double()).item(), (loss[0] / counts[1]).item()

# %% wrong_all_reduce (right_one_tensor): wrong, spread_for_nothing, levels 1 1 0
-        dist.reduce(sums, dst=root)
+        dist.all_reduce(sums)

# %% wrong_default_type (right_one_tensor): wrong, narrow_type, levels 0 0 0
-    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
+    sums = torch.tensor([correct, loss_sum, count])
@@
-    correct, loss_sum, count = sums.tolist()
-    return correct / count, loss_sum / count
+    return float(sums[0] / sums[2]), float(sums[1] / sums[2])

# %% wrong_empty_counts_one (right_one_tensor): wrong, empty_counts_one, levels 0 1 0
-    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
+    sums = torch.tensor([correct, loss_sum, max(count, 1)], dtype=torch.float64)

# %% wrong_empty_root (right_one_tensor): wrong, returns_nothing, levels 1 1 0
-        if dist.get_rank() != root:
+        if dist.get_rank() != root or count == 0:
@@
-    correct, loss_sum, count = sums.tolist()
-    return correct / count, loss_sum / count
+    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()

# %% wrong_everybody (right_one_tensor): wrong, everybody_answers, levels 1 1 0
-        if dist.get_rank() != root:
-            return None
@@
-    return correct / count, loss_sum / count
+    return correct / max(count, 1), loss_sum / max(count, 1)

# %% wrong_fixed_point (right_one_tensor): wrong, narrow_type, levels 0 0 0
-    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
+    sums = torch.tensor([correct, round(loss_sum * 10**6), count])
@@
-    return correct / count, loss_sum / count
+    return correct / count, loss_sum / 10**6 / count

# %% wrong_float32 (right_one_tensor): wrong, narrow_type, levels 0 0 0
-    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
+    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float32)

# %% wrong_mean_of_means: wrong, mean_of_means, levels 0 0 0
def evaluate(correct, loss_sum, count, root):
    n = max(count, 1)
    means = torch.tensor([correct / n, loss_sum / n], dtype=torch.float64) / dist.get_world_size()
    if root is None:
        dist.all_reduce(means)
    else:
        dist.reduce(means, root)
        if dist.get_rank() != root:
            return None
    return tuple(means.tolist())

# %% wrong_nan: wrong, empty_is_nan, levels 0 1 0
def evaluate(correct, loss_sum, count, root):
    own = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    own[:2] /= own[2]
    weighted = torch.stack([own[0] * own[2], own[1] * own[2], own[2]])
    if root is None:
        dist.all_reduce(weighted)
    else:
        dist.reduce(weighted, root)
        if dist.get_rank() != root:
            return None
    return (weighted[0] / weighted[2]).item(), (weighted[1] / weighted[2]).item()

# %% wrong_one_hot_rows: wrong, too_many_bytes, levels 1 0 0
def evaluate(correct, loss_sum, count, root):
    table = torch.zeros(dist.get_world_size(), 3, dtype=torch.float64)
    table[dist.get_rank()] = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root is None:
        dist.all_reduce(table)
    else:
        dist.reduce(table, root)
        if dist.get_rank() != root:
            return None
    correct, loss_sum, count = table.sum(0).tolist()
    return correct / count, loss_sum / count

# %% wrong_over_ranks (right_one_tensor): wrong, divided_by_ranks, levels 0 0 0
-    return correct / count, loss_sum / count
+    return correct / count, loss_sum / dist.get_world_size()

# %% wrong_own (right_one_tensor): wrong, own_only, levels 0 0 0
-    correct, loss_sum, count = sums.tolist()
+    count = max(count, 1)

# %% wrong_own_first: wrong, ranks_disagree, levels 1 0 1
def evaluate(correct, loss_sum, count, root):
    own = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    rank, p = dist.get_rank(), dist.get_world_size()
    if root is not None:
        dist.reduce(own, root)
        return (float(own[0] / own[2]), float(own[1] / own[2])) if rank == root else None
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    for k in range(1, p):
        own += parts[(rank + k) % p]
    return float(own[0] / own[2]), float(own[1] / own[2])

# %% wrong_own_sums_first: wrong, ranks_disagree, levels 1 0 1
def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    rank, p = dist.get_rank(), dist.get_world_size()
    if root is None:
        parts = [torch.empty_like(sums) for _ in range(p)]
        dist.all_gather(parts, sums)
        sums = sum([parts[q] for q in range(p) if q != rank], parts[rank].clone())
    else:
        dist.reduce(sums, root)
        if rank != root:
            return None
    right, loss, n = sums.tolist()
    return right / n, loss / n

# %% wrong_rank_0 (right_one_tensor): wrong, wrong_root, levels 1 1 0
-        dist.reduce(sums, dst=root)
-        if dist.get_rank() != root:
+        dist.reduce(sums, dst=0)
+        if dist.get_rank() != 0:

# %% wrong_reduce_only (right_one_tensor): wrong, reads_reduce_off_root, levels 0 0 1
-        dist.all_reduce(sums)
+        dist.reduce(sums, dst=0)
@@
-    return correct / count, loss_sum / count
+    return correct / max(count, 1), loss_sum / max(count, 1)

# %% wrong_root_zero_is_none: wrong, spread_for_nothing, levels 1 1 0
def evaluate(correct, loss_sum, count, root):
    sums = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root:
        dist.reduce(sums, root)
    else:
        dist.all_reduce(sums)
    if root is not None and dist.get_rank() != root:
        return None
    right, loss, n = sums.tolist()
    return right / n, loss / n

# %% wrong_sum (right_one_tensor): wrong, sum_for_mean, levels 0 0 0
-    return correct / count, loss_sum / count
+    return correct / count, loss_sum

# %% wrong_swapped: wrong, swapped, levels 0 0 0
def evaluate(correct, loss_sum, count, root):
    s = torch.tensor([correct, loss_sum, count], dtype=torch.float64)
    if root is None:
        dist.all_reduce(s)
    else:
        dist.reduce(s, root)
        if dist.get_rank() != root:
            return None
    return (s[1] / s[2]).item(), (s[0] / s[2]).item()

# %% wrong_zero_division (right_one_tensor): raised, ZeroDivisionError, levels 0 0 0
 def evaluate(correct, loss_sum, count, root):
+    correct, loss_sum = correct / count, loss_sum / count
