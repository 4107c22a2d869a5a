# Right and wrong answers to `train_until_told`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_bytes: passed
def train_until_told(step, told, steps):
    for k in range(steps):
        flags = [torch.zeros(1, dtype=torch.uint8) for _ in range(dist.get_world_size())]
        dist.all_gather(flags, torch.tensor([told()], dtype=torch.uint8))
        if any(flags):
            return k
        step()
    return steps

# %% right_max: passed
def train_until_told(step, told, steps):
    for k in range(steps):
        flag = torch.tensor(int(told()))
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        if flag:
            return k
        step()
    return steps

# %% right_sum: passed
# differs: The flags are added up, where others take the largest: above 0 means that somebody was told.
def train_until_told(step, told, steps):
    done, flag = 0, torch.zeros(1)
    while done < steps:
        flag[0] = float(told())
        dist.all_reduce(flag)
        if flag.item() > 0:
            break
        step()
        done += 1
    return done

# %% wrong_after_the_step (right_max): wrong, one_step_late, levels 1 0 1
     for k in range(steps):
+        step()
@@
-            return k
-        step()
+            return k + 1

# %% wrong_alone (right_bytes): hung, missing_rank, levels 0 0 0
-        flags = [torch.zeros(1, dtype=torch.uint8) for _ in range(dist.get_world_size())]
-        dist.all_gather(flags, torch.tensor([told()], dtype=torch.uint8))
-        if any(flags):
+        if told():

# %% wrong_asked_before_heard_after (right_max): wrong, one_step_late, levels 0 0 0
-        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
+        work = dist.all_reduce(flag, op=dist.ReduceOp.MAX, async_op=True)
+        step()
+        work.wait()
@@
-            return k
-        step()
+            return k + 1

# %% wrong_asks_itself_again: hung, missing_rank, levels 0 1 1
def train_until_told(step, told, steps):
    for done in range(steps):
        flag = torch.tensor([float(told())])
        dist.all_reduce(flag, dist.ReduceOp.MAX)
        if flag.item() or told():
            return done
        step()
    return steps

# %% wrong_at_least_one_step (right_max): raised, UnboundLocalError, levels 1 0 1
-    return steps
+    return k + 1

# %% wrong_counts_one_more (right_max): wrong, wrong_count, levels 0 0 0
-            return k
+            return k + 1

# %% wrong_exactly_one: wrong, exactly_one, levels 0 1 1
def train_until_told(step, told, steps):
    taken = 0
    while taken < steps:
        flag = torch.tensor([int(told())], dtype=torch.int64)
        dist.all_reduce(flag, op=dist.ReduceOp.SUM)
        if flag.item() == 1:
            break
        step()
        taken += 1
    return taken

# %% wrong_last_step_unasked: wrong, one_step_late, levels 1 0 1
def train_until_told(step, told, steps):
    for done in range(steps):
        if done == steps - 1 and done:
            step()
            return steps
        flag = torch.tensor([int(told())])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        if flag.item():
            return done
        step()
    return steps

# %% wrong_min (right_max): wrong, waits_for_all_signals, levels 0 0 0
-        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
+        dist.all_reduce(flag, op=dist.ReduceOp.MIN)

# %% wrong_never: wrong, never_stops, levels 0 0 0
def train_until_told(step, told, steps):
    for k in range(steps):
        step()
    return steps

# %% wrong_objects (right_bytes): wrong, too_many_bytes, levels 1 1 0
-        flags = [torch.zeros(1, dtype=torch.uint8) for _ in range(dist.get_world_size())]
-        dist.all_gather(flags, torch.tensor([told()], dtype=torch.uint8))
-        if any(flags):
+        flags = [None] * dist.get_world_size()
+        dist.all_gather_object(flags, {"stop": bool(told()), "step": k})
+        if any(one["stop"] for one in flags):

# %% wrong_rank_0 (right_max): wrong, asks_one_rank, levels 0 0 0
-        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
+        dist.broadcast(flag, 0)
