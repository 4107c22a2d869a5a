# Right and wrong answers to `largest_anywhere`. In files of their own: autograder bank --write DIR
import torch.distributed as dist

# %% right_all_gather: passed
import torch


def largest_anywhere(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return torch.stack(parts).amax(0)

# %% right_all_reduce: passed
def largest_anywhere(x):
    largest = x.clone()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return largest

# %% wrong_asks_twice (right_all_reduce): wrong, two_collectives, levels 0 0
     largest = x.clone()
+    dist.barrier()
@@
     dist.all_reduce(largest, op=dist.ReduceOp.MAX)
+    dist.broadcast(largest, 0)

# %% wrong_in_place: wrong, modifies_input, levels 0 0
def largest_anywhere(x):
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    return x

# %% wrong_own_values: wrong, own_values, levels 0 0
def largest_anywhere(x):
    return x.clone()

# %% wrong_rank_0_alone (right_all_reduce): hung, missing_rank, levels 0 0
-    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
+    if dist.get_rank() == 0:
+        dist.all_reduce(largest, op=dist.ReduceOp.MAX)

# %% wrong_returns_nothing (right_all_reduce): wrong, returns_nothing, levels 0 0
-    return largest

# %% wrong_sum: wrong, unrecognised, levels 0 0
def largest_anywhere(x):
    total = x.clone()
    dist.all_reduce(total)
    return total
