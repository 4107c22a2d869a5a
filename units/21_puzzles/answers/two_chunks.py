# Right and wrong answers to `two_chunks`. In files of their own: autograder bank --write DIR

# %% right_by_hand: passed
def two_chunks():
    return [
        "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 F3.1 B0.1 F4.0 B1.1 F5.0 B2.1 F6.0 B3.1 F7.0 B0.0 F4.1 B1.0 F5.1 B2.0 F6.1 B3.0 F7.1 B4.1 B5.1 B6.1 B7.1 B4.0 B5.0 B6.0 B7.0",
        "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 B0.1 F3.1 B1.1 F4.0 B2.1 F5.0 B3.1 F6.0 B0.0 F7.0 B1.0 F4.1 B2.0 F5.1 B3.0 F6.1 B4.1 F7.1 B5.1 B6.1 B7.1 B4.0 B5.0 B6.0 B7.0",
        "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 B0.1 F2.1 B1.1 F3.1 B2.1 F4.0 B3.1 F5.0 B0.0 F6.0 B1.0 F7.0 B2.0 F4.1 B3.0 F5.1 B4.1 F6.1 B5.1 F7.1 B6.1 B7.1 B4.0 B5.0 B6.0 B7.0",
        "F0.0 F1.0 F2.0 F3.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4.0 B0.0 F5.0 B1.0 F6.0 B2.0 F7.0 B3.0 F4.1 B4.1 F5.1 B5.1 F6.1 B6.1 F7.1 B7.1 B4.0 B5.0 B6.0 B7.0",
    ]

# %% right_warm_ups: passed
# differs: Megatron's order with fewer forward passes ahead, so that eight are alive: it passes, and there is room below it.
def two_chunks():
    places = [(group + k, j) for group in (0, 4) for j in (0, 1) for k in range(4)]
    forward = [f"F{k}.{j}" for k, j in places]
    backward = [f"B{k}.{1 - j}" for k, j in places]
    orders = []
    for first in (7, 6, 5, 4):
        order = forward[:first]
        for k in range(16 - first):
            order += [forward[first + k], backward[k]]
        orders.append(" ".join(order + backward[16 - first :]))
    return orders

# %% wrong_all_forward_first: wrong, holds_too_many, levels 0
def two_chunks():
    forward = [f"F{k}.{j}" for j in (0, 1) for k in range(8)]
    backward = [f"B{k}.{j}" for j in (1, 0) for k in range(8)]
    return [" ".join(forward + backward)] * 4

# %% wrong_backward_first (right_by_hand): wrong, stands_still, levels 0
-        "F0.0 F1.0 F2.0 F3.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4.0 B0.0 F5.0 B1.0 F6.0 B2.0 F7.0 B3.0 F4.1 B4.1 F5.1 B5.1 F6.1 B6.1 F7.1 B7.1 B4.0 B5.0 B6.0 B7.0",
+        "B0.1 F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4.0 B0.0 F5.0 B1.0 F6.0 B2.0 F7.0 B3.0 F4.1 B4.1 F5.1 B5.1 F6.1 B6.1 F7.1 B7.1 B4.0 B5.0 B6.0 B7.0",

# %% wrong_forgets_the_last (right_by_hand): wrong, no_actions, levels 0
-        "F0.0 F1.0 F2.0 F3.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4.0 B0.0 F5.0 B1.0 F6.0 B2.0 F7.0 B3.0 F4.1 B4.1 F5.1 B5.1 F6.1 B6.1 F7.1 B7.1 B4.0 B5.0 B6.0 B7.0",
+        "F0.0 F1.0 F2.0 F3.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4.0 B0.0 F5.0 B1.0 F6.0 B2.0 F7.0 B3.0 F4.1 B4.1 F5.1 B5.1 F6.1 B6.1 F7.1 B7.1 B4.0 B5.0 B6.0",

# %% wrong_one_at_a_time: wrong, one_at_a_time, levels 0
def two_chunks():
    return [" ".join(f"F{k}.0 F{k}.1 B{k}.1 B{k}.0" for k in range(8))] * 4

# %% wrong_one_rank_too_eager (right_warm_ups): wrong, waits_too_long, levels 0
-    for first in (7, 6, 5, 4):
+    for first in (7, 5, 5, 4):

# %% wrong_three_ranks (right_by_hand): wrong, no_actions, levels 0
-        "F0.0 F1.0 F2.0 F3.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4.0 B0.0 F5.0 B1.0 F6.0 B2.0 F7.0 B3.0 F4.1 B4.1 F5.1 B5.1 F6.1 B6.1 F7.1 B7.1 B4.0 B5.0 B6.0 B7.0",
