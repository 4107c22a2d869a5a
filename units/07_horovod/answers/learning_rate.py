# Right and wrong answers to `learning_rate`. In files of their own: autograder bank --write DIR

# %% right_early_return: passed
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate * world_size
    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps

# %% right_interpolated: passed
import numpy as np


def learning_rate(step, base_rate, world_size, warmup_steps):
    if warmup_steps == 0:
        return base_rate * world_size
    return np.interp(step, [0, warmup_steps], [base_rate, base_rate * world_size])

# %% right_minimum: passed
# differs: The warm-up is a number between 0 and 1 that stops growing, so there is one formula and no branch.
def learning_rate(step, base_rate, world_size, warmup_steps):
    done = min(1.0, step / warmup_steps) if warmup_steps else 1.0
    return base_rate * (1 + done * (world_size - 1))

# %% wrong_at_least_base (right_early_return): wrong, flat_at_first, levels 0 1
-    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
+    return max(base_rate, base_rate * world_size * step / warmup_steps)

# %% wrong_by_recursion (right_early_return): raised, RecursionError, levels 0 1
-    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
+    if step == 0:
+        return base_rate
+    rise = base_rate * (world_size - 1) / warmup_steps
+    return learning_rate(step - 1, base_rate, world_size, warmup_steps) + rise

# %% wrong_cosine: wrong, cosine, levels 0 1
import math


def learning_rate(step, base_rate, world_size, warmup_steps):
    full = base_rate * world_size
    if step >= warmup_steps:
        return full
    return base_rate + (full - base_rate) * (1 - math.cos(math.pi * step / warmup_steps)) / 2

# %% wrong_divides_by_zero: raised, ZeroDivisionError, levels 1 0
def learning_rate(step, base_rate, world_size, warmup_steps):
    return base_rate * (1 + (world_size - 1) * min(1, step / warmup_steps))

# %% wrong_falls_back: wrong, falls_back, levels 0 0
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate
    return base_rate * (1 + (world_size - 1) * step / warmup_steps)

# %% wrong_from_a_fraction: wrong, unscaled_warmup, levels 0 0
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate
    return base_rate / world_size * (1 + (world_size - 1) * step / warmup_steps)

# %% wrong_from_a_share (right_early_return): wrong, starts_elsewhere, levels 0 1
-    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
+    return base_rate / world_size * (1 + step * (world_size - 1) / warmup_steps)

# %% wrong_from_a_step (right_early_return): wrong, starts_elsewhere, levels 0 0
-    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
+    return base_rate * world_size * (step + 1) / (warmup_steps + 1)

# %% wrong_geometric (right_early_return): wrong, geometric, levels 0 1
-    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
+    return base_rate * world_size ** (step / warmup_steps)

# %% wrong_geometric_step_by_step (right_early_return): wrong, geometric, levels 0 1
-    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
+    factor = world_size ** (1 / warmup_steps)
+    rate = base_rate
+    for _ in range(step):
+        rate *= factor
+    return rate

# %% wrong_jumps: wrong, jumps, levels 0 1
def learning_rate(step, base_rate, world_size, warmup_steps):
    return base_rate * world_size if step >= warmup_steps else base_rate

# %% wrong_last_step_is_full: wrong, ends_early, levels 0 1
def learning_rate(step, base_rate, world_size, warmup_steps):
    if warmup_steps <= 1 or step >= warmup_steps - 1:
        return base_rate * world_size
    return base_rate * (1 + (world_size - 1) * step / (warmup_steps - 1))

# %% wrong_max_one: wrong, warmup_of_one_step, levels 1 0
def learning_rate(step, base_rate, world_size, warmup_steps):
    climbed = min(1.0, step / max(warmup_steps, 1))
    return base_rate + (world_size - 1) * base_rate * climbed

# %% wrong_never_stops: wrong, never_stops, levels 1 0
def learning_rate(step, base_rate, world_size, warmup_steps):
    if warmup_steps == 0:
        return base_rate * world_size
    return base_rate + base_rate * (world_size - 1) * step / warmup_steps

# %% wrong_no_warmup: wrong, no_warmup, levels 0 1
def learning_rate(step, base_rate, world_size, warmup_steps):
    return base_rate * world_size

# %% wrong_none_of_one_step (right_early_return): wrong, no_warmup, levels 0 1
-    if step >= warmup_steps:
+    if step >= warmup_steps or warmup_steps <= 1:

# %% wrong_one_step_early (right_early_return): wrong, one_step_early, levels 0 1
-    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
+    return base_rate + base_rate * (world_size - 1) * (step + 1) / warmup_steps

# %% wrong_overshoots: wrong, overshoots, levels 0 0
def learning_rate(step, base_rate, world_size, warmup_steps):
    scaled = base_rate * world_size
    if step < warmup_steps:
        return base_rate + scaled * step / warmup_steps
    return scaled

# %% wrong_rounded (right_early_return): wrong, starts_elsewhere, levels 0 1
-    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
+    return round(base_rate + base_rate * (world_size - 1) * step / warmup_steps, 4)

# %% wrong_square_root: wrong, square_root, levels 0 0
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate * world_size**0.5
    return base_rate * (1 + (world_size**0.5 - 1) * step / warmup_steps)

# %% wrong_starts_at_zero (right_early_return): wrong, starts_at_zero, levels 0 0
-    return base_rate + (base_rate * world_size - base_rate) * step / warmup_steps
+    return base_rate * world_size * step / warmup_steps

# %% wrong_unscaled: wrong, unscaled, levels 0 0
def learning_rate(step, base_rate, world_size, warmup_steps):
    return base_rate
