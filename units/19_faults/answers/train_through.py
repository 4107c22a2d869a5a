# Right and wrong answers to `train_through`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_final_barrier: passed
def train_through(w, gradient, update, shards, steps):
    alive, group, step = list(range(dist.get_world_size())), None, 0
    while step < steps:
        table = torch.zeros(shards, len(w), dtype=w.dtype)
        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
            table[shard] = gradient(w, step, shard)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            alive = [rank for rank in alive if rank not in gone.ranks]
            group = dist.new_group(alive)
            continue
        w, step = update(w, table), step + 1
    try:
        dist.barrier(group=group)
    except dist.DistBackendError:
        pass
    return w

# %% right_gathers: passed
# differs: The rows of all ranks are gathered in blocks, in place of adding tables of zeros: fewer bytes, the same order of the sum.
def train_through(w, gradient, update, shards, steps):
    alive = list(range(dist.get_world_size()))
    group = dist.new_group(alive)
    step = 0
    while step < steps:
        place, share = alive.index(dist.get_rank()), -(-shards // len(alive))
        mine = torch.zeros(share, len(w), dtype=w.dtype)
        for k, shard in enumerate(range(place * share, min(shards, (place + 1) * share))):
            mine[k] = gradient(w, step, shard)
        parts = [torch.zeros_like(mine) for _ in alive]
        try:
            dist.all_gather(parts, mine, group=group)
            w, step = update(w, torch.cat(parts)[:shards]), step + 1
        except dist.DistBackendError as gone:
            alive = sorted(set(alive) - set(gone.ranks))
            group = dist.new_group(alive)
    return w

# %% right_keeps_its_gradients: passed
def train_through(w, gradient, update, shards, steps):
    me, alive, group = dist.get_rank(), list(range(dist.get_world_size())), None
    for step in range(steps):
        known = {}
        while True:
            for shard in range(shards):
                if alive[shard % len(alive)] == me and shard not in known:
                    known[shard] = gradient(w, step, shard)
            table = torch.stack([
                known[s] if alive[s % len(alive)] == me else torch.zeros_like(w) for s in range(shards)
            ])
            try:
                dist.all_reduce(table, group=group)
                break
            except RuntimeError as gone:
                for rank in gone.ranks:
                    alive.remove(rank)
                group = dist.new_group(alive)
        w = update(w, list(table))
    return w

# %% right_table: passed
def train_through(w, gradient, update, shards, steps):
    alive, group = list(range(dist.get_world_size())), None
    step = 0
    while step < steps:
        table = torch.zeros(shards, len(w), dtype=w.dtype)
        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
            table[shard] = gradient(w, step, shard)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            alive = [rank for rank in alive if rank not in gone.ranks]
            group = dist.new_group(alive)
            continue
        w = update(w, table)
        step += 1
    return w

# %% wrong_blocks_lost (right_table): wrong, loses_the_shards, levels 1 0 0
-        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
+        low, high = (shards * r // dist.get_world_size() for r in (dist.get_rank(), dist.get_rank() + 1))
+        for shard in range(low, high):

# %% wrong_dies_behind_the_last_step (right_final_barrier): raised, RankGone, levels 1 0 1
-    try:
-        dist.barrier(group=group)
-    except dist.DistBackendError:
-        pass
+    dist.barrier(group=group)

# %% wrong_everything_everywhere: wrong, computes_too_much, levels 0 0 0
def train_through(w, gradient, update, shards, steps):
    alive, group, step = list(range(dist.get_world_size())), None, 0
    while step < steps:
        gradients = [gradient(w, step, shard) for shard in range(shards)]
        try:
            dist.barrier(group=group)
        except dist.DistBackendError as gone:
            alive = [rank for rank in alive if rank not in gone.ranks]
            group = dist.new_group(alive)
            continue
        w, step = update(w, gradients), step + 1
    return w

# %% wrong_from_the_beginning (right_table): wrong, computes_too_much, levels 1 0 0
-    step = 0
+    step, first = 0, w
@@
             group = dist.new_group(alive)
+            step, w = 0, first

# %% wrong_gives_up (right_table): raised, RankGone, levels 1 0 0
-        try:
-            dist.all_reduce(table, group=group)
-        except dist.DistBackendError as gone:
-            alive = [rank for rank in alive if rank not in gone.ranks]
-            group = dist.new_group(alive)
-            continue
+        dist.all_reduce(table, group=group)

# %% wrong_goes_on_with_garbage (right_table): wrong, keeps_what_failed, levels 1 0 0
-            continue

# %% wrong_idle_rank_leaves: hung, missing_rank, levels 0 1 1
def train_through(w, gradient, update, shards, steps):
    alive = list(range(dist.get_world_size()))
    me = dist.get_rank()
    group = None
    step = 0
    while step < steps:
        if alive.index(me) >= shards:
            return w
        table = torch.zeros(shards, *w.shape, dtype=w.dtype)
        for s in range(alive.index(me), shards, len(alive)):
            table[s] = gradient(w, step, s)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            while True:
                alive = [r for r in alive if r not in gone.ranks]
                try:
                    group = dist.new_group(alive, use_local_synchronization=True)
                    break
                except dist.DistBackendError as again:
                    gone = again
            continue
        w = update(w, table)
        step += 1
    return w.clone() if steps == 0 else w

# %% wrong_in_place (right_table): wrong, modifies_input, levels 0 0 0
-        w = update(w, table)
+        w.copy_(update(w, table))

# %% wrong_last_step_lost (right_final_barrier): wrong, skips_the_step, levels 1 0 1
             alive = [rank for rank in alive if rank not in gone.ranks]
+            if step == steps - 1:
+                break
@@
-    try:
-        dist.barrier(group=group)
-    except dist.DistBackendError:
-        pass

# %% wrong_local_sums (right_table): wrong, sums_in_another_order, levels 0 0 0
-        w = update(w, table)
+        w = update(w, [table.flip(0).sum(0)])

# %% wrong_numbers_of_ranks (right_table): wrong, dealt_by_number, levels 1 0 0
-        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
+        for shard in range(dist.get_rank(), shards, len(alive)):

# %% wrong_one_table (right_table): wrong, keeps_what_failed, levels 1 0 0
-    step = 0
+    step, tables = 0, {}
@@
-        table = torch.zeros(shards, len(w), dtype=w.dtype)
+        table = tables.setdefault(step, torch.zeros(shards, len(w), dtype=w.dtype))

# %% wrong_rest_to_the_last (right_table): wrong, dealt_unevenly, levels 0 1 1
-    alive, group = list(range(dist.get_world_size())), None
-    step = 0
+    alive, group, step = list(range(dist.get_world_size())), None, 0
+    w = w.clone()
+    me = dist.get_rank()
@@
-        table = torch.zeros(shards, len(w), dtype=w.dtype)
-        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
-            table[shard] = gradient(w, step, shard)
+        table = torch.zeros(shards, *w.shape, dtype=w.dtype)
+        k = alive.index(me)
+        for s in range(k * (shards // len(alive)), (k + 1) * (shards // len(alive)) if k < len(alive) - 1 else shards):
+            table[s] = gradient(w, step, s)
@@
-            alive = [rank for rank in alive if rank not in gone.ranks]
+            alive = [r for r in alive if r not in gone.ranks]

# %% wrong_retries_once (right_table): raised, RankGone, levels 1 1 0
-    step = 0
-    while step < steps:
+
+    def table_of(step):
@@
             table[shard] = gradient(w, step, shard)
+        return table
+
+    for step in range(steps):
+        table = table_of(step)
@@
-            continue
+            table = table_of(step)
+            dist.all_reduce(table, group=group)
@@
-        step += 1

# %% wrong_rows_that_fill_up (right_gathers): raised, MoreThanTheShards, levels 0 1 0
-            w, step = update(w, torch.cat(parts)[:shards]), step + 1
+            w, step = update(w, torch.cat(parts)), step + 1

# %% wrong_same_group (right_table): raised, SameStepAgain, levels 1 0 0
-        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
+        for shard in range(shards)[alive.index(dist.get_rank()) :: len(alive)]:
@@
-            group = dist.new_group(alive)

# %% wrong_shards_lost (right_table): wrong, loses_the_shards, levels 1 0 0
-        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
+        for shard in range(dist.get_rank(), shards, dist.get_world_size()):

# %% wrong_skips (right_table): wrong, skips_the_step, levels 1 0 0
             group = dist.new_group(alive)
+            step += 1

# %% wrong_three_attempts: raised, RuntimeError, levels 1 1 0
def train_through(w, gradient, update, shards, steps):
    alive, group = list(range(dist.get_world_size())), None
    for step in range(steps):
        for attempt in range(3):
            table = torch.zeros(shards, len(w), dtype=w.dtype)
            for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
                table[shard] = gradient(w, step, shard)
            try:
                dist.all_reduce(table, group=group)
                break
            except dist.DistBackendError as gone:
                alive = [rank for rank in alive if rank not in gone.ranks]
                group = dist.new_group(alive)
        else:
            raise RuntimeError("gave up")
        w = update(w, table)
    return w
