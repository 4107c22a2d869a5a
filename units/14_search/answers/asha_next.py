# Right and wrong answers to `asha_next`. In files of their own: autograder bank --write DIR
import math

# %% right_counts: passed
# differs: It counts how many of a rung may rise and takes the best that have not risen yet.
def asha_next(finished, started, n, eta):
    for k in range(len(started) - 2, -1, -1):
        known = sorted((loss, i) for i, loss in finished[k].items() if loss == loss)
        room = len(finished[k]) // eta
        free = [i for _, i in known[:room] if i not in set(started[k + 1])]
        if free:
            return free[0], k + 1
    new = len(started[0])
    return (new, 0) if new < n else None

# %% right_ranked: passed
def asha_next(finished, started, n, eta):
    for k in reversed(range(len(finished) - 1)):
        losses = finished[k]
        ranked = sorted(losses, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        for config in ranked[: len(losses) // eta]:
            if config not in started[k + 1] and not math.isnan(losses[config]):
                return config, k + 1
    if len(started[0]) < n:
        return len(started[0]), 0
    return None

# %% wrong_best_started: wrong, looks_at_the_best_alone, levels 0 1 1
def asha_next(finished, started, n, eta):
    for k in reversed(range(len(finished) - 1)):
        losses = {i: loss for i, loss in finished[k].items() if not math.isnan(loss)}
        if losses and len(finished[k]) // eta:
            best = min(losses, key=lambda i: (losses[i], i))
            if best not in started[k + 1]:
                return best, k + 1
    return (len(started[0]), 0) if len(started[0]) < n else None

# %% wrong_counts_running (right_ranked): wrong, counts_those_that_run, levels 1 0 0
-        for config in ranked[: len(losses) // eta]:
+        for config in ranked[: len(started[k]) // eta]:

# %% wrong_diverged_not_counted: wrong, diverged_do_not_count, levels 1 1 0
def asha_next(finished, started, n, eta):
    for k in range(len(finished) - 2, -1, -1):
        done = finished[k]
        good = sorted((loss, i) for i, loss in done.items() if not math.isnan(loss))
        for loss, i in good[: len(good) // eta]:
            if i not in started[k + 1]:
                return i, k + 1
    if len(started[0]) < n:
        return len(started[0]), 0
    return None

# %% wrong_first_that_came: wrong, last_of_equals, levels 1 1 0
def asha_next(finished, started, n, eta):
    for k in range(len(finished) - 2, -1, -1):
        done = finished[k]
        good = sorted(((loss, i) for i, loss in done.items() if not math.isnan(loss)), key=lambda t: t[0])
        for loss, i in good[: len(done) // eta]:
            if i not in started[k + 1]:
                return i, k + 1
    if len(started[0]) < n:
        return len(started[0]), 0
    return None

# %% wrong_inf_stays: wrong, inf_is_no_loss, levels 1 1 0
def asha_next(finished, started, n, eta):
    for k in reversed(range(len(finished) - 1)):
        losses = finished[k]
        ranked = sorted((loss, i) for i, loss in losses.items() if math.isfinite(loss))
        for _, config in ranked[: len(losses) // eta]:
            if config not in started[k + 1]:
                return config, k + 1
    return (len(started[0]), 0) if len(started[0]) < n else None

# %% wrong_losses_above_zero: wrong, inf_is_no_loss, levels 1 1 0
def asha_next(finished, started, n, eta):
    for k in range(len(finished) - 2, -1, -1):
        good = sorted((loss, i) for i, loss in finished[k].items() if loss >= 0)
        for _, i in good[: len(finished[k]) // eta]:
            if i not in started[k + 1]:
                return i, k + 1
    return (len(started[0]), 0) if len(started[0]) < n else None

# %% wrong_losses_rounded: wrong, losses_rounded, levels 0 1 1
import numpy as np


def asha_next(finished, started, n, eta):
    for k in range(len(finished) - 2, -1, -1):
        numbers = np.array(sorted(finished[k]), dtype=int)
        losses = np.array([finished[k][i] for i in numbers.tolist()], dtype=np.float32)
        order = numbers[np.argsort(losses, kind="stable")]
        for i in order[: len(numbers) // eta].tolist():
            if i not in started[k + 1] and finished[k][i] == finished[k][i]:
                return i, k + 1
    return (len(started[0]), 0) if len(started[0]) < n else None

# %% wrong_lowest (right_ranked): wrong, lowest_rung_first, levels 0 1 1
-    for k in reversed(range(len(finished) - 1)):
+    for k in range(len(finished) - 1):

# %% wrong_nan (right_ranked): wrong, nan_goes_up, levels 1 1 0
-        ranked = sorted(losses, key=lambda i: (math.isnan(losses[i]), losses[i], i))
+        ranked = sorted(losses, key=losses.get)
@@
-            if config not in started[k + 1] and not math.isnan(losses[config]):
+            if config not in started[k + 1]:

# %% wrong_nan_in_the_way (right_ranked): wrong, nan_in_the_way, levels 1 1 0
-        ranked = sorted(losses, key=lambda i: (math.isnan(losses[i]), losses[i], i))
+        ranked = sorted(losses, key=lambda i: (losses[i], i))

# %% wrong_nan_last (right_ranked): wrong, nan_is_last_and_goes_up, levels 1 1 0
-            if config not in started[k + 1] and not math.isnan(losses[config]):
+            if config not in started[k + 1]:
@@
-    if len(started[0]) < n:
-        return len(started[0]), 0
-    return None
+    return (len(started[0]), 0) if len(started[0]) < n else None

# %% wrong_never_ends (right_ranked): wrong, past_the_last, levels 1 1 0
-    if len(started[0]) < n:
-        return len(started[0]), 0
-    return None
+    return len(started[0]), 0

# %% wrong_new_first (right_ranked): wrong, new_ones_first, levels 0 1 0
 def asha_next(finished, started, n, eta):
+    if len(started[0]) < n:
+        return len(started[0]), 0
@@
-    if len(started[0]) < n:
-        return len(started[0]), 0

# %% wrong_next_best (right_ranked): wrong, next_best, levels 0 0 0
-        for config in ranked[: len(losses) // eta]:
+        for config in [i for i in ranked if i not in started[k + 1]][: len(losses) // eta]:

# %% wrong_notes_it_itself: wrong, notes_it_itself, levels 0 0 0
def asha_next(finished, started, n, eta):
    for k in range(len(finished) - 2, -1, -1):
        known = sorted((loss, i) for i, loss in finished[k].items() if loss == loss)
        for _, i in known[: len(finished[k]) // eta]:
            if i not in started[k + 1]:
                started[k + 1].append(i)
                return i, k + 1
    new = len(started[0])
    if new < n:
        started[0].append(new)
        return new, 0
    return None

# %% wrong_one_after_the_last_started (right_ranked): raised, ValueError, levels 0 1 1
-    if len(started[0]) < n:
-        return len(started[0]), 0
-    return None
+    new = max(started[0]) + 1
+    return (new, 0) if new < n else None

# %% wrong_runs (right_ranked): wrong, while_it_runs, levels 1 0 1
-            if config not in started[k + 1] and not math.isnan(losses[config]):
+            if config not in finished[k + 1] and not math.isnan(losses[config]):

# %% wrong_three_rungs (right_ranked): wrong, new_ones_first, levels 0 1 1
-    for k in reversed(range(len(finished) - 1)):
+    for k in (1, 0):
@@
-    if len(started[0]) < n:
-        return len(started[0]), 0
-    return None
+    return (len(started[0]), 0) if len(started[0]) < n else None

# %% wrong_ties (right_ranked): wrong, last_of_equals, levels 1 1 0
-        ranked = sorted(losses, key=lambda i: (math.isnan(losses[i]), losses[i], i))
+        ranked = sorted(losses, key=lambda i: (math.isnan(losses[i]), losses[i], -i))

# %% wrong_twice (right_ranked): wrong, promotes_twice, levels 0 0 0
-            if config not in started[k + 1] and not math.isnan(losses[config]):
+            if config not in [] and not math.isnan(losses[config]):

# %% wrong_up (right_ranked): wrong, rounds_up, levels 0 1 0
-        for config in ranked[: len(losses) // eta]:
+        for config in ranked[: math.ceil(len(losses) / eta)]:

# %% wrong_waits (right_ranked): wrong, waits_for_the_rung, levels 0 1 0
         losses = finished[k]
+        if len(losses) < len(started[k]):
+            continue

# %% wrong_worst (right_ranked): wrong, promotes_the_worst, levels 0 0 0
-        ranked = sorted(losses, key=lambda i: (math.isnan(losses[i]), losses[i], i))
+        ranked = sorted(losses, key=lambda i: (not math.isnan(losses[i]), -losses[i]))
