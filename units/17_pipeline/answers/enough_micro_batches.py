# Right and wrong answers to `enough_micro_batches`. In files of their own: autograder bank --write DIR
import math

# %% right_calls_bubble: passed
import itertools


def enough_micro_batches(p, share, v=1):
    return next(m for m in itertools.count(1) if bubble(p, m, v) <= share and (v == 1 or m % p == 0))

# %% right_loop: passed
# differs: It tries one number after the other, in steps of p where there are chunks: slow, and sure.
def enough_micro_batches(p, share, v=1):
    step = p if v > 1 else 1
    m = step
    while (p - 1) / (v * m + p - 1) > share:
        m += step
    return m

# %% right_solved: passed
def enough_micro_batches(p, share, v=1):
    m = max(1, math.ceil(round((p - 1) * (1 - share) / (share * v), 9)))
    return -(-m // p) * p if v > 1 else m

# %% wrong_a_billionth_more (right_loop): wrong, one_too_few, levels 0 1
-    while (p - 1) / (v * m + p - 1) > share:
+    while (p - 1) / (v * m + p - 1) > share + 1e-9:

# %% wrong_a_millionth_more (right_loop): wrong, one_too_few, levels 0 1
-    step = p if v > 1 else 1
+    step = 1 if v == 1 else p
@@
-    while (p - 1) / (v * m + p - 1) > share:
+    while (p - 1) / (v * m + p - 1) > share + 1e-6:

# %% wrong_always_groups: wrong, multiple_of_p_anyway, levels 0 1
def enough_micro_batches(p, share, v=1):
    m = p
    while (p - 1) / (v * m + p - 1) > share:
        m += p
    return m

# %% wrong_exact_fraction: wrong, one_too_many, levels 0 0
from fractions import Fraction


def enough_micro_batches(p, share, v=1):
    step, exact = p if v > 1 else 1, Fraction(share)
    return max(1, math.ceil((p - 1) * (1 - exact) / (exact * v * step))) * step

# %% wrong_formula_in_floats: wrong, one_too_many, levels 0 0
def enough_micro_batches(p, share, v=1):
    step = p if v > 1 else 1
    return max(1, math.ceil((p - 1) * (1 - share) / share / v / step)) * step

# %% wrong_formula_with_chunks: wrong, one_group_too_many, levels 1 0
def enough_micro_batches(p, share, v=1):
    if v == 1:
        m = 1
        while (p - 1) / (m + p - 1) > share:
            m += 1
        return m
    groups = (p - 1) * (1 / share - 1) / (v * p)
    return max(1, math.ceil(groups)) * p

# %% wrong_four_per_rank: wrong, four_per_rank, levels 0 0
def enough_micro_batches(p, share, v=1):
    return 4 * p

# %% wrong_gives_up_at_ten_thousand: wrong, returns_nothing, levels 0 1
def enough_micro_batches(p, share, v=1):
    for m in range(1, 10_001):
        if (v == 1 or m % p == 0) and (p - 1) / (v * m + p - 1) <= share:
            return m

# %% wrong_multiple_of_v_p (right_loop): wrong, multiple_of_v_p, levels 1 0
-    step = p if v > 1 else 1
+    step = 1 if v == 1 else v * p

# %% wrong_next_group_always: wrong, one_group_too_many, levels 1 0
def enough_micro_batches(p, share, v=1):
    m = 1
    while bubble(p, m, v) > share:
        m += 1
    return m if v == 1 else m + (p - m % p)

# %% wrong_no_chunks (right_loop): wrong, forgets_the_chunks, levels 1 0
-    while (p - 1) / (v * m + p - 1) > share:
+    while (p - 1) / (m + p - 1) > share:

# %% wrong_no_groups: wrong, no_multiple_of_p, levels 1 0
def enough_micro_batches(p, share, v=1):
    return max(1, math.ceil(round((p - 1) * (1 - share) / (share * v), 9)))

# %% wrong_none_for_any_share (right_solved): wrong, none_at_all, levels 0 0
-    m = max(1, math.ceil(round((p - 1) * (1 - share) / (share * v), 9)))
+    if p == 1:
+        return 1
+    m = math.ceil(round((p - 1) * (1 - share) / (share * v), 9))

# %% wrong_none_for_one_rank: wrong, none_at_all, levels 0 0
def enough_micro_batches(p, share, v=1):
    m = math.ceil(round((p - 1) * (1 / share - 1) / v, 9))
    return m if v == 1 else -(-m // p) * p

# %% wrong_of_work: wrong, share_of_the_work, levels 0 0
def enough_micro_batches(p, share, v=1):
    return (
        max(1, math.ceil(round((p - 1) / share, 9)))
        if v == 1
        else -(-math.ceil((p - 1) * (1 - share) / (share * v)) // p) * p
    )

# %% wrong_one_after_rounding: wrong, no_multiple_of_p, levels 1 0
def enough_micro_batches(p, share, v=1):
    m = math.ceil(round((p - 1) * (1 - share) / (share * v), 9))
    if v > 1:
        m = -(-m // p) * p
    return max(m, 1)

# %% wrong_other_formula_in_floats: wrong, one_too_many, levels 0 0
def enough_micro_batches(p, share, v=1):
    m = max(1, math.ceil((p - 1) * (1 / share - 1) / v))
    return m if v == 1 else math.ceil(m / p) * p

# %% wrong_rounds_down: wrong, one_too_few, levels 0 0
def enough_micro_batches(p, share, v=1):
    return (
        max(1, int((p - 1) * (1 - share) / (share * v) - 1e-9))
        if v == 1
        else -(-math.ceil((p - 1) * (1 - share) / (share * v)) // p) * p
    )

# %% wrong_smaller_than (right_loop): wrong, one_too_many, levels 0 0
-    while (p - 1) / (v * m + p - 1) > share:
+    while (p - 1) / (v * m + p - 1) >= share:
