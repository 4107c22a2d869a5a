# Right and wrong answers to `successive_halving`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_any_of_the_diverged: passed
def successive_halving(train, n, r, R, eta):
    alive, rungs, k = list(range(n)), [], 0
    while r * eta**k <= R and n // eta**k > 0:
        losses = {i: train(i, r * eta**k) for i in alive}
        ranked = sorted((i for i in alive if not math.isnan(losses[i])), key=lambda i: (losses[i], i))
        ranked += sorted((i for i in alive if math.isnan(losses[i])), reverse=True)
        rungs.append(ranked)
        k += 1
        alive = ranked[: n // eta**k]
    return rungs

# %% right_dict: passed
def key_of(losses):
    return lambda i: (math.isnan(losses[i]), losses[i], i)


def successive_halving(train, n, r, R, eta):
    alive, rungs, k = list(range(n)), [], 0
    while r * eta**k <= R and n // eta**k > 0:
        losses = {i: train(i, r * eta**k) for i in alive}
        ranked = sorted(alive, key=key_of(losses))
        rungs.append(ranked)
        k += 1
        alive = ranked[: n // eta**k]
    return rungs

# %% right_numpy: passed
# differs: A lexical sort puts the numbers of equal losses in order and NaNs at the end.
def successive_halving(train, n, r, R, eta):
    rungs, alive, epochs = [], np.arange(n), r
    while epochs <= R and len(alive):
        losses = np.array([train(i, epochs) for i in alive])
        alive = alive[np.lexsort((alive, losses))]  # nan is sorted to the end
        rungs.append(alive.tolist())
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs

# %% wrong_arrays (right_numpy): wrong, other_type, levels 0 0 0
-        rungs.append(alive.tolist())
+        rungs.append(alive)

# %% wrong_best_so_far (right_any_of_the_diverged): wrong, best_so_far, levels 0 0 0
-    alive, rungs, k = list(range(n)), [], 0
+    alive, rungs, k, best = list(range(n)), [], 0, [math.inf] * n
@@
-        losses = {i: train(i, r * eta**k) for i in alive}
-        ranked = sorted((i for i in alive if not math.isnan(losses[i])), key=lambda i: (losses[i], i))
-        ranked += sorted((i for i in alive if math.isnan(losses[i])), reverse=True)
+        for i in alive:
+            best[i] = min(best[i], train(i, r * eta**k))
+        ranked = sorted(alive, key=lambda i: (best[i], i))

# %% wrong_diverged_never_go_on: wrong, wrong_length, levels 1 0 1
def successive_halving(train, n, r, R, eta):
    alive, rungs, k = list(range(n)), [], 0
    while r * eta**k <= R and alive:
        losses = {i: train(i, r * eta**k) for i in alive}
        ranked = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        rungs.append(ranked)
        k += 1
        alive = [i for i in ranked if not math.isnan(losses[i])][: n // eta**k]
    return rungs

# %% wrong_empty_rung_for_none: wrong, wrong_length, levels 1 0 1
def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while epochs <= R:
        losses = {i: train(i, epochs) for i in alive}
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        rungs.append(alive)
        if len(alive) < eta:
            break
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs

# %% wrong_epochs_as_floats: raised, NotAnInt, levels 0 0 0
def successive_halving(train, n, r, R, eta):
    alive, rungs, k = list(range(n)), [], 0
    while r * math.pow(eta, k) <= R and alive:
        losses = {i: train(i, r * math.pow(eta, k)) for i in alive}
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        rungs.append(alive)
        alive = alive[: len(alive) // eta]
        k += 1
    return rungs

# %% wrong_equal_epochs (right_dict): wrong, equal_epochs, levels 0 0 0
-        losses = {i: train(i, r * eta**k) for i in alive}
+        losses = {i: train(i, r * (k + 1)) for i in alive}

# %% wrong_falsy_loss_is_none: wrong, unrecognised, levels 1 0 1
def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while alive and epochs <= R:
        losses = {i: train(i, epochs) or math.inf for i in alive}
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        rungs.append(alive)
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs

# %% wrong_half (right_dict): wrong, halves, levels 0 0 0
-    while r * eta**k <= R and n // eta**k > 0:
+    while r * eta**k <= R and alive:
@@
-        alive = ranked[: n // eta**k]
+        alive = ranked[: len(ranked) // 2]

# %% wrong_inf_is_last_but_one: wrong, unrecognised, levels 1 0 1
def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while alive and epochs <= R:
        keys = {}
        for i in alive:
            loss = train(i, epochs)
            keys[i] = (2 if math.isnan(loss) else 1 if math.isinf(loss) else 0, 0 if loss != loss else loss, i)
        alive = sorted(alive, key=keys.get)
        rungs.append(alive)
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs

# %% wrong_last_rung (right_dict): wrong, stops_before_R, levels 0 0 0
-    while r * eta**k <= R and n // eta**k > 0:
+    while r * eta ** (k + 1) <= R and n // eta**k > 0:

# %% wrong_log_of_rungs: wrong, stops_before_R, levels 0 0 1
def successive_halving(train, n, r, R, eta):
    alive, rungs = list(range(n)), []
    for k in range(int(math.log(R / r) / math.log(eta)) + 1):
        if not alive:
            break
        losses = {i: train(i, r * eta**k) for i in alive}
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        rungs.append(alive)
        alive = sorted(alive[: len(alive) // eta])
    return rungs

# %% wrong_losses_above_zero: wrong, unrecognised, levels 1 0 1
def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while alive and epochs <= R:
        losses = {}
        for i in alive:
            loss = train(i, epochs)
            losses[i] = loss if loss >= 0 or loss != loss else math.nan  # below zero: something went wrong
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        rungs.append(alive)
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs

# %% wrong_losses_rounded: wrong, losses_rounded, levels 0 1 1
def successive_halving(train, n, r, R, eta):
    rungs, alive, epochs = [], list(range(n)), r
    while alive and epochs <= R:
        loss = {i: train(i, epochs) for i in alive}
        alive.sort(key=lambda i: (math.isnan(loss[i]), 0 if math.isnan(loss[i]) else round(loss[i], 6), i))
        rungs.append(list(alive))
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs

# %% wrong_nan (right_dict): wrong, nan_stays, levels 1 0 1
-        ranked = sorted(alive, key=key_of(losses))
+        ranked = sorted(alive, key=losses.get)

# %% wrong_nan_is_inf: wrong, nan_stays, levels 1 0 1
def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while alive and epochs <= R:
        losses = {i: train(i, epochs) for i in alive}
        alive = sorted(alive, key=lambda i: (math.inf if math.isnan(losses[i]) else losses[i], i))
        rungs.append(alive)
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs

# %% wrong_new_epochs: wrong, new_epochs, levels 0 0 0
def successive_halving(train, n: int, r: int, R: int, eta: int) -> list[list[int]]:
    rungs, alive, k, had = [], list(range(n)), 0, 0
    while n // eta**k > 0 and r * eta**k <= R:
        alive = alive[: n // eta**k]
        more = r * eta**k - had
        loss = {i: train(i, more) for i in alive}
        alive = sorted(
            alive,
            key=lambda i: (math.isnan(loss[i]), 0 if math.isnan(loss[i]) else loss[i], i),
        )
        rungs.append(alive)
        had += more
        k += 1
    return rungs

# %% wrong_order_of_training: wrong, order_of_training, levels 0 0 0
def successive_halving(train, n: int, r: int, R: int, eta: int) -> list[list[int]]:
    rungs, alive, k = [], list(range(n)), 0
    while n // eta**k > 0 and r * eta**k <= R:
        alive = alive[: n // eta**k]
        rungs.append(alive)
        loss = {i: train(i, r * eta**k) for i in alive}
        alive = sorted(
            alive,
            key=lambda i: (math.isnan(loss[i]), 0 if math.isnan(loss[i]) else loss[i], i),
        )
        k += 1
    return rungs

# %% wrong_rounds_up: wrong, rounds_up, levels 1 0 0
def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while epochs <= R:
        losses = {i: train(i, epochs) for i in alive}
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], i))
        rungs.append(alive)
        alive, epochs = alive[: math.ceil(len(alive) / eta)], epochs * eta
    return rungs

# %% wrong_sorted (right_dict): wrong, not_in_order, levels 0 0 0
-        rungs.append(ranked)
+        rungs.append(sorted(ranked))

# %% wrong_stable_ties: wrong, ties, levels 1 0 1
def successive_halving(train, n, r, R, eta):
    alive, rungs, epochs = list(range(n)), [], r
    while alive and epochs <= R:
        losses = {i: train(i, epochs) for i in alive}
        alive = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i]))
        rungs.append(alive)
        alive, epochs = alive[: len(alive) // eta], epochs * eta
    return rungs

# %% wrong_ties (right_dict): wrong, ties, levels 0 0 0
-        ranked = sorted(alive, key=key_of(losses))
+        ranked = sorted(alive, key=lambda i: (math.isnan(losses[i]), losses[i], -i))

# %% wrong_trains_all (right_dict): wrong, trains_the_dropped, levels 1 1 0
-        losses = {i: train(i, r * eta**k) for i in alive}
+        losses = {i: train(i, r * eta**k) for i in range(n)}

# %% wrong_winner_alone (right_dict): wrong, not_rungs, levels 0 0 0
-    return rungs
+    return rungs[-1][0]

# %% wrong_winner_to_the_end: wrong, trains_the_winner_on, levels 1 1 0
def successive_halving(train, n, r, R, eta):
    rungs, alive, k = [], list(range(n)), 0
    while n // eta**k >= 1 and r * eta**k <= R:
        alive = alive[: n // eta**k]
        losses = {i: train(i, r * eta**k) for i in alive}
        alive = sorted(alive, key=lambda i: (losses[i] != losses[i], losses[i] if losses[i] == losses[i] else 0, i))
        rungs.append(list(alive))
        k += 1
    if rungs and r * eta ** (k - 1) < R:
        train(rungs[-1][0], R)
    return rungs

# %% wrong_worst (right_dict): wrong, keeps_the_worst, levels 0 0 0
-    return lambda i: (math.isnan(losses[i]), losses[i], i)
+    return lambda i: (math.isnan(losses[i]), 0.0 if math.isnan(losses[i]) else losses[i], i)
@@
-        ranked = sorted(alive, key=key_of(losses))
+        ranked = sorted(alive, key=key_of(losses))[::-1]
