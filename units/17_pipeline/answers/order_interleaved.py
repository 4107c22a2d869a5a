# Right and wrong answers to `order_interleaved`. In files of their own: autograder bank --write DIR

# %% right_counts_alive: passed
def order_interleaved(rank, p, m, v):
    if m % p != 0:
        raise ValueError("groups of p micro-batches")
    forward, backward = [], []
    for group in range(0, m, p):
        for j in range(v):
            forward += [("F", k, j) for k in range(group, group + p)]
            backward += [("B", k, v - 1 - j) for k in range(group, group + p)]
    limit, order, alive = 2 * (p - 1 - rank) + (v - 1) * p + 1, [], 0
    forward, backward = iter(forward), iter(backward)
    todo = m * v
    for _ in range(2 * m * v):
        if todo and alive < limit:
            order.append(next(forward))
            todo -= 1
            alive += 1
        else:
            order.append(next(backward))
            alive -= 1
    return order

# %% right_megatron: passed
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError(f"{p} ranks do not divide {m} micro-batches")
    total = m * v
    warm = min(total, 2 * (p - 1 - rank) + (v - 1) * p)

    def place(i):
        return i // (p * v) * p + i % p, i // p % v

    forward = [("F", *place(i)) for i in range(total)]
    backward = [("B", place(i)[0], v - 1 - place(i)[1]) for i in range(total)]
    order = forward[:warm]
    for k in range(total - warm):
        order += [forward[warm + k], backward[k]]
    return order + backward[total - warm :]

# %% right_shorter_warm_up: passed
# differs: Fewer forward passes before it turns: p - 1 - rank in place of twice as many, which keeps less alive.
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError(f"{p} ranks do not divide {m} micro-batches")
    total = m * v
    warm = min(total, p - 1 - rank + (v - 1) * p)

    def place(i):
        return i // (p * v) * p + i % p, i // p % v

    forward = [("F", *place(i)) for i in range(total)]
    backward = [("B", place(i)[0], v - 1 - place(i)[1]) for i in range(total)]
    order = forward[:warm]
    for k in range(total - warm):
        order += [forward[warm + k], backward[k]]
    return order + backward[total - warm :]

# %% wrong_all_forward_first (right_megatron): wrong, holds_too_many, levels 0 1
-    warm = min(total, 2 * (p - 1 - rank) + (v - 1) * p)
+    warm = min(total, total)

# %% wrong_backward_from_the_first_chunk (right_megatron): wrong, stands_still, levels 0 1
-    backward = [("B", place(i)[0], v - 1 - place(i)[1]) for i in range(total)]
+    backward = [("B", place(i)[0], place(i)[1]) for i in range(total)]

# %% wrong_chunk_after_chunk: wrong, chunk_after_chunk, levels 0 1
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError("no")
    forward = [("F", k, j) for j in range(v) for k in range(m)]
    return forward + [("B", k, j) for j in reversed(range(v)) for k in range(m)]

# %% wrong_chunk_before_micro_batch (right_megatron): wrong, no_actions, levels 0 1
-    return order + backward[total - warm :]
+    return [(what, j, k) for what, k, j in order + backward[total - warm :]]

# %% wrong_group_after_group: wrong, waits_too_long, levels 0 1
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError("no")
    order = []
    for group in range(0, m, p):
        order += [("F", k, j) for j in range(v) for k in range(group, group + p)]
        order += [("B", k, j) for j in reversed(range(v)) for k in range(group, group + p)]
    return order

# %% wrong_micro_batch_first: wrong, stands_still, levels 0 1
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError("no")
    forward = [("F", k, j) for k in range(m) for j in range(v)]
    backward = [("B", k, j) for k in range(m) for j in reversed(range(v))]
    first = 2 * (p - 1 - rank) + (v - 1) * p
    order = forward[:first]
    for k in range(m * v):
        order += forward[first + k : first + k + 1] + [backward[k]]
    return order

# %% wrong_no_error (right_megatron): wrong, not_refused, levels 1 0
-    if m % p:
-        raise ValueError(f"{p} ranks do not divide {m} micro-batches")

# %% wrong_one_chunk_unchecked (right_megatron): wrong, not_refused, levels 1 0
-    if m % p:
+    if v > 1 and m % p:

# %% wrong_one_more_first (right_megatron): wrong, holds_too_many, levels 0 1
-    warm = min(total, 2 * (p - 1 - rank) + (v - 1) * p)
+    warm = min(total, 2 * (p - 1 - rank) + (v - 1) * p + 1)

# %% wrong_refuses (right_megatron): wrong, ValueError, levels 0 1
-    if m % p:
+    if m % (p * v):

# %% wrong_refuses_one_rank (right_megatron): wrong, ValueError, levels 0 1
-    if m % p:
-        raise ValueError(f"{p} ranks do not divide {m} micro-batches")
+    if p < 2 or m % p:
+        raise ValueError("groups of p micro-batches, and a pipeline of at least two ranks")

# %% wrong_warm_up_of_1f1b (right_megatron): wrong, stands_still, levels 0 1
-    warm = min(total, 2 * (p - 1 - rank) + (v - 1) * p)
+    warm = min(total, p - 1 - rank)

# %% wrong_without_chunks: wrong, no_actions, levels 0 1
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError("no")
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        order += [("F", warm + k)] * (warm + k < m) + [("B", k)]
    return order
