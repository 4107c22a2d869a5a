# Right and wrong answers to `scaled_rate`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_numpy: passed
# differs: The warm-up is an interpolation, and half of 1 + cos is the square of the cosine of half the angle.
def scaled_rate(step, base_rate, base_batch, batch, warmup_steps, steps):
    if step not in range(steps):
        raise ValueError(step)
    if warmup_steps not in range(steps + 1):
        raise ValueError(warmup_steps)
    k = batch / base_batch
    if step < warmup_steps:
        return np.interp(step, [0, warmup_steps], [base_rate, k * base_rate])
    share = (step - warmup_steps) / (steps - warmup_steps)
    return k * base_rate * np.cos(np.pi * share / 2) ** 2

# %% right_plain: passed
def scaled_rate(step, base_rate, base_batch, batch, warmup_steps, steps):
    if not 0 <= step < steps or not 0 <= warmup_steps <= steps:
        raise ValueError("no such step")
    peak = base_rate * batch / base_batch
    if step < warmup_steps:
        return base_rate + (peak - base_rate) * step / warmup_steps
    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps))) / 2

# %% wrong_ahead (right_plain): wrong, one_step_ahead, levels 0 1 1
-        return base_rate + (peak - base_rate) * step / warmup_steps
+        return base_rate + (peak - base_rate) * (step + 1) / warmup_steps

# %% wrong_ahead_from_zero (right_plain): wrong, ahead_from_zero, levels 0 1 1
-        return base_rate + (peak - base_rate) * step / warmup_steps
+        return peak * (step + 1) / warmup_steps

# %% wrong_asserts: raised, not_a_value_error, levels 1 1 0
def scaled_rate(step, base_rate, base_batch, batch, warmup_steps, steps):
    assert 0 <= step < steps and 0 <= warmup_steps <= steps
    peak = base_rate * batch / base_batch
    if step < warmup_steps:
        return base_rate + (peak - base_rate) * step / warmup_steps
    share = (step - warmup_steps) / (steps - warmup_steps)
    return peak * (1 + math.cos(math.pi * share)) / 2

# %% wrong_by_batch (right_plain): wrong, scaled_by_batch, levels 0 0 1
-    peak = base_rate * batch / base_batch
+    peak = base_rate * batch

# %% wrong_divides (right_plain): wrong, divides, levels 0 0 1
-    peak = base_rate * batch / base_batch
+    peak = base_rate / (batch / base_batch)

# %% wrong_down_too_soon (right_plain): wrong, down_a_step_too_soon, levels 1 0 1
-        raise ValueError("no such step")
+        raise ValueError
@@
-    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps))) / 2
+    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / max(1, steps - 1 - warmup_steps))) / 2

# %% wrong_floor (right_plain): wrong, whole_factor, levels 0 0 1
-    peak = base_rate * batch / base_batch
+    peak = base_rate * (batch // base_batch)

# %% wrong_from_the_start (right_plain): wrong, counts_from_the_start, levels 0 0 1
-    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps))) / 2
+    return peak * (1 + math.cos(math.pi * step / steps)) / 2

# %% wrong_from_zero (right_plain): wrong, from_zero, levels 0 1 1
-        return base_rate + (peak - base_rate) * step / warmup_steps
+        return peak * step / warmup_steps

# %% wrong_geometric_warmup: wrong, geometric, levels 0 1 1
def scaled_rate(step, base_rate, base_batch, batch, warmup_steps, steps):
    if not 0 <= step < steps or not 0 <= warmup_steps <= steps:
        raise ValueError("no such step")
    k = batch / base_batch
    if step < warmup_steps:
        return base_rate * k ** (step / warmup_steps)
    share = (step - warmup_steps) / (steps - warmup_steps)
    return base_rate * k * (1 + math.cos(math.pi * share)) / 2

# %% wrong_last_step_refused (right_plain): wrong, ValueError, levels 0 1 1
-    if not 0 <= step < steps or not 0 <= warmup_steps <= steps:
+    if not 0 <= step < steps or not 0 <= warmup_steps < steps:

# %% wrong_never_smaller (right_plain): wrong, never_smaller, levels 0 0 1
-    peak = base_rate * batch / base_batch
+    peak = base_rate * max(1, batch / base_batch)
@@
-    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps))) / 2
+    share = (step - warmup_steps) / (steps - warmup_steps)
+    return peak * (1 + math.cos(math.pi * share)) / 2

# %% wrong_no_warmup (right_plain): wrong, no_warmup, levels 0 1 1
-        return base_rate + (peak - base_rate) * step / warmup_steps
+        return peak

# %% wrong_no_warmup_raises (right_plain): raised, ZeroDivisionError, levels 0 1 1
-        raise ValueError("no such step")
+        raise ValueError
@@
-    if step < warmup_steps:
+    if step <= warmup_steps:

# %% wrong_not_halved (right_plain): wrong, not_halved, levels 0 0 1
-    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps))) / 2
+    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps)))

# %% wrong_not_refused (right_plain): wrong, not_refused, levels 1 1 0
-    if not 0 <= step < steps or not 0 <= warmup_steps <= steps:
-        raise ValueError("no such step")

# %% wrong_not_scaled (right_plain): wrong, not_scaled, levels 0 0 1
-    peak = base_rate * batch / base_batch
+    peak = base_rate

# %% wrong_refuses_the_last_step (right_numpy): wrong, ValueError, levels 1 0 1
-    if step not in range(steps):
+    if step not in range(steps - 1):

# %% wrong_square_root (right_plain): wrong, square_root, levels 0 0 1
-    peak = base_rate * batch / base_batch
+    peak = base_rate * math.sqrt(batch / base_batch)

# %% wrong_stays_up (right_plain): wrong, stays_up, levels 1 0 1
-    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps))) / 2
+    return peak

# %% wrong_step_not_looked_at (right_plain): wrong, not_refused, levels 1 1 0
-    if not 0 <= step < steps or not 0 <= warmup_steps <= steps:
+    if not 0 <= warmup_steps <= steps:

# %% wrong_straight (right_plain): wrong, straight_down, levels 1 0 1
-    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps))) / 2
+    return peak * (1 - (step - warmup_steps) / (steps - warmup_steps))

# %% wrong_too_long (right_plain): wrong, too_long, levels 1 0 1
-    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps))) / 2
+    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / steps)) / 2
