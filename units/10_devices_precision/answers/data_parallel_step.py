# Right and wrong answers to `data_parallel_step`. In files of their own: autograder bank --write DIR
import torch

# %% right_empty_shards: passed
def data_parallel_step(replicas, x, y, loss_fn):
    for replica in replicas:
        replica.load_state_dict(replicas[0].state_dict())
        replica.zero_grad()
    shards = list(zip(replicas, x.tensor_split(len(replicas)), y.tensor_split(len(replicas))))
    for replica, rows, labels in shards:
        (loss_fn(replica(rows), labels) * len(rows) / len(x)).backward()
    gradients = [p.grad.clone() for p in replicas[0].parameters()]
    for replica, _, _ in shards[1:]:
        for total, p in zip(gradients, replica.parameters()):
            total += p.grad
    return gradients

# %% right_gathers: passed
# differs: The outputs of all replicas are put together and get one loss, as `DataParallel` does it: uneven shares weigh right by themselves.
def data_parallel_step(replicas, x, y, loss_fn):
    with torch.no_grad():
        for replica in replicas[1:]:
            for copy, own in zip(replica.parameters(), replicas[0].parameters()):
                copy.copy_(own)
    for replica in replicas:
        replica.zero_grad()
    shards = x.chunk(len(replicas))
    outputs = [replica(shard) for replica, shard in zip(replicas, shards)]
    loss_fn(torch.cat(outputs), y).backward()
    used = [list(replica.parameters()) for replica in replicas[: len(shards)]]
    return [sum(p.grad for p in same) for same in zip(*used)]

# %% right_threads: passed
from concurrent.futures import ThreadPoolExecutor
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def data_parallel_step(replicas, x, y, loss_fn):
    flat = parameters_to_vector(replicas[0].parameters()).detach()
    for replica in replicas:
        vector_to_parameters(flat.clone(), replica.parameters())
        replica.zero_grad()
    shards = x.tensor_split(len(replicas))
    with ThreadPoolExecutor(len(replicas)) as pool:
        outputs = list(pool.map(lambda replica, shard: replica(shard), replicas, shards))
    loss_fn(torch.cat(outputs), y).backward()
    first, *others = [[p.grad for p in replica.parameters()] for replica in replicas]
    for other in others:
        for total, g in zip(first, other):
            total.add_(g)
    return first

# %% right_weighted: passed
def data_parallel_step(replicas, x, y, loss_fn):
    first = replicas[0]
    totals = [torch.zeros_like(p) for p in first.parameters()]
    for k, replica in enumerate(replicas):
        replica.load_state_dict(first.state_dict())
        mine = range(k, len(x), len(replicas))
        if not mine:
            continue
        loss = loss_fn(replica(x[mine]), y[mine]) * len(mine) / len(x)
        for total, g in zip(totals, torch.autograd.grad(loss, list(replica.parameters()))):
            total += g
    return totals

# %% wrong_asks_for_a_sum: raised, TypeError, levels 0 0 0
def data_parallel_step(replicas, x, y, loss_fn):
    for r in replicas[1:]:
        r.load_state_dict(replicas[0].state_dict())
    for r in replicas:
        r.zero_grad()
    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))
    for r, a, b in shards:
        (loss_fn(r(a), b, reduction="sum") / y.numel()).backward()
    return [sum(p.grad for p in ps) for ps in zip(*[r.parameters() for r, _, _ in shards])]

# %% wrong_copied_if_changed (right_empty_shards): wrong, not_replicated, levels 0 1 1
-        replica.load_state_dict(replicas[0].state_dict())
+        if not torch.equal(next(replica.parameters()), next(replicas[0].parameters())):
+            replica.load_state_dict(replicas[0].state_dict())

# %% wrong_copied_if_the_last_changed (right_empty_shards): wrong, not_replicated, levels 1 0 1
-        replica.load_state_dict(replicas[0].state_dict())
+        if not torch.equal(list(replica.parameters())[-1], list(replicas[0].parameters())[-1]):
+            replica.load_state_dict(replicas[0].state_dict())

# %% wrong_copied_once (right_weighted): wrong, not_replicated, levels 0 0 0
-        replica.load_state_dict(first.state_dict())
+        if not hasattr(replica, "has_weights"):
+            replica.load_state_dict(first.state_dict())
+            replica.has_weights = True

# %% wrong_equal_weights (right_empty_shards): wrong, mean_of_means, levels 1 0 0
-    shards = list(zip(replicas, x.tensor_split(len(replicas)), y.tensor_split(len(replicas))))
+    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))
@@
-        (loss_fn(replica(rows), labels) * len(rows) / len(x)).backward()
+        (loss_fn(replica(rows), labels) / len(shards)).backward()

# %% wrong_first_only (right_empty_shards): wrong, not_reduced, levels 0 0 0
-    shards = list(zip(replicas, x.tensor_split(len(replicas)), y.tensor_split(len(replicas))))
+    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))
@@
-    for replica, _, _ in shards[1:]:
+    for replica, _, _ in shards[1:1]:

# %% wrong_labels_shaped_like_outputs: raised, RuntimeError, levels 1 0 1
def data_parallel_step(replicas, x, y, loss_fn):
    for r in replicas[1:]:
        r.load_state_dict(replicas[0].state_dict())
    for r in replicas:
        r.zero_grad()
    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))
    out = torch.zeros_like(y)
    parts, k = [], 0
    for r, a, b in shards:
        parts.append(r(a).view_as(b))
    loss_fn(torch.cat(parts), y).backward()
    return [sum(p.grad for p in ps) for ps in zip(*[r.parameters() for r, _, _ in shards])]

