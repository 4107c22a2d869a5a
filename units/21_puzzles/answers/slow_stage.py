# Right and wrong answers to `slow_stage`. In files of their own: autograder bank --write DIR

# %% right_by_hand: passed
def slow_stage():
    return [
        "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7",
        "F0 F1 F2 F3 B0 B1 B2 B3 F4 F5 F6 F7 B4 B5 B6 B7",
        "F0 F1 B0 F2 B1 F3 B2 B3 F4 F5 B4 F6 B5 F7 B6 B7",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
    ]

# %% right_first_come: passed
def slow_stage():
    """Each rank goes on with a backward pass where it can, else with a forward pass where it has memory for one."""
    most, seconds, with_weights = (
        [4, 4, 2, 1],
        {"F": [1.0, 2.0, 1.0, 1.0], "B": [2.0, 4.0, 2.0, 2.0], "W": [1.0, 1.0, 1.0, 1.0]},
        False,
    )
    done, clock, orders = {}, [0.0] * 4, [[] for _ in range(4)]
    count = [dict.fromkeys("FBW", 0) for _ in range(4)]

    def ready(rank, what, k):
        if what == "W":
            return done.get(("B", k, rank))
        before = ("F", k, rank - 1) if what == "F" else ("B", k, rank + 1)
        own = 0.0 if what == "F" else done.get(("F", k, rank))
        other = 0.0 if before[2] in (-1, 4) else done.get(before)
        return None if own is None or other is None else max(own, other)

    while sum(map(len, orders)) < 4 * 8 * (2 + with_weights):
        possible = []
        for rank, n in enumerate(count):
            alive = n["F"] - n["W" if with_weights else "B"]
            for place, what in enumerate("BFW" if with_weights else "BF"):
                limit = n["B"] if what == "W" else 8
                when = ready(rank, what, n[what]) if n[what] < limit else None
                if when is not None and not (what == "F" and alive == most[rank]):
                    possible.append((max(clock[rank], when), place, rank, what))
        start, _, rank, what = min(possible)
        clock[rank] = done[what, count[rank][what], rank] = start + seconds[what][rank]
        orders[rank].append(f"{what}{count[rank][what]}")
        count[rank][what] += 1
    return [" ".join(order) for order in orders]

# %% right_warm_ups: passed
# differs: The order of 1F1B as it is: it passes, and the slow rank still waits at times.
def slow_stage():
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
def slow_stage():
    return [" ".join(f"{what}{k}" for what in "FB" for k in range(8))] * 4

# %% wrong_backward_first (right_by_hand): wrong, stands_still, levels 0
-        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
+        "B0 F0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",

# %% wrong_forgets_the_last (right_by_hand): wrong, no_actions, levels 0
-        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
+        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7",

# %% wrong_one_at_a_time: wrong, one_at_a_time, levels 0
def slow_stage():
    return [" ".join(f"F{k} B{k}" for k in range(8))] * 4

# %% wrong_short_warm_up (right_warm_ups): wrong, waits_too_long, levels 0
-    for first in (3, 2, 1, 0):
+    for first in (2, 1, 0, 0):

# %% wrong_three_ranks (right_by_hand): wrong, no_actions, levels 0
-        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
