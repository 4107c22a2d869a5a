# Right and wrong answers to `next_batch`. In files of their own: autograder bank --write DIR
import numpy as np
import random
import torch

# %% right_copies_the_state: passed
def next_batch(state, n, batch_size, rank, world_size):
    order = list(range(n))
    random.Random(f"{state['seed']}/{state['epoch']}").shuffle(order)
    first = state["taken"]
    last = min(n, first + batch_size)
    after = dict(state, taken=last % n, ranks=world_size)
    after["epoch"] += last == n
    return [order[k] for k in range(first, last) if k % world_size == rank], after

# %% right_strides: passed
# differs: The batch is cut first and dealt out with a stride, which does not ask how many ranks there were before.
def next_batch(state, n, batch_size, rank, world_size):
    seed, epoch, taken = state["seed"], state["epoch"], state["taken"]
    order = np.random.default_rng([seed, epoch]).permutation(n)
    batch = order[taken : taken + batch_size]
    taken += len(batch)
    if taken == n:
        epoch, taken = epoch + 1, 0
    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}

# %% right_torch: passed
def next_batch(state, n, batch_size, rank, world_size):
    generator = torch.Generator().manual_seed(state["seed"] * 100_003 + state["epoch"])
    left = torch.randperm(n, generator=generator)[state["taken"] :]
    batch = left[:batch_size]
    state = dict(state, taken=state["taken"] + len(batch))
    if len(left) <= batch_size:
        state.update(epoch=state["epoch"] + 1, taken=0)
    return torch.tensor_split(batch, world_size)[rank].tolist(), state

# %% wrong_a_tensor (right_torch): wrong, other_type, levels 0 0 0 0
-    return torch.tensor_split(batch, world_size)[rank].tolist(), state
+    return torch.tensor_split(batch, world_size)[rank], state

# %% wrong_arrays (right_strides): wrong, not_json, levels 0 0 0 0
-    taken += len(batch)
+    taken = np.int64(taken + len(batch))

# %% wrong_batch_each (right_strides): wrong, batch_size_per_rank, levels 0 0 0 0
-    batch = order[taken : taken + batch_size]
+    batch = order[taken : taken + batch_size * world_size]

# %% wrong_ceil (right_strides): wrong, uneven_shares, levels 1 0 1 1
-    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
+    each = -(-len(batch) // world_size)
+    share = batch[rank * each : (rank + 1) * each].tolist()
+    return share, {"seed": seed, "epoch": epoch, "taken": taken}

# %% wrong_counts_batches (right_strides): wrong, counts_batches, levels 0 0 0 0
-    batch = order[taken : taken + batch_size]
-    taken += len(batch)
-    if taken == n:
+    batch = order[taken * batch_size : (taken + 1) * batch_size]
+    taken += 1
+    if taken * batch_size >= n:

# %% wrong_drop_last (right_strides): wrong, drops_the_last_batch, levels 1 0 1 0
     seed, epoch, taken = state["seed"], state["epoch"], state["taken"]
+    if taken + batch_size > n:
+        epoch, taken = epoch + 1, 0

# %% wrong_floats (right_strides): wrong, not_samples, levels 0 0 0 0
-    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
+    return list(batch[rank::world_size] / 1.0), {"seed": seed, "epoch": epoch, "taken": taken}

# %% wrong_floor (right_strides): wrong, drops_the_remainder, levels 1 0 1 0
-    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
+    each = len(batch) // world_size
+    share = batch[rank * each : (rank + 1) * each].tolist()
+    return share, {"seed": seed, "epoch": epoch, "taken": taken}

# %% wrong_from_the_start (right_strides): wrong, always_from_the_start, levels 0 0 0 0
-    batch = order[taken : taken + batch_size]
+    batch = order[: min(batch_size, n - taken)]

# %% wrong_hash (right_strides): wrong, not_one_order, levels 0 0 0 0
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = list(range(n))
+    random.Random(hash(f"{seed}/{epoch}")).shuffle(order)
@@
-    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
+    return batch[rank::world_size], {"seed": seed, "epoch": epoch, "taken": taken}

# %% wrong_in_order (right_strides): wrong, not_shuffled, levels 0 0 0 0
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = np.arange(n)

# %% wrong_keeps_taken (right_strides): wrong, wrong_state, levels 0 0 0 0
-        epoch, taken = epoch + 1, 0
+        epoch += 1

# %% wrong_never_counts (right_strides): wrong, wrong_state, levels 0 0 0 0
-    taken += len(batch)

# %% wrong_no_end (right_strides): wrong, never_ends_the_epoch, levels 0 0 0 0
-    if taken == n:
-        epoch, taken = epoch + 1, 0

# %% wrong_no_epoch (right_strides): wrong, same_order_every_epoch, levels 1 1 0 1
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = np.random.default_rng(seed).permutation(n)

# %% wrong_no_seed (right_strides): wrong, ignores_the_seed, levels 1 1 0 1
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = np.random.default_rng(epoch).permutation(n)

# %% wrong_one_off (right_strides): wrong, wrong_number, levels 0 0 0 0
-    batch = order[taken : taken + batch_size]
+    batch = order[taken : taken + batch_size - 1]

# %% wrong_one_order_for_all_seeds (right_strides): wrong, ignores_the_seed, levels 1 1 0 1
+orders = {}
+
+
 def next_batch(state, n, batch_size, rank, world_size):
@@
-    order = np.random.default_rng([seed, epoch]).permutation(n)
-    batch = order[taken : taken + batch_size]
+    if (epoch, n) not in orders:
+        orders[epoch, n] = np.random.default_rng([seed, epoch]).permutation(n)
+    batch = orders[epoch, n][taken : taken + batch_size]

# %% wrong_order_remembered_without_n (right_strides): wrong, keeps_something, levels 1 1 0 1
+ORDERS = {}
+
+
 def next_batch(state, n, batch_size, rank, world_size):
@@
-    order = np.random.default_rng([seed, epoch]).permutation(n)
-    batch = order[taken : taken + batch_size]
+    if (seed, epoch) not in ORDERS:
+        ORDERS[seed, epoch] = np.random.default_rng([seed, epoch]).permutation(n)
+    batch = ORDERS[seed, epoch][taken : taken + batch_size]

# %% wrong_other_names (right_strides): wrong, not_a_pair, levels 0 0 0 0
-    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
+    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "position": taken}

