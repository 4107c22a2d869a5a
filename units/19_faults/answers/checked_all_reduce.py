# Right and wrong answers to `checked_all_reduce`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_before_the_vector: passed
def checked_all_reduce(x, all_reduce):
    sums = torch.tensor([x.sum(), x.abs().sum()], dtype=torch.float64)
    dist.all_reduce(sums)
    total = x.clone()
    all_reduce(total)
    good = abs(float(total.sum()) - float(sums[0])) <= 1e-10 * float(sums[1])
    bad = torch.tensor([0 if good else 1])
    dist.all_reduce(bad)
    return total, bad.item() == 0

# %% right_checksum_by_dot: passed
def checked_all_reduce(x, all_reduce):
    total = x.clone()
    all_reduce(total)
    sums = torch.stack([x @ torch.ones_like(x), x.norm(1)])
    dist.all_reduce(sums)
    ok = ((total @ torch.ones_like(x) - sums[0]).abs() <= 1e-10 * sums[1]).long()
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    return total, bool(ok)

# %% right_in_one_vector: passed
# differs: The checksum and the size of the numbers travel at the end of the vector itself: one message less.
def checked_all_reduce(x, all_reduce):
    n = len(x)
    sent = torch.cat([x, x.sum().reshape(1), x.abs().sum().reshape(1)])
    all_reduce(sent)
    good = torch.tensor([1.0 if abs(sent[:n].sum() - sent[n]) <= 1e-10 * sent[n + 1] else 0.0])
    dist.all_reduce(good, op=dist.ReduceOp.MIN)
    return sent[:n], good[0] > 0

# %% right_two_sums: passed
def checked_all_reduce(x, all_reduce):
    total = x.clone()
    all_reduce(total)
    sums = torch.stack([x.sum(), x.abs().sum()])
    dist.all_reduce(sums)
    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    return total, bool(ok)

# %% wrong_absolute_floor (right_two_sums): wrong, limit_too_high, levels 1 0 1 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1] + 1e-12).long()

# %% wrong_all_must_find_it (right_two_sums): wrong, one_rank_is_outvoted, levels 1 1 0 1
-    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
+    dist.all_reduce(ok, op=dist.ReduceOp.MAX)

# %% wrong_alone (right_two_sums): wrong, each_for_itself, levels 1 1 0 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
-    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
-    return total, bool(ok)
+    return total, bool((total.sum() - sums[0]).abs() <= 1e-10 * sums[1])

# %% wrong_below_the_limit: wrong, false_alarm, levels 0 1 1 1
def checked_all_reduce(x, all_reduce):
    before = torch.stack([x.sum(), x.abs().sum()])
    y = x.clone()
    all_reduce(y)
    dist.all_reduce(before)
    after = y.sum()
    good = bool((after - before[0]).abs() < 1e-10 * before[1])
    flag = torch.tensor([int(good)])
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    return y, bool(flag.item())

# %% wrong_checksum_of_the_sum: wrong, compares_after_the_sum, levels 1 0 1 0
def checked_all_reduce(x, all_reduce):
    total = x.clone()
    all_reduce(total)
    low = total.sum().reshape(1)
    high = low.clone()
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    return total, bool(low == high)

# %% wrong_checksums_through_the_other (right_before_the_vector): wrong, checksums_may_flip, levels 1 0 0 1
-    dist.all_reduce(sums)
+    all_reduce(sums)

# %% wrong_exact (right_two_sums): wrong, false_alarm, levels 0 1 1 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    ok = (total.sum() == sums[0]).long()

# %% wrong_float32_checksums (right_checksum_by_dot): wrong, limit_too_high, levels 1 0 1 1
-    sums = torch.stack([x @ torch.ones_like(x), x.norm(1)])
+    sums = torch.stack([x.float().sum(), x.float().abs().sum()])
@@
-    ok = ((total @ torch.ones_like(x) - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    ok = ((total.float().sum() - sums[0]).abs() <= 1e-5 * sums[1]).long()

# %% wrong_hashes: wrong, compares_after_the_sum, levels 1 0 1 0
import hashlib


def checked_all_reduce(x, all_reduce):
    total = x.clone()
    all_reduce(total)
    digest = int(hashlib.sha256(total.numpy().tobytes()).hexdigest()[:15], 16)
    digests = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(digests, torch.tensor([digest]))
    return total, len({int(one) for one in digests}) == 1

# %% wrong_high_limit (right_two_sums): wrong, limit_too_high, levels 1 0 1 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    ok = ((total.sum() - sums[0]).abs() <= 1e-9 * sums[1]).long()

# %% wrong_in_place (right_two_sums): wrong, modifies_input, levels 0 0 0 0
-    total = x.clone()
+    total = x
+    sums = torch.stack([x.sum(), x.abs().sum()])
@@
-    sums = torch.stack([x.sum(), x.abs().sum()])

# %% wrong_largest_times_length: wrong, limit_too_high, levels 1 0 1 1
def checked_all_reduce(x, all_reduce):
    before = torch.stack([x.sum(), x.abs().max() * len(x)])
    y = x.clone()
    all_reduce(y)
    dist.all_reduce(before)
    after = y.sum()
    good = bool((after - before[0]).abs() <= 1e-10 * before[1])
    flag = torch.tensor([int(good)])
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    return y, bool(flag.item())

# %% wrong_limit_divided: wrong, false_alarm, levels 0 1 1 1
def checked_all_reduce(x, all_reduce):
    before = torch.stack([x.sum(), x.abs().sum()])
    y = x.clone()
    all_reduce(y)
    dist.all_reduce(before)
    after = y.sum()
    good = bool(torch.isfinite(after)) and bool((after - before[0]).abs() <= 1e-10 * before[1] / dist.get_world_size())
    flag = torch.tensor([int(good)])
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    return y, bool(flag.item())

# %% wrong_limit_of_both_sums (right_two_sums): wrong, limit_too_high, levels 1 0 1 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    after = total.sum()
+    limit = 1e-10 * (sums[1] + total.abs().sum())  # both sums have been rounded
+    ok = (torch.isfinite(after) & ((after - sums[0]).abs() <= limit)).long()

# %% wrong_limit_of_the_result_too (right_two_sums): wrong, infinite_limit, levels 1 0 1 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * torch.maximum(sums[1], total.abs().sum())).long()

# %% wrong_magnitudes_of_the_sum (right_two_sums): wrong, false_alarm, levels 0 0 1 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * total.abs().sum()).long()

# %% wrong_not_a_number (right_two_sums): wrong, not_a_number_is_fine, levels 1 0 0 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    ok = 1 - ((total.sum() - sums[0]).abs() > 1e-10 * sums[1]).long()

# %% wrong_own_magnitudes (right_two_sums): wrong, false_alarm, levels 0 1 1 1
     sums = torch.stack([x.sum(), x.abs().sum()])
+    own = sums[1].clone()
@@
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * own).long()

# %% wrong_relative (right_two_sums): wrong, false_alarm, levels 0 1 1 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
+    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[0].abs()).long()

# %% wrong_twice: wrong, too_many_bytes, levels 1 1 1 0
def checked_all_reduce(x, all_reduce):
    total, again, magnitudes = x.clone(), x.clone(), x.abs()
    all_reduce(total)
    dist.all_reduce(again)
    dist.all_reduce(magnitudes)
    ok = torch.tensor([float((total - again).abs().sum() <= 1e-10 * magnitudes.sum())])
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    return total, bool(ok)

# %% wrong_verdict_of_rank_0 (right_two_sums): wrong, one_rank_is_outvoted, levels 1 1 0 1
-    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
+    dist.broadcast(ok, 0)

# %% wrong_verdict_through_the_other (right_two_sums): wrong, verdict_may_flip, levels 1 1 0 1
-    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
-    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
-    return total, bool(ok)
+    good = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).double().reshape(1)
+    all_reduce(good)
+    return total, bool(good[0] == dist.get_world_size())
