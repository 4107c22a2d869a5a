# Right and wrong answers to `order_zero_bubble`. In files of their own: autograder bank --write DIR

# %% right_counts_alive: passed
# differs: Three counters decide: forward while there is room, backward when it is due, and weights in what is left.
def order_zero_bubble(rank, p, m):
    order = []
    f = b = w = 0
    while w < m:
        if f < m and f - b < p - rank and f - w < p:
            order.append(("F", f))
            f += 1
        elif b < f and (f == m or f - b == p - rank) and b - w < rank + 1:
            order.append(("B", b))
            b += 1
        else:
            order.append(("W", w))
            w += 1
    return order

# %% right_later_by_rank: passed
def order_zero_bubble(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        if warm + k < m:
            order.append(("F", warm + k))
        order.append(("B", k))
        if k >= rank:
            order.append(("W", k - rank))
    return order + [("W", k) for k in range(max(0, m - rank), m)]

# %% wrong_later_everywhere (right_later_by_rank): wrong, waits_too_long, levels 0
-        if k >= rank:
-            order.append(("W", k - rank))
-    return order + [("W", k) for k in range(max(0, m - rank), m)]
+        if k >= (p - 1):
+            order.append(("W", k - (p - 1)))
+    return order + [("W", k) for k in range(max(0, m - (p - 1)), m)]

# %% wrong_one_more_first (right_later_by_rank): wrong, holds_too_many, levels 0
-    warm = min(m, p - 1 - rank)
+    warm = min(m, p - rank)

# %% wrong_other_way_round (right_later_by_rank): wrong, waits_too_long, levels 0
-        if k >= rank:
-            order.append(("W", k - rank))
-    return order + [("W", k) for k in range(max(0, m - rank), m)]
+        if k >= (p - 1 - rank):
+            order.append(("W", k - (p - 1 - rank)))
+    return order + [("W", k) for k in range(max(0, m - (p - 1 - rank)), m)]

# %% wrong_weights_at_once (right_later_by_rank): wrong, weights_at_once, levels 0
-        if k >= rank:
-            order.append(("W", k - rank))
-    return order + [("W", k) for k in range(max(0, m - rank), m)]
+        if k >= 0:
+            order.append(("W", k))
+    return order + [("W", k) for k in range(0)]

# %% wrong_weights_at_the_end (right_later_by_rank): wrong, waits_too_long, levels 0
-        if k >= rank:
-            order.append(("W", k - rank))
-    return order + [("W", k) for k in range(max(0, m - rank), m)]
+        if False:
+            order.append(("W", k))
+    return order + [("W", k) for k in range(m)]

# %% wrong_weights_first: wrong, stands_still, levels 0
def order_zero_bubble(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        order += [("F", warm + k)] * (warm + k < m) + [("W", k), ("B", k)]
    return order

# %% wrong_whole_backward: wrong, no_actions, levels 0
def order_zero_bubble(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        order += [("F", warm + k)] * (warm + k < m) + [("B", k)]
    return order
