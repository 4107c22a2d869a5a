# Right and wrong answers to `checkpoint_every`. In files of their own: autograder bank --write DIR
import math

# %% right_daly: passed
# differs: Daly's formula, which corrects Young's for saves that take their time, in place of trying numbers.
def checkpoint_every(step, save, mtbf, ranks):
    failure = mtbf / ranks
    x = save / (2 * failure)
    useful = math.sqrt(2 * save * failure) * (1 + math.sqrt(x) / 3 + x / 9) - save
    below = max(1, int(useful / step))

    def longer(n):
        return math.expm1((n * step + save) / failure) / n

    return min(below, below + 1, key=longer)

# %% right_newton: passed
def checkpoint_every(step, save, mtbf, ranks):
    failure, x = mtbf / ranks, 0.5
    for _ in range(200):  # exp(x + save / failure) (1 - x) = 1, halved again and again
        low, high = 0.0, 1.0
        for _ in range(60):
            x = (low + high) / 2
            low, high = (x, high) if math.exp(x + save / failure) * (1 - x) > 1 else (low, x)
        break
    below = max(1, int(x * failure / step))
    one, two = ((math.exp((n * step + save) / failure) - 1) / n for n in (below, below + 1))
    return below if one < two else below + 1

# %% right_tries: passed
# differs: It tries one number of steps after the other as long as the time per step falls: no formula to trust.
def checkpoint_every(step, save, mtbf, ranks):
    failure = mtbf / ranks

    def longer(n):
        return math.expm1((n * step + save) / failure) / (n * step)

    n = 1
    while longer(n + 1) < longer(n):
        n += 1
    return n

# %% wrong_every_step: wrong, not_the_best, levels 0 0
def checkpoint_every(step, save, mtbf, ranks):
    return 1

# %% wrong_float: wrong, no_steps, levels 0 0
def checkpoint_every(step, save, mtbf, ranks):
    return math.sqrt(2 * save * mtbf / ranks) / step

# %% wrong_half_of_the_time: wrong, not_the_best, levels 0 0
def checkpoint_every(step, save, mtbf, ranks):
    return max(1, int(mtbf / ranks / 2 / step))

# %% wrong_looks_two_ahead (right_tries): wrong, not_the_best, levels 1 0
-        return math.expm1((n * step + save) / failure) / (n * step)
+        return math.expm1((n * step + save) / failure) / n
@@
-    while longer(n + 1) < longer(n):
+    while longer(n + 2) < longer(n):

# %% wrong_no_two: wrong, forgets_the_two, levels 0 0
def checkpoint_every(step, save, mtbf, ranks):
    return max(1, round(math.sqrt(save * mtbf / ranks) / step))

# %% wrong_one_rank: wrong, of_one_rank, levels 0 0
def checkpoint_every(step, save, mtbf, ranks):
    return max(1, round(math.sqrt(2 * save * mtbf) / step))

# %% wrong_one_rank_more (right_tries): wrong, not_the_best, levels 1 0
-    failure = mtbf / ranks
+    failure = mtbf / (ranks + 1)

# %% wrong_rounds_down (right_newton): wrong, not_the_best, levels 1 0
-    one, two = ((math.exp((n * step + save) / failure) - 1) / n for n in (below, below + 1))
-    return below if one < two else below + 1
+    return below

# %% wrong_rounds_to_the_nearest (right_newton): wrong, not_the_best, levels 1 0
-    below = max(1, int(x * failure / step))
-    one, two = ((math.exp((n * step + save) / failure) - 1) / n for n in (below, below + 1))
-    return below if one < two else below + 1
+    return max(1, round(x * failure / step))

# %% wrong_seconds: wrong, seconds_for_steps, levels 0 0
def checkpoint_every(step, save, mtbf, ranks):
    return max(1, round(math.sqrt(2 * save * mtbf / ranks)))

# %% wrong_the_other_ranks (right_tries): raised, ZeroDivisionError, levels 1 0
-    failure = mtbf / ranks
+    failure = mtbf / (ranks - 1)

# %% wrong_whole_seconds_between_failures (right_tries): wrong, not_the_best, levels 1 0
-    failure = mtbf / ranks
+    failure = mtbf // ranks

# %% wrong_young: wrong, to_first_order, levels 1 0
def checkpoint_every(step, save, mtbf, ranks):
    return max(1, round(math.sqrt(2 * save * mtbf / ranks) / step))

# %% wrong_young_without_the_save: wrong, not_the_best, levels 1 0
def checkpoint_every(step, save, mtbf, ranks):
    return max(1, round(math.sqrt(2 * save * mtbf / ranks) / step - save / step))

# %% wrong_zero_steps (right_newton): wrong, no_steps, levels 1 0
-    below = max(1, int(x * failure / step))
-    one, two = ((math.exp((n * step + save) / failure) - 1) / n for n in (below, below + 1))
-    return below if one < two else below + 1
+    return round(x * failure / step)
