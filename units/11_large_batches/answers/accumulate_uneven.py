# Right and wrong answers to `accumulate_uneven`. In files of their own: autograder bank --write DIR
import torch.distributed as dist
from contextlib import nullcontext
from torch.nn.functional import mse_loss

# %% right_all_reduce_by_hand: passed
# differs: DDP stays silent all the way, and the gradients are added up by hand at the end and divided once, by all rows.
def accumulate_uneven(ddp, micro_batches, n):
    with ddp.no_sync():
        for x, y in micro_batches:
            ((ddp(x) - y) ** 2).sum().backward()
    for w in ddp.parameters():
        dist.all_reduce(w.grad)
        w.grad /= n

# %% right_context: passed
def accumulate_uneven(ddp, micro_batches, n):
    for k, (x, y) in enumerate(micro_batches):
        with nullcontext() if k == len(micro_batches) - 1 else ddp.no_sync():
            loss = mse_loss(ddp(x), y, reduction="sum") / n * dist.get_world_size()
            loss.backward()

# %% right_flag: passed
def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()
    full = [one for one in micro_batches if len(one[0])] or micro_batches[:1]
    for k, (x, y) in enumerate(full):
        ddp.require_backward_grad_sync = k + 1 == len(full)
        d = ddp(x) - y
        (d @ d * (p / n)).backward()

# %% right_last_outside: passed
def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
    x, y = micro_batches[-1]
    ((ddp(x) - y) ** 2).sum().mul(p / n).backward()

# %% right_scaled_afterwards: passed
def accumulate_uneven(ddp, micro_batches, n):
    *first, (x, y) = micro_batches
    with ddp.no_sync():
        for a, b in first:
            (ddp(a) - b).square().sum().backward()
    (ddp(x) - y).square().sum().backward()
    for w in ddp.parameters():
        w.grad *= dist.get_world_size() / n

# %% right_weighted_means: passed
def accumulate_uneven(ddp, micro_batches, n):
    last = len(micro_batches) - 1
    for k in range(last + 1):
        x, y = micro_batches[k]
        share = len(x) * dist.get_world_size() / n
        if k < last:
            with ddp.no_sync():
                loss = ((ddp(x) - y) ** 2).mean() * share
                loss.backward()
        else:
            loss = ((ddp(x) - y) ** 2).sum() / max(len(x), 1) * share
            loss.backward()

# %% wrong_added_up_and_scaled (right_all_reduce_by_hand): wrong, world_size_twice, levels 0 0 0
-        w.grad /= n
+        w.grad *= dist.get_world_size() / n

# %% wrong_divided_by_batches (right_last_outside): wrong, divided_by_batches, levels 0 0 0
-    p = dist.get_world_size()
+    p = dist.get_world_size() / len(micro_batches)

# %% wrong_every_time: wrong, synchronises_every_time, levels 1 0 0
def accumulate_uneven(ddp, micro_batches, n):
    for x, y in micro_batches:
        loss = ((ddp(x) - y) ** 2).sum() * dist.get_world_size() / n
        loss.backward()

# %% wrong_first_parameter (right_all_reduce_by_hand): wrong, one_parameter, levels 0 1 1
-    for w in ddp.parameters():
-        dist.all_reduce(w.grad)
-        w.grad /= n
+    weight = next(ddp.parameters())
+    dist.all_reduce(weight.grad)
+    weight.grad /= n

# %% wrong_float32: wrong, lost_digits, levels 0 0 0
def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()
    for k, (x, y) in enumerate(micro_batches):
        ddp.require_backward_grad_sync = k == len(micro_batches) - 1
        ((ddp(x.float().double()) - y.float().double()) ** 2).sum().mul(p / n).backward()

# %% wrong_forward_inside (right_last_outside): wrong, own_gradient, levels 0 0 0
-    x, y = micro_batches[-1]
-    ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+        x, y = micro_batches[-1]
+        loss = ((ddp(x) - y) ** 2).sum() * p / n
+    loss.backward()

# %% wrong_forward_outside (right_context): wrong, synchronises_every_time, levels 1 0 0
     for k, (x, y) in enumerate(micro_batches):
+        loss = mse_loss(ddp(x), y, reduction="sum") / n * dist.get_world_size()
@@
-            loss = mse_loss(ddp(x), y, reduction="sum") / n * dist.get_world_size()

# %% wrong_graphs: wrong, graphs_kept, levels 1 0 1
def accumulate_uneven(ddp, micro_batches, n):
    total = 0
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            total = total + ((ddp(x) - y) ** 2).sum()
    x, y = micro_batches[-1]
    total = total + ((ddp(x) - y) ** 2).sum()
    (total * dist.get_world_size() / n).backward()

# %% wrong_last_one_twice: wrong, last_one_twice, levels 0 0 0
def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()
    with ddp.no_sync():
        for x, y in micro_batches:
            (((ddp(x) - y) ** 2).sum() * p / n).backward()
    (((ddp(x) - y) ** 2).sum() * p / n).backward()

# %% wrong_last_only (right_last_outside): wrong, last_only, levels 0 0 0
     x, y = micro_batches[-1]
+    ddp.zero_grad()

# %% wrong_left_silent: wrong, stays_silent, levels 1 0 1
def accumulate_uneven(ddp, micro_batches, n):
    ddp.require_backward_grad_sync = False
    for x, y in micro_batches:
        ((ddp(x) - y) ** 2).sum().div(n).backward()
    for w in ddp.parameters():
        dist.all_reduce(w.grad)

# %% wrong_means (right_last_outside): wrong, mean_of_means, levels 0 0 0
-            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+            ((ddp(x) - y) ** 2).mean().div(len(micro_batches)).backward()
@@
-    ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+    ((ddp(x) - y) ** 2).mean().div(len(micro_batches)).backward()

# %% wrong_means_added (right_last_outside): wrong, means_added, levels 0 0 0
-            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+            ((ddp(x) - y) ** 2).mean().backward()
@@
-    ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+    ((ddp(x) - y) ** 2).mean().backward()

# %% wrong_means_of_filled: wrong, mean_of_means, levels 0 0 0
def accumulate_uneven(ddp, micro_batches, n):
    micro_batches = [pair for pair in micro_batches if len(pair[1])] or micro_batches[:1]
    b = len(micro_batches)
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            ((ddp(x) - y) ** 2).sum().div(b * max(1, len(y))).backward()
    x, y = micro_batches[-1]
    ((ddp(x) - y) ** 2).sum().div(b * max(1, len(y))).backward()

# %% wrong_no_world_size (right_last_outside): wrong, world_size_missing, levels 0 0 0
-            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+            ((ddp(x) - y) ** 2).sum().div(n).backward()
@@
-    ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+    ((ddp(x) - y) ** 2).sum().div(n).backward()

# %% wrong_one_big_batch: wrong, one_big_batch, levels 1 0 1
import torch


def accumulate_uneven(ddp, micro_batches, n):
    x = torch.cat([x for x, _ in micro_batches])
    y = torch.cat([y for _, y in micro_batches])
    loss = ((ddp(x) - y) ** 2).sum() * dist.get_world_size() / n
    loss.backward()

# %% wrong_one_too_few (right_last_outside): wrong, one_too_few, levels 0 0 0
-    x, y = micro_batches[-1]
+    x, y = micro_batches[-2] if len(micro_batches) > 1 else micro_batches[-1]
+    ddp.zero_grad()
+    with ddp.no_sync():
+        for x, y in micro_batches[:-2]:
+            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+    x, y = micro_batches[-2] if len(micro_batches) > 1 else (micro_batches[-1][0][:0], micro_batches[-1][1][:0])

# %% wrong_rank_means (right_last_outside): wrong, mean_of_ranks, levels 0 0 0
-            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+            ((ddp(x) - y) ** 2).sum().div(sum(len(y) for _, y in micro_batches)).backward()
@@
-    ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+    ((ddp(x) - y) ** 2).sum().div(sum(len(y) for _, y in micro_batches)).backward()

# %% wrong_skips_empty (right_last_outside): wrong, unrecognised, levels 1 0 0
         for x, y in micro_batches[:-1]:
+            if len(x) < 2:
+                continue

# %% wrong_skips_no_rows: hung, missing_rank, levels 1 1 0
def accumulate_uneven(ddp, micro_batches, n):
    filled = [(x, y) for x, y in micro_batches if len(x)]
    weight = dist.get_world_size() / n
    with ddp.no_sync():
        for x, y in filled[:-1]:
            (((ddp(x) - y) ** 2).sum() * weight).backward()
    for x, y in filled[-1:]:
        (((ddp(x) - y) ** 2).sum() * weight).backward()

# %% wrong_steps (right_last_outside): wrong, weights_changed, levels 0 0 0
     ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+    for w in ddp.parameters():
+        w.data -= 0.1 * w.grad

# %% wrong_stops_without_rows (right_all_reduce_by_hand): wrong, stops_without_rows, levels 1 1 0
         for x, y in micro_batches:
+            if not len(y):
+                break
@@
     for w in ddp.parameters():
+        if w.grad is None:
+            w.grad = w.detach() * 0

# %% wrong_sums (right_last_outside): wrong, not_divided, levels 0 0 0
-            ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+            ((ddp(x) - y) ** 2).sum().backward()
@@
-    ((ddp(x) - y) ** 2).sum().mul(p / n).backward()
+    ((ddp(x) - y) ** 2).sum().backward()

# %% wrong_synchronises_the_first: wrong, synchronises_the_first, levels 0 0 0
def accumulate_uneven(ddp, micro_batches, n):
    p = dist.get_world_size()

    def add(x, y):
        (((ddp(x) - y) ** 2).sum() * p / n).backward()

    add(*micro_batches[0])
    with ddp.no_sync():
        for x, y in micro_batches[1:]:
            add(x, y)