# %% wrong_mean_of_split_means: wrong, mean_of_means, levels 1 0 0
from torch import Tensor


def data_parallel_step(replicas: list, x: Tensor, y: Tensor, loss_fn) -> list[Tensor]:
    for replica in replicas[1:]:
        replica.load_state_dict(replicas[0].state_dict())
    k = min(len(replicas), len(x))
    found = []
    for replica, rows, labels in zip(replicas, x.tensor_split(k), y.tensor_split(k)):
        loss = loss_fn(replica(rows), labels)
        found.append(torch.autograd.grad(loss, list(replica.parameters())))
    return [sum(same) / k for same in zip(*found)]

# %% wrong_none (right_gathers): raised, TypeError, levels 1 0 0
-    used = [list(replica.parameters()) for replica in replicas[: len(shards)]]
+    used = [list(replica.parameters()) for replica in replicas]

# %% wrong_one_device: wrong, idle_devices, levels 0 0 0
def data_parallel_step(replicas, x, y, loss_fn):
    for replica in replicas:
        replica.load_state_dict(replicas[0].state_dict())
        replica.zero_grad()
    loss_fn(replicas[0](x), y).backward()
    return [p.grad for p in replicas[0].parameters()]

# %% wrong_own_weights (right_empty_shards): wrong, not_replicated, levels 0 0 0
-        replica.load_state_dict(replicas[0].state_dict())
@@
-    shards = list(zip(replicas, x.tensor_split(len(replicas)), y.tensor_split(len(replicas))))
+    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))

# %% wrong_rest (right_empty_shards): wrong, drops_rows, levels 1 0 0
-    shards = list(zip(replicas, x.tensor_split(len(replicas)), y.tensor_split(len(replicas))))
+    size = max(1, len(x) // len(replicas))
+    shards = list(zip(replicas, x.split(size), y.split(size)))

# %% wrong_rest_on_the_last (right_empty_shards): wrong, wrong_weights, levels 1 0 1
-    shards = list(zip(replicas, x.tensor_split(len(replicas)), y.tensor_split(len(replicas))))
-    for replica, rows, labels in shards:
-        (loss_fn(replica(rows), labels) * len(rows) / len(x)).backward()
+    p = len(replicas)
+    shards = list(zip(replicas, x.chunk(p), y.chunk(p)))
+    size = len(shards[0][1])
+    for k, (replica, rows, labels) in enumerate(shards):
+        own = size if k < p - 1 else len(x) - size * (p - 1)
+        (loss_fn(replica(rows), labels) * own / len(x)).backward()

# %% wrong_shares_the_weights: wrong, shares_the_weights, levels 0 0 0
def data_parallel_step(replicas, x, y, loss_fn):
    for replica in replicas:
        for other, mine in zip(replica.parameters(), replicas[0].parameters()):
            other.data = mine.data
        replica.zero_grad()
    shards = x.chunk(len(replicas))
    outputs = torch.cat([replica(shard) for replica, shard in zip(replicas, shards)])
    loss_fn(outputs, y).backward()
    each = [[w.grad for w in replica.parameters()] for replica in replicas[: len(shards)]]
    return [sum(gradients) for gradients in zip(*each)]

# %% wrong_shortcut_for_one: wrong, stale_gradients, levels 0 1 1
def data_parallel_step(replicas, x, y, loss_fn):
    if len(replicas) == 1:  # nothing to share
        loss_fn(replicas[0](x), y).backward()
        return [p.grad for p in replicas[0].parameters()]
    for r in replicas[1:]:
        r.load_state_dict(replicas[0].state_dict())
    for r in replicas:
        r.zero_grad()
    shards = list(zip(replicas, x.chunk(len(replicas))))
    loss_fn(torch.cat([r(a) for r, a in shards]), y).backward()
    return [sum(p.grad for p in ps) for ps in zip(*[r.parameters() for r, _ in shards])]

# %% wrong_stale (right_empty_shards): wrong, stale_gradients, levels 0 0 0
-        replica.zero_grad()
-    shards = list(zip(replicas, x.tensor_split(len(replicas)), y.tensor_split(len(replicas))))
+    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))

# %% wrong_steps: wrong, steps_the_weights, levels 0 0 0
def data_parallel_step(replicas, x, y, loss_fn):
    for r in replicas:
        r.load_state_dict(replicas[0].state_dict())
        r.zero_grad()
    s = list(zip(replicas, x.chunk(len(replicas))))
    loss_fn(torch.cat([r(a) for r, a in s]), y).backward()
    g = [sum(p.grad for p in ps) for ps in zip(*[r.parameters() for r, _ in s])]
    with torch.no_grad():
        for r in replicas:
            for p, h in zip(r.parameters(), g):
                p -= 0.1 * h
    return g

# %% wrong_sum (right_empty_shards): wrong, sum_for_mean, levels 0 0 0
-    shards = list(zip(replicas, x.tensor_split(len(replicas)), y.tensor_split(len(replicas))))
+    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))
@@
-        (loss_fn(replica(rows), labels) * len(rows) / len(x)).backward()
+        (loss_fn(replica(rows), labels)).backward()

# %% wrong_twice (right_empty_shards): wrong, rows_twice, levels 0 0 0
-    shards = list(zip(replicas, x.tensor_split(len(replicas)), y.tensor_split(len(replicas))))
+    shards = list(zip(replicas, x.chunk(len(replicas)), y.chunk(len(replicas))))
@@
         (loss_fn(replica(rows), labels) * len(rows) / len(x)).backward()
+    loss_fn(replicas[0](x), y)
