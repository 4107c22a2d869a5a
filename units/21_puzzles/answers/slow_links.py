# Right and wrong answers to `slow_links`. In files of their own: autograder bank --write DIR

# %% right_by_hand: passed
def slow_links():
    return [
        "F0 F1 F2 F3 F4 F5 B0 F6 B1 F7 B2 B3 B4 B5 B6 B7",
        "F0 F1 F2 F3 F4 B0 F5 B1 F6 B2 F7 B3 B4 B5 B6 B7",
        "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
    ]

# %% right_tuples: passed
def slow_links():
    """As unit 17 writes orders: a list of (what, micro-batch) for each rank."""
    orders = []
    for first in (5, 4, 2, 0):
        order = [("F", k) for k in range(first)]
        for k in range(8):
            order += [("F", first + k)] * (first + k < 8) + [("B", k)]
        orders.append(order)
    return orders

# %% right_warm_ups: passed
# differs: The order of 1F1B as it is: it passes, and does nothing against the slow links yet.
def slow_links():
    orders = []
    for first in (3, 2, 1, 0):
        order = [f"F{k}" for k in range(first)]
        for k in range(8):
            if first + k < 8:
                order.append(f"F{first + k}")
            order.append(f"B{k}")
        orders.append(" ".join(order))
    return orders

# %% wrong_all_forward_first: wrong, holds_too_many, levels 0
def slow_links():
    return [" ".join(f"{what}{k}" for what in "FB" for k in range(8))] * 4

# %% wrong_backward_first (right_by_hand): wrong, stands_still, levels 0
-        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
+        "B0 F0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",

# %% wrong_forgets_the_last (right_by_hand): wrong, no_actions, levels 0
-        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
+        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7",

# %% wrong_one_at_a_time: wrong, one_at_a_time, levels 0
def slow_links():
    return [" ".join(f"F{k} B{k}" for k in range(8))] * 4

# %% wrong_short_warm_up (right_warm_ups): wrong, waits_too_long, levels 0
-    for first in (3, 2, 1, 0):
+    for first in (2, 1, 1, 0):

# %% wrong_three_ranks (right_by_hand): wrong, no_actions, levels 0
-        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
