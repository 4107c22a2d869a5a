# Right and wrong answers to `best_trial`. In files of their own: autograder bank --write DIR
import math
import numpy as np
import torch
import torch.distributed as dist

# %% right_messages: passed
def best_trial(numbers, validation, test):
    n, v, t = numbers.numpy(), validation.numpy(), test.numpy()
    best = np.array([np.inf, np.inf, np.inf])
    keep = np.isfinite(v)
    if keep.any():
        n, v, t = n[keep], v[keep], t[keep]
        k = np.lexsort((n, v))[0]
        best = np.array([v[k], n[k], t[k]])
    best = torch.from_numpy(best)
    rank, p = dist.get_rank(), dist.get_world_size()
    other = torch.empty_like(best)
    if rank > 0:
        dist.recv(other, rank - 1)
        best = best if best.tolist() <= other.tolist() else other.clone()
    if rank < p - 1:
        dist.send(best, rank + 1)
    dist.broadcast(best, p - 1)
    if not torch.isfinite(best[0]):
        raise ValueError("no trial")
    return int(best[1]), float(best[2])

# %% right_one_gather: passed
# differs: Each rank sends its best (loss, number, error) once, and everybody takes the smallest: one call in place of three.
def best_trial(numbers, validation, test):
    mine = torch.tensor([torch.inf, torch.inf, 0.0], dtype=torch.float64)
    ok = ~validation.isnan()
    if ok.any():
        rows = torch.stack([validation, numbers.double(), test], dim=1)[ok]
        mine = torch.tensor(min(rows.tolist()), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss == float("inf"):
        raise ValueError("no trial has a loss")
    return int(number), error

# %% right_rank_0_chooses: passed
def best_trial(numbers, validation, test):
    rank, p = dist.get_rank(), dist.get_world_size()
    rows = zip(validation.tolist(), numbers.tolist(), test.tolist())
    best = min((row for row in rows if row[0] == row[0]), default=(float("inf"), 0, 0.0))
    message = torch.tensor(best, dtype=torch.float64)
    if rank:
        dist.send(message, 0)
        dist.recv(message, 0)
    else:
        for r in range(1, p):
            dist.recv(message, r)
            best = min(best, tuple(message.tolist()))
        message = torch.tensor(best, dtype=torch.float64)
        for r in range(1, p):
            dist.send(message, r)
    loss, number, error = message.tolist()
    if loss == float("inf"):
        raise ValueError
    return int(number), error

# %% right_three_reductions: passed
def best_trial(numbers, validation, test):
    validation = validation.nan_to_num(nan=math.inf)
    least = min(validation.tolist(), default=math.inf)
    loss = torch.tensor(least, dtype=torch.float64)
    dist.all_reduce(loss, op=dist.ReduceOp.MIN)
    if loss == math.inf:
        raise ValueError
    candidates = numbers[validation == loss]
    number = torch.tensor(min(candidates.tolist(), default=1 << 60))
    dist.all_reduce(number, op=dist.ReduceOp.MIN)
    error = test[numbers == number].sum()
    dist.all_reduce(error)
    return number.item(), error.item()

# %% wrong_all_trials: wrong, sends_all_trials, levels 0 0 0 0
def best_trial(numbers, validation, test):
    rows = list(zip(validation.tolist(), numbers.tolist(), test.tolist()))
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, rows)
    rows = [row for share in everyone for row in share if row[0] == row[0]]
    if not rows:
        raise ValueError("no trial")
    return min(rows)[1:]

# %% wrong_argmin: wrong, first_rank_of_equals, levels 1 0 0 0
def best_trial(numbers, validation, test):
    mine = torch.full((3,), torch.inf, dtype=torch.float64)
    if len(numbers):
        k = int(np.argmin(validation.numpy()))
        mine = torch.stack([validation[k], numbers[k].double(), test[k]])
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    k = int(np.argmin([one[0].item() for one in everyone]))
    if everyone[k][0] == torch.inf:
        raise ValueError("no trial")
    return int(everyone[k][1]), everyone[k][2].item()

