# Right and wrong answers to `device_batches`. In files of their own: autograder bank --write DIR
import math
import torch

# %% right_chunks: passed
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    size = -(-batch_size // devices)
    rows = []
    for _ in range(devices):
        rows.append(min(size, batch_size - sum(rows)))
    return rows

# %% right_torch: passed
# differs: It asks `chunk`, which is what `DataParallel` cuts with, and counts.
def device_batches(kind, batch_size, devices):
    if kind == "DataParallel":
        rows = [len(piece) for piece in torch.arange(batch_size).chunk(devices)]
        return rows + [0] * (devices - len(rows))
    return [batch_size for _ in range(devices)]

# %% wrong_cached_list (right_chunks): wrong, keeps_something, levels 0 0
+import functools
+
+
+@functools.cache
 def device_batches(kind, batch_size, devices):

# %% wrong_counts_down: wrong, fewer_than_no_rows, levels 1 0
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    each = math.ceil(batch_size / devices)
    return [min(each, batch_size - r * each) for r in range(devices)]

# %% wrong_evenly: wrong, equal_pieces, levels 1 0
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    return [batch_size // devices + (k < batch_size % devices) for k in range(devices)]

# %% wrong_global (right_chunks): wrong, always_global, levels 0 0
-    if kind == "DDP":
-        return [batch_size] * devices

# %% wrong_idle: wrong, no_entry_for_the_idle, levels 1 0
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    return [len(piece) for piece in torch.arange(batch_size).chunk(devices)]

# %% wrong_last_takes_the_rest: wrong, last_takes_the_rest, levels 1 0
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    each = batch_size // devices
    return [each] * (devices - 1) + [batch_size - each * (devices - 1)]

# %% wrong_local: wrong, always_local, levels 0 0
def device_batches(kind, batch_size, devices):
    return [batch_size] * devices

# %% wrong_nothing_for_some: wrong, nothing_for_some, levels 1 0
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size if r < batch_size else 0 for r in range(devices)]
    each = math.ceil(batch_size / devices)
    return [max(0, min(each, batch_size - r * each)) for r in range(devices)]

# %% wrong_one_more (right_chunks): wrong, one_row_too_many, levels 0 1
-    size = -(-batch_size // devices)
+    size = batch_size // devices + 1

# %% wrong_only_the_last_is_short: wrong, full_but_for_the_last, levels 1 0
def device_batches(kind: str, batch_size: int, devices: int) -> list[int]:
    if kind == "DDP":
        return [batch_size] * devices
    piece = math.ceil(batch_size / devices)
    rest = batch_size - piece * (devices - 1)
    return [piece] * (devices - 1) + [max(rest, 0)]

# %% wrong_plus_0999: wrong, drops_the_rest, levels 1 0
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    each = int(batch_size / devices + 0.999)
    return [max(0, min(each, batch_size - r * each)) for r in range(devices)]

# %% wrong_recursive: raised, RecursionError, levels 1 0
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    size = -(-batch_size // devices)

    def deal(left, k):
        if k == 0:
            return []
        return [min(size, left)] + deal(left - min(size, left), k - 1)

    return deal(batch_size, devices)

# %% wrong_rest_to_the_last: wrong, fewer_than_no_rows, levels 1 0
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    size = -(-batch_size // devices)
    return [size] * (devices - 1) + [batch_size - size * (devices - 1)]

# %% wrong_rounds_down (right_chunks): wrong, drops_the_rest, levels 1 0
-    size = -(-batch_size // devices)
+    size = batch_size // devices
@@
-        rows.append(min(size, batch_size - sum(rows)))
+        rows.append(size)

# %% wrong_rounds_half_to_even (right_chunks): wrong, one_row_too_many, levels 0 1
-    size = -(-batch_size // devices)
+    size = round(batch_size / devices + 0.5)

# %% wrong_rounds_up (right_chunks): wrong, too_many_rows, levels 1 0
-        rows.append(min(size, batch_size - sum(rows)))
+        rows.append(size)

# %% wrong_rounds_up_by_adding_0_99: wrong, drops_the_rest, levels 1 0
def device_batches(kind: str, batch_size: int, devices: int) -> list[int]:
    if kind == "DDP":
        return [batch_size] * devices
    each = int(batch_size / devices + 0.99)
    rows, left = [], batch_size
    for _ in range(devices):
        taken = min(each, left)
        rows.append(taken)
        left -= taken
    return rows
