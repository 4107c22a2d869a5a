# Right and wrong answers to `memory_per_rank`. In files of their own: autograder bank --write DIR

# %% right_table: passed
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    states = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer]
    if mixed:
        states += 4
        weights = gradients = 2
    else:
        weights = gradients = 4
    share = (params + p - 1) // p
    total = states * (share if stage >= 1 else params)
    total += gradients * (share if stage >= 2 else params)
    total += weights * (share if stage >= 3 else params)
    return total

# %% right_zip: passed
# differs: Bytes and the stage from which they are divided stand in pairs: the three stages are one sum.
def memory_per_rank(params, p, stage, optimizer, mixed):
    import math

    if not 0 <= stage <= 3:
        raise ValueError(stage)
    if p <= 0:
        raise ValueError(p)
    k = math.ceil(params / p)
    small = 2 if mixed else 4
    kept = [small, small, {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)]
    return float(sum(b * (k if s <= stage else params) for b, s in zip(kept, (3, 2, 1))))

# %% wrong_adam: wrong, always_adam, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    state = 12 if mixed else 8
    return (
        state * (k if stage else params) + small * (k if stage > 1 else params) + small * (k if stage > 2 else params)
    )

# %% wrong_anything: wrong, takes_anything, levels 1 1 0
def memory_per_rank(params, p, stage, optimizer, mixed):
    p = max(p, 1)

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    return (
        state * (k if stage > 0 else params)
        + small * (k if stage > 1 else params)
        + small * (k if stage > 2 else params)
    )

# %% wrong_at_least_one_number: wrong, unrecognised, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")
    share = (params - 1) // p + 1 if params > p else 1
    states = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer] + (4 if mixed else 0)
    b = 2 if mixed else 4
    return (
        states * (share if stage >= 1 else params)
        + b * (share if stage >= 2 else params)
        + b * (share if stage >= 3 else params)
    )

# %% wrong_copy_whole (right_table): wrong, copy_not_divided, levels 0 0 1
-        states += 4
@@
-    total = states * (share if stage >= 1 else params)
+    total = 4 * params if mixed else 0
+    total += states * (share if stage >= 1 else params)