# %% wrong_own_count (right_strides): wrong, counts_its_own, levels 0 0 0 0
     batch = order[taken : taken + batch_size]
+    batch = batch[rank::world_size]
@@
-    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
+    return batch.tolist(), {"seed": seed, "epoch": epoch, "taken": taken}

# %% wrong_pad (right_strides): wrong, pads_the_last_batch, levels 1 0 1 0
-    batch = order[taken : taken + batch_size]
-    taken += len(batch)
-    if taken == n:
+    batch = np.take(order, range(taken, taken + batch_size), mode="wrap")
+    taken += batch_size
+    if taken >= n:

# %% wrong_product_in_the_seed (right_strides): wrong, first_epoch_ignores_the_seed, levels 1 1 0 1
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = np.random.default_rng(seed * epoch).permutation(n)

# %% wrong_rank_in_the_seed (right_strides): wrong, not_one_order, levels 0 0 0 0
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = np.random.default_rng([seed, epoch, rank]).permutation(n)

# %% wrong_rank_in_the_state (right_strides): wrong, states_differ, levels 0 0 0 0
-    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
+    after = {"seed": seed, "epoch": epoch, "taken": taken, "rank": rank}
+    return batch[rank::world_size].tolist(), after

# %% wrong_ranks_in_the_seed (right_strides): wrong, order_depends_on_ranks, levels 1 1 1 0
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = np.random.default_rng([seed, epoch, world_size]).permutation(n)

# %% wrong_runs_over: wrong, pads_the_last_batch, levels 1 0 1 0
def next_batch(state, n, batch_size, rank, world_size):
    seed, epoch, taken = state["seed"], state["epoch"], state["taken"]
    order = np.random.default_rng([seed, epoch]).permutation(n)
    more = np.random.default_rng([seed, epoch + 1]).permutation(n)
    batch = np.concatenate([order, more])[taken : taken + batch_size]
    taken += batch_size
    if taken >= n:
        epoch, taken = epoch + 1, taken - n
    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}

# %% wrong_seed_times_the_epoch_after (right_strides): wrong, same_order_every_epoch, levels 1 1 0 1
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = np.random.default_rng(seed * (epoch + 1)).permutation(n)

# %% wrong_state_first (right_strides): wrong, not_a_pair, levels 0 0 0 0
-    return batch[rank::world_size].tolist(), {"seed": seed, "epoch": epoch, "taken": taken}
+    return {"seed": seed, "epoch": epoch, "taken": taken}, batch[rank::world_size].tolist()

# %% wrong_state_in_place (right_copies_the_state): wrong, state_in_place, levels 0 0 0 0
-    after = dict(state, taken=last % n, ranks=world_size)
-    after["epoch"] += last == n
-    return [order[k] for k in range(first, last) if k % world_size == rank], after
+    state["taken"] = last % n
+    state["epoch"] += last == n
+    state["ranks"] = world_size
+    return [order[k] for k in range(first, last) if k % world_size == rank], state

# %% wrong_taken_in_the_seed (right_strides): wrong, not_one_order, levels 0 0 0 0
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = np.random.default_rng([seed, epoch, taken]).permutation(n)

# %% wrong_taken_modulo (right_strides): wrong, wrong_state, levels 1 0 1 0
-    taken += len(batch)
-    if taken == n:
-        epoch, taken = epoch + 1, 0
+    epoch, taken = epoch + (taken + batch_size) // n, (taken + batch_size) % n

# %% wrong_unseeded (right_strides): wrong, not_one_order, levels 0 0 0 0
-    order = np.random.default_rng([seed, epoch]).permutation(n)
+    order = np.random.permutation(n)