# %% wrong_by_test: wrong, chooses_by_test_set, levels 0 0 0 1
def best_trial(numbers, validation, test):
    ok = ~validation.isnan()
    rows = sorted(zip(test[ok].tolist(), numbers[ok].tolist()))
    mine = torch.tensor(rows[0] if rows else [torch.inf, 0], dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    error, number = min(one.tolist() for one in everyone)
    if error == torch.inf:
        raise ValueError("no trial")
    return int(number), error

# %% wrong_error_on_one_rank: wrong, error_on_one_rank, levels 0 0 0 1
def best_trial(numbers, validation, test):
    good = ~validation.isnan()
    loss = torch.where(good, validation, math.inf)
    least = loss.min() if len(loss) else torch.tensor(math.inf, dtype=torch.float64)
    dist.all_reduce(least, op=dist.ReduceOp.MIN)
    if math.isinf(least):
        raise ValueError
    here = numbers[loss == least]
    winner = here.min() if len(here) else torch.tensor(2**62)
    dist.all_reduce(winner, op=dist.ReduceOp.MIN)
    error = test[numbers == winner].sum()
    return winner.item(), error.item()

# %% wrong_errors_above_zero: wrong, unrecognised, levels 0 1 1 1
def best_trial(numbers, validation, test):
    good = ~validation.isnan()
    loss = torch.where(good, validation, math.inf)
    least = loss.min() if len(loss) else torch.tensor(math.inf, dtype=torch.float64)
    dist.all_reduce(least, op=dist.ReduceOp.MIN)
    if math.isinf(least):
        raise ValueError
    here = numbers[loss == least]
    winner = here.min() if len(here) else torch.tensor(2**62)
    dist.all_reduce(winner, op=dist.ReduceOp.MIN)
    mine = test[numbers == winner]
    error = mine[0] if len(mine) else torch.tensor(0.0, dtype=torch.float64)
    dist.all_reduce(error, op=dist.ReduceOp.MAX)
    return winner.item(), error.item()

# %% wrong_first_of_equals_here (right_one_gather): wrong, first_rank_of_equals, levels 1 0 1 1
-    mine = torch.tensor([torch.inf, torch.inf, 0.0], dtype=torch.float64)
-    ok = ~validation.isnan()
-    if ok.any():
-        rows = torch.stack([validation, numbers.double(), test], dim=1)[ok]
-        mine = torch.tensor(min(rows.tolist()), dtype=torch.float64)
+    mine = [torch.inf, torch.inf, 0.0]
+    loss = validation.nan_to_num(nan=torch.inf)
+    if len(loss):
+        k = int(loss.argmin())
+        mine = [loss[k].item(), numbers[k].item(), test[k].item()]
+    mine = torch.tensor(mine, dtype=torch.float64)

# %% wrong_first_on_one_rank (right_messages): wrong, unrecognised, levels 0 1 1 1
     rank, p = dist.get_rank(), dist.get_world_size()
+    if p == 1:
+        return int(numbers[0]), float(test[0])

# %% wrong_first_rank: wrong, first_rank_of_equals, levels 1 0 1 1
def best_trial(numbers, validation, test):
    loss = validation.nan_to_num(nan=torch.inf)
    mine = torch.full((3,), torch.inf, dtype=torch.float64)
    if len(loss):
        k = loss.argmin()
        mine = torch.stack([loss[k], numbers[k].double(), test[k]])
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    winner = min(everyone, key=lambda one: one[0].item())
    if winner[0] == torch.inf:
        raise ValueError("no trial")
    return int(winner[1]), winner[2].item()

# %% wrong_flag_for_each_trial: wrong, sends_all_trials, levels 0 1 1 1
def best_trial(numbers, validation, test):
    mine = torch.full((3,), torch.inf, dtype=torch.float64)
    bad = validation.isnan()
    count = torch.tensor([len(numbers)])
    dist.all_reduce(count, op=dist.ReduceOp.MAX)
    flags = torch.ones(int(count), dtype=torch.bool).to(torch.uint8)
    flags[: len(bad)] = bad.to(torch.uint8)
    dist.all_reduce(flags, op=dist.ReduceOp.MIN)
    if bool((flags == 1).all()):
        raise ValueError
    if (~bad).any():
        rows = torch.stack([validation, numbers.double(), test], dim=1)[~bad]
        mine = torch.tensor(min(rows.tolist()), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    _, number, error = min(one.tolist() for one in everyone)
    return int(number), error

# %% wrong_float32_losses (right_one_gather): wrong, losses_rounded, levels 1 0 0 1
-    mine = torch.tensor([torch.inf, torch.inf, 0.0], dtype=torch.float64)
-    ok = ~validation.isnan()
-    if ok.any():
-        rows = torch.stack([validation, numbers.double(), test], dim=1)[ok]
-        mine = torch.tensor(min(rows.tolist()), dtype=torch.float64)
+    rows = zip(validation.float().tolist(), numbers.tolist(), test.tolist())
+    mine = min((row for row in rows if row[0] == row[0]), default=(float("inf"), 0, 0))
+    mine = torch.tensor(mine, dtype=torch.float64)

# %% wrong_last_of_equals: wrong, last_of_equals, levels 1 0 1 1
def best_trial(numbers, validation, test):
    rows = zip(validation.tolist(), numbers.neg().tolist(), test.tolist())
    rows = [row for row in rows if row[0] == row[0]]
    mine = torch.tensor(min(rows, default=[torch.inf, 0, 0]), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss == torch.inf:
        raise ValueError("no trial")
    return -int(number), error

# %% wrong_last_of_equals_here (right_one_gather): wrong, last_place_of_equals, levels 1 0 1 1
-    mine = torch.tensor([torch.inf, torch.inf, 0.0], dtype=torch.float64)
-    ok = ~validation.isnan()
-    if ok.any():
-        rows = torch.stack([validation, numbers.double(), test], dim=1)[ok]
-        mine = torch.tensor(min(rows.tolist()), dtype=torch.float64)
+    mine = [torch.inf, torch.inf, 0.0]
+    for number, loss, error in zip(numbers.tolist(), validation.tolist(), test.tolist()):
+        if loss <= mine[0]:
+            mine = [loss, number, error]
+    mine = torch.tensor(mine, dtype=torch.float64)

# %% wrong_losses_below_1e30: wrong, raises_without_reason, levels 1 1 0 1
def best_trial(numbers, validation, test):
    good = ~validation.isnan()
    loss = torch.where(good, validation, 1e30)
    least = loss.min() if len(loss) else torch.tensor(1e30, dtype=torch.float64)
    dist.all_reduce(least, op=dist.ReduceOp.MIN)
    if least >= 1e30:
        raise ValueError
    here = numbers[loss == least]
    winner = here.min() if len(here) else torch.tensor(2**62)
    dist.all_reduce(winner, op=dist.ReduceOp.MIN)
    error = test[numbers == winner].sum()
    dist.all_reduce(error)
    return winner.item(), error.item()

# %% wrong_losses_below_1e99 (right_one_gather): wrong, raises_without_reason, levels 1 1 0 1
-    mine = torch.tensor([torch.inf, torch.inf, 0.0], dtype=torch.float64)
@@
     ok = ~validation.isnan()
+    mine = torch.full((3,), 1e99, dtype=torch.float64)
@@
-    loss, number, error = min(one.tolist() for one in everyone)
-    if loss == float("inf"):
-        raise ValueError("no trial has a loss")
+    rows = [one.tolist() for one in everyone]
+    rows = [row for row in rows if row[0] < 1e99]
+    if not rows:
+        raise ValueError("no trial")
+    _, number, error = min(rows)

# %% wrong_min_keeps_nan: wrong, nan_hides_the_others, levels 1 1 0 1
def best_trial(numbers, validation, test):
    rows = zip(validation.tolist(), numbers.tolist(), test.tolist())
    mine = min(rows, default=(float("nan"), 0, 0.0))
    mine = torch.tensor(mine, dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    rows = [one.tolist() for one in everyone if not one[0].isnan()]
    if not rows:
        raise ValueError("every trial has diverged")
    _, number, error = min(rows)
    return int(number), error

# %% wrong_minus_one_is_none (right_one_gather): wrong, raises_without_reason, levels 0 1 1 1
-    mine = torch.tensor([torch.inf, torch.inf, 0.0], dtype=torch.float64)
@@
     ok = ~validation.isnan()
+    mine = torch.full((3,), -1.0, dtype=torch.float64)
@@
-    loss, number, error = min(one.tolist() for one in everyone)
-    if loss == float("inf"):
-        raise ValueError("no trial has a loss")
+    rows = [one.tolist() for one in everyone]
+    rows = [row for row in rows if row[0] >= 0]
+    if not rows:
+        raise ValueError("no trial")
+    _, number, error = min(rows)

# %% wrong_nan: wrong, nan_wins, levels 1 1 0 1
def best_trial(numbers, validation, test):
    if validation.isnan().all():
        rows = []
    else:
        rows = list(zip(validation.nan_to_num().tolist(), numbers.tolist(), test.tolist()))
    mine = torch.tensor(min(rows, default=[torch.inf, 0, 0]), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss == torch.inf:
        raise ValueError("no trial")
    return int(number), error

# %% wrong_numbers_below_2_53: wrong, unrecognised, levels 0 1 1 1
def best_trial(numbers, validation, test):
    good = ~validation.isnan()
    loss = torch.where(good, validation, math.inf)
    least = loss.min() if len(loss) else torch.tensor(math.inf, dtype=torch.float64)
    dist.all_reduce(least, op=dist.ReduceOp.MIN)
    if math.isinf(least):
        raise ValueError
    here = numbers[loss == least]
    winner = here.min() if len(here) else torch.tensor(2**53 - 1)
    dist.all_reduce(winner, op=dist.ReduceOp.MIN)
    error = test[numbers == winner].sum()
    dist.all_reduce(error)
    return winner.item(), error.item()

# %% wrong_numbers_in_float32 (right_one_gather): wrong, number_rounded, levels 0 1 1 1
-        rows = torch.stack([validation, numbers.double(), test], dim=1)[ok]
+        rows = torch.stack([validation, numbers.float(), test], dim=1)[ok]

# %% wrong_numbers_in_the_message: wrong, sends_all_trials, levels 1 1 1 0
def best_trial(numbers, validation, test):
    p = dist.get_world_size()
    ok = ~validation.isnan()
    found = torch.tensor([float(ok.any())])
    dist.all_reduce(found)
    if found == 0:  # which trials have failed? for the message
        everyone = [None] * p
        dist.all_gather_object(everyone, numbers.tolist())
        raise ValueError(f"all of these have diverged: {everyone}")
    mine = torch.full((3,), torch.inf, dtype=torch.float64)
    if ok.any():
        rows = torch.stack([validation, numbers.double(), test], dim=1)[ok]
        mine = torch.tensor(min(rows.tolist()), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(p)]
    dist.all_gather(everyone, mine)
    _, number, error = min(one.tolist() for one in everyone)
    return int(number), error

# %% wrong_own: wrong, own_best, levels 0 0 0 1
def best_trial(numbers, validation, test):
    rows = [row for row in zip(validation.tolist(), numbers.tolist(), test.tolist()) if row[0] == row[0]]
    trials = torch.tensor(len(rows))
    dist.all_reduce(trials)
    if trials == 0:
        raise ValueError("no trial")
    if not rows:
        return None
    return min(rows)[1:]

# %% wrong_place: wrong, place_for_number, levels 0 0 0 1
def best_trial(numbers, validation, test):
    mine = torch.full((4,), torch.inf, dtype=torch.float64)
    loss = validation.nan_to_num(nan=torch.inf)
    if len(loss) and loss.min() < torch.inf:
        k = min(range(len(loss)), key=lambda k: (loss[k].item(), numbers[k].item()))
        mine = torch.stack([loss[k], numbers[k].double(), test[k], torch.tensor(k).double()])
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    best = min(one.tolist() for one in everyone)
    if best[0] == torch.inf:
        raise ValueError("no trial")
    return int(best[3]), best[2]

# %% wrong_raises_if_a_rank_has_none: wrong, raises_without_reason, levels 1 0 0 1
def best_trial(numbers, validation, test):
    rows = zip(validation.tolist(), numbers.tolist(), test.tolist())
    mine = min((row for row in rows if row[0] == row[0]), default=(float("inf"), 0, 0))
    mine = torch.tensor(mine, dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    everyone = [one.tolist() for one in everyone]
    if any(one[0] == float("inf") for one in everyone):
        raise ValueError("no trial has a loss")
    loss, number, error = min(everyone)
    return int(number), error

# %% wrong_returns_something: wrong, takes_anything, levels 1 1 1 0
def best_trial(numbers, validation, test):
    rows = [row for row in zip(validation.tolist(), numbers.tolist(), test.tolist()) if row[0] == row[0]]
    mine = torch.tensor(min(rows, default=[torch.inf, -1, torch.inf]), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    return int(number), error

# %% wrong_sentinel: wrong, raises_without_reason, levels 1 1 0 1
def best_trial(numbers, validation, test):
    rows = [row for row in zip(validation.tolist(), numbers.tolist(), test.tolist(), strict=True) if row[0] == row[0]]
    mine = torch.tensor(min(rows, default=(1e9, 0, 0)), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss >= 1e9:
        raise ValueError("no trial has a loss")
    return int(number), error

# %% wrong_smallest_test: wrong, lowest_test_error, levels 0 0 0 1
def best_trial(numbers, validation, test):
    rows = [row for row in zip(validation.tolist(), numbers.tolist()) if row[0] == row[0]]
    mine = torch.tensor(min(rows, default=[torch.inf, 0]), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    error = torch.tensor(min(test.tolist(), default=torch.inf), dtype=torch.float64)
    dist.all_reduce(error, op=dist.ReduceOp.MIN)
    loss, number = min(one.tolist() for one in everyone)
    if loss == torch.inf:
        raise ValueError("no trial")
    return int(number), error.item()

# %% wrong_tensors (right_three_reductions): wrong, other_type, levels 0 0 0 1
-    return number.item(), error.item()
+    return number, error

# %% wrong_validation_loss: wrong, returns_validation, levels 0 0 0 1
NOTHING = float("inf")


def best_trial(numbers, validation, test):
    mine = [NOTHING, NOTHING, NOTHING, NOTHING]
    rows = zip(validation.tolist(), numbers.tolist(), test.tolist(), validation.tolist())
    rows = [row for row in rows if row[0] == row[0]]
    if rows:
        mine = list(min(rows))
    everyone = [torch.empty(4, dtype=torch.float64) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, torch.tensor(mine, dtype=torch.float64))
    rows = [one.tolist() for one in everyone if one[1] < NOTHING]
    if not rows:
        raise ValueError("no trial")
    loss, number, error, validated = min(rows)
    return int(number), loss

# %% wrong_worst: wrong, worst_wins, levels 0 0 0 1
NOTHING = float("inf")


def best_trial(numbers, validation, test):
    mine = [NOTHING, NOTHING, NOTHING, NOTHING]
    rows = zip(validation.tolist(), numbers.tolist(), test.tolist(), validation.tolist())
    rows = [row for row in rows if row[0] == row[0]]
    if rows:
        mine = list(max(rows))
    everyone = [torch.empty(4, dtype=torch.float64) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, torch.tensor(mine, dtype=torch.float64))
    rows = [one.tolist() for one in everyone if one[1] < NOTHING]
    if not rows:
        raise ValueError("no trial")
    loss, number, error, validated = max(rows)
    return int(number), error

# %% wrong_zero_is_none: wrong, unrecognised, levels 1 0 1 1
def best_trial(numbers, validation, test):
    mine = torch.zeros(3, dtype=torch.float64)
    trials = zip(validation.tolist(), numbers.tolist(), test.tolist(), strict=True)
    if trials := [trial for trial in trials if trial[0] == trial[0]]:
        mine = torch.tensor(min(trials), dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    found = [one.tolist() for one in everyone if one[1]]
    if not found:
        raise ValueError("no trial has a loss")
    _, number, error = min(found)
    return int(number), error

# %% wrong_zero_loss_is_none (right_one_gather): wrong, raises_without_reason, levels 0 0 1 1
-    mine = torch.tensor([torch.inf, torch.inf, 0.0], dtype=torch.float64)
@@
     ok = ~validation.isnan()
+    mine = torch.full((3,), 0.0, dtype=torch.float64)
@@
-    loss, number, error = min(one.tolist() for one in everyone)
-    if loss == float("inf"):
-        raise ValueError("no trial has a loss")
+    rows = [one.tolist() for one in everyone]
+    rows = [row for row in rows if row[0] > 0]
+    if not rows:
+        raise ValueError("no trial")
+    _, number, error = min(rows)
