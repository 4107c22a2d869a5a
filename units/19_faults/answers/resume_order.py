# Right and wrong answers to `resume_order`. In files of their own: autograder bank --write DIR

# %% right_blocks: passed
def resume_order(order, step, per_rank, old, rank, world_size):
    batch, steps = per_rank * old, []
    left = order[step * batch :]
    while left:
        now, left = left[:batch], left[batch:]
        low, high = (len(now) * r // world_size for r in (rank, rank + 1))
        steps.append(now[low:high])
    return steps

# %% right_strides: passed
# differs: It steps through the order in global minibatches from where the old ranks stopped, and deals each out anew.
def resume_order(order, step, per_rank, old, rank, world_size):
    batch = per_rank * old
    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]

# %% right_tensor_split: passed
def resume_order(order, step, per_rank, old, rank, world_size):
    import torch

    rest = torch.tensor(order)[step * per_rank * old :]
    return [part.tensor_split(world_size)[rank].tolist() for part in rest.split(per_rank * old)] if len(rest) else []

# %% wrong_all_the_same (right_strides): wrong, same_on_all, levels 0 0
-    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
+    return [order[k : k + batch] for k in range(step * batch, len(order), batch)]

# %% wrong_blocks_if_nothing_changed (right_strides): wrong, uneven, levels 0 1
-    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
+    rest = [order[k : k + batch] for k in range(step * batch, len(order), batch)]
+    if world_size == old:  # as before: each rank its per_rank samples
+        return [one[rank * per_rank : (rank + 1) * per_rank] for one in rest]
+    return [one[rank::world_size] for one in rest]

# %% wrong_drops_remainder: wrong, uneven, levels 0 0
def resume_order(order, step, per_rank, old, rank, world_size):
    batch, share = per_rank * old, per_rank * old // world_size
    return [order[k + rank * share : min(k + batch, k + (rank + 1) * share)] for k in range(step * batch, len(order), batch)]

# %% wrong_fills_up: wrong, fills_up, levels 0 0
def resume_order(order, step, per_rank, old, rank, world_size):
    size = per_rank * old
    out = []
    for at in range(step * size, len(order), size):
        batch = order[at : at + size]
        out.append((batch + batch[:-len(batch) % world_size])[rank::world_size])
    return out

# %% wrong_flat (right_strides): wrong, not_lists, levels 0 0
-    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
+    return order[step * batch :][rank::world_size]

# %% wrong_float_bounds: wrong, drops_the_rest, levels 1 0
def resume_order(order, step, per_rank, old, rank, world_size):
    batch, steps = per_rank * old, []
    for k in range(step * batch, len(order), batch):
        now = order[k : k + batch]
        share = len(now) / world_size
        steps.append(now[int(rank * share) : int((rank + 1) * share)])
    return steps

# %% wrong_full_batches_only (right_strides): wrong, drops_the_last, levels 0 0
-    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
+    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order) - batch + 1, batch)]

# %% wrong_last_rank_takes_the_rest: wrong, uneven, levels 0 0
def resume_order(order, step, per_rank, old, rank, world_size):
    batch, steps = per_rank * old, []
    share = batch // world_size
    for k in range(step * batch, len(order), batch):
        now = order[k : k + batch]
        steps.append(now[rank * share : (rank + 1) * share] if rank < world_size - 1 else now[rank * share :])
    return steps

# %% wrong_new_batch: wrong, other_batch, levels 1 0
def resume_order(order, step, per_rank, old, rank, world_size):
    batch = per_rank * world_size
    return [order[k : k + batch][rank::world_size] for k in range(step * per_rank * old, len(order), batch)]

# %% wrong_new_everything (right_strides): wrong, position_of_new_ranks, levels 1 0
-    batch = per_rank * old
+    batch = per_rank * world_size

# %% wrong_new_position (right_strides): wrong, position_of_new_ranks, levels 1 0
-    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
+    return [order[k : k + batch][rank::world_size] for k in range(step * per_rank * world_size, len(order), batch)]

# %% wrong_no_empty_steps (right_strides): wrong, no_empty_list, levels 1 0
-    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
+    out = []
+    for start in range(step * batch, len(order), batch):
+        mini = order[start:start + batch]
+        if mini[rank::world_size]: out.append(mini[rank::world_size])
+    return out

# %% wrong_one_step_off (right_strides): wrong, other_samples, levels 0 0
-    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
+    return [order[k : k + batch][rank::world_size] for k in range((step + 1) * batch, len(order), batch)]

# %% wrong_restarts (right_strides): wrong, restarts_epoch, levels 0 0
-    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
+    return [order[k : k + batch][rank::world_size] for k in range(0, len(order), batch)]

# %% wrong_tensors (right_tensor_split): wrong, other_type, levels 0 0
-    return [part.tensor_split(world_size)[rank].tolist() for part in rest.split(per_rank * old)] if len(rest) else []
+    return [part.tensor_split(world_size)[rank] for part in rest.split(per_rank * old)] if len(rest) else []