# %% wrong_copy_without_mixed: wrong, copy_without_mixed, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in range(4) or p < 1:
        raise ValueError
    b = 2 if mixed else 4
    state = 4 + {"adam": 8, "momentum": 4, "sgd": 0}[optimizer]
    shard = -(-params // p)
    at = [shard if stage >= first else params for first in (3, 2, 1)]
    return b * at[0] + b * at[1] + state * at[2]

# %% wrong_divides_bytes (right_zip): wrong, divides_bytes, levels 1 0 1
-    k = math.ceil(params / p)
@@
-    return float(sum(b * (k if s <= stage else params) for b, s in zip(kept, (3, 2, 1))))
+    return sum(math.ceil(b * params / p) if s <= stage else b * params for b, s in zip(kept, (3, 2, 1)))

# %% wrong_early: wrong, one_stage_early, levels 0 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    return state * k + small * (k if stage > 0 else params) + small * (k if stage > 1 else params)

# %% wrong_float32: wrong, unrecognised, levels 0 0 1
import numpy as np


def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")
    share = -(-params // p)
    numbers = np.where(np.arange(3, 0, -1) <= stage, share, params).astype(np.float32)
    b = 2 if mixed else 4
    sizes = np.array([b, b, {"adam": 8, "momentum": 4, "sgd": 0}[optimizer] + (4 if mixed else 0)], np.float32)
    return float(numbers @ sizes)

# %% wrong_floor: wrong, drops_remainder, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    k = params // p
    return (
        state * (k if stage else params) + small * (k if stage > 1 else params) + small * (k if stage > 2 else params)
    )

# %% wrong_fraction: wrong, forgets_padding, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    k = params / p
    return (
        state * (k if stage else params) + small * (k if stage > 1 else params) + small * (k if stage > 2 else params)
    )

# %% wrong_full_parts_padded (right_table): wrong, full_parts_padded, levels 1 0 1
     share = (params + p - 1) // p
+    params = share * p if stage else params

# %% wrong_late: wrong, one_stage_late, levels 0 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    return (
        state * (k if stage > 1 else params)
        + small * (k if stage > 2 else params)
        + small * (k if stage > 3 else params)
    )

# %% wrong_moments_in_16_bits (right_table): wrong, moments_in_16_bits, levels 0 0 1
-        states += 4
+        states = states // 2 + 4

# %% wrong_no_copy_for_sgd: wrong, no_master_copy, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")
    state = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer]
    if mixed and state:
        state += 4
    number, share = 2 if mixed else 4, -(-params // p)
    total = state * (share if stage >= 1 else params)
    return total + number * sum(share if stage >= first else params for first in (2, 3))

# %% wrong_no_master: wrong, no_master_copy, levels 0 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer]
    k = -(-params // p)
    return (
        state * (k if stage else params) + small * (k if stage > 1 else params) + small * (k if stage > 2 else params)
    )

# %% wrong_no_mixed: wrong, ignores_mixed, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    small = 2
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + 4
    return (
        state * (k if stage else params) + small * (k if stage > 1 else params) + small * (k if stage > 2 else params)
    )

# %% wrong_no_parameters_first: wrong, takes_anything, levels 1 1 0
def memory_per_rank(params, p, stage, optimizer, mixed):
    if params == 0:
        return 0
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("stage or p")
    k = -(-params // p)
    state = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer] + (4 if mixed else 0)
    width = 2 if mixed else 4
    return (width * (k if stage >= 3 else params) + width * (k if stage >= 2 else params)
            + state * (k if stage >= 1 else params))

# %% wrong_one_part_divided: wrong, one_part_divided, levels 0 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in range(4) or p < 1:
        raise ValueError
    b, state = (2, 4) if mixed else (4, 0)
    state += {"adam": 8, "momentum": 4, "sgd": 0}[optimizer]
    shard = -(-params // p)
    at = [shard if stage == first else params for first in (3, 2, 1)]
    return b * at[0] + b * at[1] + state * at[2]

# %% wrong_only_parameters: wrong, counts_only_parameters, levels 0 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    return small * (k if stage == 3 else params)

# %% wrong_only_stage: wrong, takes_anything, levels 1 1 0
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3):
        raise ValueError(stage)

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // max(p, 1))
    return (
        state * (k if stage > 0 else params)
        + small * (k if stage > 1 else params)
        + small * (k if stage > 2 else params)
    )

# %% wrong_padded_though_whole: wrong, unrecognised, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("stage or p")
    k = -(-params // p)
    state = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer] + (4 if mixed else 0)
    width = 2 if mixed else 4
    return (width * (k if stage >= 3 else params) + width * (k if stage >= 2 else params)
            + state * (k if stage >= 1 else k * p))

# %% wrong_refuses_no_parameters: wrong, raises_without_reason, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1 or params < 1:
        raise ValueError("no such plan")
    share = -(-params // p)
    states = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer] + (4 if mixed else 0)
    b = 2 if mixed else 4
    return (
        states * (share if stage >= 1 else params)
        + b * (share if stage >= 2 else params)
        + b * (share if stage >= 3 else params)
    )

# %% wrong_refuses_one_rank (right_table): wrong, raises_without_reason, levels 1 0 1
-    if stage not in (0, 1, 2, 3) or p < 1:
+    if stage not in (0, 1, 2, 3) or p < 2:

# %% wrong_rounds_half_up: wrong, unrecognised, levels 1 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")
    share = round(params / p + 0.5)
    states = {"adam": 8, "momentum": 4, "sgd": 0}[optimizer] + (4 if mixed else 0)
    b = 2 if mixed else 4
    return (
        states * (share if stage >= 1 else params)
        + b * (share if stage >= 2 else params)
        + b * (share if stage >= 3 else params)
    )

# %% wrong_undivided: wrong, not_divided, levels 0 0 1
def memory_per_rank(params, p, stage, optimizer, mixed):
    if stage not in (0, 1, 2, 3) or p < 1:
        raise ValueError("no such plan")

    small = 2 if mixed else 4
    state = {"sgd": 0, "momentum": 4, "adam": 8}[optimizer] + (4 if mixed else 0)
    k = -(-params // p)
    return (state + 2 * small) * params

# %% wrong_zero_ranks_only (right_table): wrong, takes_anything, levels 1 1 0
-    if stage not in (0, 1, 2, 3) or p < 1:
+    if stage not in (0, 1, 2, 3) or p == 0:
