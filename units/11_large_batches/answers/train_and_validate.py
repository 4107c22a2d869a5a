# Right and wrong answers to `train_and_validate`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_ceiling: passed
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    size = -(-n // p)
    start, stop = min(rank * size, n), min((rank + 1) * size, n)
    counts = []
    for k in range(steps):
        step(k)
        if k % every == every - 1:
            own = torch.tensor(float(correct(start, stop)), dtype=torch.float64)
            every_count = [torch.empty_like(own) for _ in range(p)]
            dist.all_gather(every_count, own)
            counts.append(sum(every_count).item())
    return [count / n for count in counts]

# %% right_divmod: passed
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    size, rest = divmod(n, p)
    start = rank * size + min(rank, rest)
    mine = range(start, start + size + (rank < rest))
    found = []
    for k in range(1, steps + 1):
        step(k - 1)
        if not k % every:
            count = torch.zeros(1, dtype=torch.float64)
            if len(mine):
                count += correct(mine.start, mine.stop)
            found.append((count, dist.all_reduce(count, async_op=True)))
    for _, work in found:
        work.wait()
    return [float(count) / n for count, _ in found]

# %% right_shares: passed
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    start, stop = rank * n // p, (rank + 1) * n // p
    accuracies = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            count = torch.tensor([correct(start, stop)])
            dist.all_reduce(count)
            accuracies.append(count.item() / n)
    return accuracies

# %% right_strided: passed
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    found = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            count = torch.tensor(sum(correct(i, i + 1) for i in range(rank, n, p)))
            dist.all_reduce(count)
            found.append(count / n)
    return [float(one) for one in found]

# %% right_waits_at_the_end: passed
# differs: The sums are waited for after the training, so no validation holds up the next step.
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    open_ = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            c = torch.tensor(correct(rank * n // p, (rank + 1) * n // p))
            open_.append((c, dist.all_reduce(c, async_op=True)))
    out = []
    for c, request in open_:
        request.wait()
        out.append(c.item() / n)
    return out

# %% wrong_after_the_first (right_shares): wrong, after_the_first, levels 0 0
-        if (k + 1) % every == 0:
+        if k % every == 0:

# %% wrong_barrier_first (right_shares): wrong, too_many_collectives, levels 1 0
         if (k + 1) % every == 0:
+            dist.barrier()

# %% wrong_before: wrong, before_the_step, levels 0 0
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    accuracies = []
    for k in range(steps):
        if k % every == 0:
            count = torch.tensor([correct(rank * n // p, (rank + 1) * n // p)])
            dist.all_reduce(count)
            accuracies.append(count.item() / n)
        step(k)
    return accuracies

# %% wrong_before_its_step: wrong, before_its_step, levels 0 0
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    out = []
    for k in range(steps):
        if (k + 1) % every == 0:
            c = torch.tensor(correct(rank * n // p, (rank + 1) * n // p))
            dist.all_reduce(c)
            out.append(c.item() / n)
        step(k)
    return out

# %% wrong_counts (right_shares): wrong, counts, levels 0 0
-            accuracies.append(count.item() / n)
+            accuracies.append(count.item())

# %% wrong_empty_stays_out (right_shares): hung, mismatched_dtype, levels 0 1
-        if (k + 1) % every == 0:
+        if (k + 1) % every == 0 and start < stop:

# %% wrong_everybody (right_shares): wrong, everybody_everything, levels 1 0
-            count = torch.tensor([correct(start, stop)])
-            dist.all_reduce(count)
+            count = torch.tensor([correct(0, n)])

# %% wrong_everybody_summed (right_shares): wrong, p_times, levels 0 0
-            count = torch.tensor([correct(start, stop)])
+            count = torch.tensor([correct(0, n)])

# %% wrong_float16 (right_strided): wrong, unrecognised, levels 0 1
-            count = torch.tensor(sum(correct(i, i + 1) for i in range(rank, n, p)))
-            dist.all_reduce(count)
-            found.append(count / n)
-    return [float(one) for one in found]
+            c = torch.tensor([correct(rank * n // p, (rank + 1) * n // p)], dtype=torch.float16)
+            dist.all_reduce(c)
+            found.append(c.item() / n)
+    return found

# %% wrong_gathers_objects: wrong, too_many_collectives, levels 1 0
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    share = -(-n // p)
    start, stop = min(n, rank * share), min(n, (rank + 1) * share)
    accuracies = []
    for k in range(1, steps + 1):
        step(k - 1)
        if k % every:
            continue
        mine = correct(start, stop) if start < stop else 0
        counts = [None] * p
        dist.all_gather_object(counts, mine)
        accuracies.append(sum(counts) / n)
    return accuracies

# %% wrong_mean (right_shares): wrong, mean_of_accuracies, levels 0 0
-            count = torch.tensor([correct(start, stop)])
-            dist.all_reduce(count)
-            accuracies.append(count.item() / n)
+            share = correct(start, stop) / (stop - start) if stop > start else 0.0
+            pair = torch.tensor([share, float(stop > start)], dtype=torch.float64)
+            dist.all_reduce(pair)
+            accuracies.append(float(pair[0] / pair[1]))

# %% wrong_no_integers: wrong, rank_0_alone, levels 1 0
def train_and_validate(step, correct, steps, every, n):
    accuracies = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            number = torch.zeros(1, dtype=torch.float64)
            if dist.get_rank() == 0:
                number += correct(0, n) / n
            dist.broadcast(number, 0)
            accuracies.append(float(number))
    return accuracies

# %% wrong_not_after_step_0: wrong, never_after_step_0, levels 0 1
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    found = []
    for k in range(steps):
        step(k)
        if k > 0 and (k + 1) % every == 0:
            c = torch.tensor(correct(rank * n // p, (rank + 1) * n // p))
            dist.all_reduce(c)
            found.append(c.item() / n)
    return found

# %% wrong_one_more (right_shares): wrong, one_more, levels 0 1
-        if (k + 1) % every == 0:
+        if (k + 1) % every == 0 or k == steps - 1:

# %% wrong_only_rank_0_knows (right_shares): wrong, reduce_to_one, levels 0 0
-    start, stop = rank * n // p, (rank + 1) * n // p
@@
-            count = torch.tensor([correct(start, stop)])
-            dist.all_reduce(count)
+            count = torch.tensor(correct(rank * n // p, (rank + 1) * n // p))
+            dist.reduce(count, 0)

# %% wrong_own_count (right_shares): wrong, count_of_one, levels 0 0
-            dist.all_reduce(count)

# %% wrong_own_share (right_shares): wrong, own_share, levels 0 0
-            dist.all_reduce(count)
-            accuracies.append(count.item() / n)
+            accuracies.append(count.item() / max(stop - start, 1))

# %% wrong_rank_0 (right_shares): wrong, rank_0_alone, levels 1 0
-            count = torch.tensor([correct(start, stop)])
+            count = torch.tensor([correct(0, n) if rank == 0 else 0])

# %% wrong_rest (right_shares): wrong, rest_dropped, levels 0 0
-    start, stop = rank * n // p, (rank + 1) * n // p
+    start, stop = rank * (n // p), (rank + 1) * (n // p)

# %% wrong_rest_not_counted: wrong, rest_not_counted, levels 0 0
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    share = n // p
    accuracies = []
    for k in range(steps):
        step(k)
        if k % every == every - 1:
            pair = torch.tensor([correct(rank * share, (rank + 1) * share), share])
            dist.all_reduce(pair)
            accuracies.append(float(pair[0] / pair[1]))
    return accuracies

# %% wrong_rest_on_last (right_shares): wrong, uneven_shares, levels 1 0
-    start, stop = rank * n // p, (rank + 1) * n // p
+    start, stop = rank * (n // p), n if rank == p - 1 else (rank + 1) * (n // p)

# %% wrong_share_rounded: wrong, uneven_shares, levels 1 0
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    share = round(n / p)
    start = min(rank * share, n)
    stop = n if rank == p - 1 else min(start + share, n)
    found = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            c = torch.tensor(correct(start, stop))
            dist.all_reduce(c)
            found.append(c.item() / n)
    return found

# %% wrong_skips_steps (right_shares): wrong, steps_left_out, levels 0 1
         step(k)
+        if k == steps - 1 and steps % every:
+            step(k)

# %% wrong_stacks_nothing: raised, RuntimeError, levels 0 1
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    counts = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            counts.append(torch.tensor(float(correct(rank * n // p, (rank + 1) * n // p)), dtype=torch.float64))
    total = torch.stack(counts)
    dist.all_reduce(total)
    return (total / n).tolist()

# %% wrong_starts_behind_the_end: raised, ValueError, levels 0 1
import math


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    share = math.ceil(n / p)
    start = rank * share
    stop = min(n, start + share)
    out = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            c = torch.tensor(correct(start, stop))
            dist.all_reduce(c)
            out.append(c.item() / n)
    return out

# %% wrong_two_calls (right_shares): wrong, too_many_collectives, levels 1 0
-            accuracies.append(count.item() / n)
+            seen = torch.tensor([stop - start])
+            dist.all_reduce(seen)
+            accuracies.append(count.item() / seen.item())

# %% wrong_validates_later: wrong, validates_later, levels 0 0
def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    for k in range(steps):
        step(k)
    counts = torch.tensor([correct(rank * n // p, (rank + 1) * n // p) for _ in range(steps // every)])
    dist.all_reduce(counts)
    return [count / n for count in counts.tolist()]
