# Right and wrong answers to `order_1f1b`. In files of their own: autograder bank --write DIR

# %% right_counts_alive: passed
# differs: It asks how many micro-batches are alive: a forward pass while there is room, else a backward pass.
def order_1f1b(rank, p, m):
    order, forward, backward = [], 0, 0
    while backward < m:
        if forward < m and forward - backward < p - rank:
            order.append(("F", forward))
            forward += 1
        else:
            order.append(("B", backward))
            backward += 1
    return order

# %% right_two_loops: passed
def order_1f1b(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m - warm):
        order += [("F", warm + k), ("B", k)]
    return order + [("B", k) for k in range(m - warm, m)]

# %% wrong_drains_from_the_end (right_two_loops): wrong, stands_still, levels 0 0
-        order += [("F", warm + k), ("B", k)]
+        order += [("B", k), ("F", warm + k)]

# %% wrong_fewer_micro_batches (right_two_loops): wrong, no_actions, levels 1 0
-    warm = min(m, p - 1 - rank)
+    warm = p - 1 - rank

# %% wrong_gpipe: wrong, all_forward_first, levels 0 0
def order_1f1b(rank, p, m):
    return [("F", k) for k in range(m)] + [("B", k) for k in range(m)]

# %% wrong_no_end (right_two_loops): wrong, no_actions, levels 0 0
-    return order + [("B", k) for k in range(m - warm, m)]
+    return order

# %% wrong_one_at_a_time: wrong, one_at_a_time, levels 0 0
def order_1f1b(rank, p, m):
    return [(what, k) for k in range(m) for what in "FB"]

# %% wrong_one_more_first: wrong, holds_too_many, levels 0 0
def order_1f1b(rank, p, m):
    warm = min(m, p - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        if warm + k < m:
            order.append(("F", warm + k))
        order.append(("B", k))
    return order

# %% wrong_one_more_micro_batch: wrong, no_actions, levels 0 0
def order_1f1b(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(1, warm + 1)]
    for k in range(1, m + 1):
        if warm + k <= m:
            order.append(("F", warm + k))
        order.append(("B", k))
    return order

# %% wrong_ranks_counted_backwards: wrong, stands_still, levels 0 0
def order_1f1b(rank, p, m):
    warm = min(m, rank)
    order = [("B", k) for k in range(0)] + [("F", k) for k in range(warm)]
    for k in range(m):
        order.append(("B", k))
        if warm + k < m:
            order.append(("F", warm + k))
    return order

# %% wrong_same_on_all_ranks: wrong, waits_too_long, levels 0 0
def order_1f1b(rank, p, m):
    warm = min(m, p - 1)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        if warm + k < m:
            order.append(("F", warm + k))
        order.append(("B", k))
    return order

# %% wrong_short_warm_up: wrong, waits_too_long, levels 0 0
def order_1f1b(rank, p, m):
    warm = min(m, (p - 1 - rank + 1) // 2)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        if warm + k < m:
            order.append(("F", warm + k))
        order.append(("B", k))
    return order

# %% wrong_strings: wrong, no_actions, levels 0 0
def order_1f1b(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [f"F{k}" for k in range(warm)]
    for k in range(m):
        order += [f"F{warm + k}"] * (warm + k < m) + [f"B{k}"]
    return order
