# Right and wrong answers to `dynamic_scale`. In files of their own: autograder bank --write DIR

# %% right_library: passed
# differs: The library's own scaler goes through the same history: the weights are zeros, only its decisions matter.
import torch


def dynamic_scale(found_inf, start, growth_interval):
    scaler = torch.amp.GradScaler("cpu", init_scale=start, growth_interval=growth_interval)
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scales = []
    for inf in found_inf:
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        if inf:
            weight.grad[0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales

# %% right_loop: passed
def dynamic_scale(found_inf, start, growth_interval):
    scale, good, scales = start, 0, []
    for inf in found_inf:
        if inf:
            scale = scale / 2
            good = 0
        else:
            good += 1
            if good == growth_interval:
                scale = scale * 2
                good = 0
        scales.append(scale)
    return scales

# %% wrong_before (right_loop): wrong, scale_before_the_step, levels 0 0
     for inf in found_inf:
+        scales.append(scale)
@@
-        scales.append(scale)

# %% wrong_capped (right_loop): wrong, has_a_ceiling, levels 1 0
-            scale = scale / 2
-            good = 0
+            scale, good = scale / 2, 0
@@
-                scale = scale * 2
-                good = 0
+                scale, good = min(2.0**24, scale * 2), 0

# %% wrong_counts_exponents: wrong, unrecognised, levels 0 1
import math


def dynamic_scale(found_inf, start, growth_interval):
    exponent, good, scales = round(math.log2(start)), 0, []
    for inf in found_inf:
        if inf:
            exponent, good = exponent - 1, 0
        else:
            good += 1
            if good == growth_interval:
                exponent, good = exponent + 1, 0
        scales.append(2.0**exponent)
    return scales

# %% wrong_counts_from_start (right_loop): wrong, counts_on_after_growth, levels 1 0
-            if good == growth_interval:
+            if good >= growth_interval:
@@
-                good = 0

# %% wrong_counts_on (right_loop): wrong, counts_on_after_a_skip, levels 1 0
-            good = 0

# %% wrong_floor: wrong, stops_at_one, levels 0 1
def dynamic_scale(found_inf, start, growth_interval):
    s, g, out = start, 0, []
    for f in found_inf:
        if f:
            s, g = max(1.0, s / 2), 0
        else:
            g += 1
            if g % growth_interval == 0:
                s *= 2
        out.append(s)
    return out

# %% wrong_grows (right_loop): wrong, grows_every_step, levels 0 0
-            if good == growth_interval:
+            if good:

# %% wrong_largest_2_40: wrong, has_a_ceiling, levels 1 0
def dynamic_scale(found_inf, start, growth_interval):
    scale, good, out = start, 0, []
    for bad in found_inf:
        if bad:
            scale = scale / 2
            good = 0
        else:
            good += 1
            if good == growth_interval:
                scale = min(scale * 2, 2.0**40)
                good = 0
        out.append(scale)
    return out

# %% wrong_late (right_loop): wrong, one_late, levels 1 0
-            if good == growth_interval:
+            if good > growth_interval:

# %% wrong_modulo: wrong, counts_all_steps, levels 1 0
def dynamic_scale(found_inf, start, growth_interval):
    s, out = start, []
    for k, f in enumerate(found_inf, 1):
        if f:
            s /= 2
        elif k % growth_interval == 0:
            s *= 2
        out.append(s)
    return out

# %% wrong_never_grows (right_loop): wrong, never_grows, levels 1 0
-                scale = scale * 2

# %% wrong_never_halves (right_loop): wrong, never_halves, levels 0 0
-            scale = scale / 2

# %% wrong_recursive: raised, RecursionError, levels 1 0
def dynamic_scale(found_inf, start, growth_interval):
    def go(rest, scale, good):
        if not rest:
            return []
        if rest[0]:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good == growth_interval:
                scale, good = scale * 2, 0
        return [scale] + go(rest[1:], scale, good)

    return go(found_inf, start, 0)

# %% wrong_smallest_2_m30: wrong, has_a_floor, levels 0 1
def dynamic_scale(found_inf, start, growth_interval):
    scale, good, out = start, 0, []
    for bad in found_inf:
        if bad:
            scale = max(scale / 2, 2.0**-30)
            good = 0
        else:
            good += 1
            if good == growth_interval:
                scale = scale * 2
                good = 0
        out.append(scale)
    return out

# %% wrong_whole_numbers (right_loop): wrong, whole_numbers, levels 0 1
-            scale = scale / 2
-            good = 0
+            scale, good = scale // 2, 0
@@
-                scale = scale * 2
-                good = 0
+                scale, good = scale * 2, 0
