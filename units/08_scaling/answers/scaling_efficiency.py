# Right and wrong answers to `scaling_efficiency`. In files of their own: autograder bank --write DIR
import numpy as np
from fractions import Fraction

# %% right_by_kind: passed
def kind_of(p, batch):
    if len(np.unique(batch)) == 1:
        return "Strong"
    if len({Fraction(int(b), int(n)) for b, n in zip(batch, p)}) == 1:
        return "Weak"
    return "Neither"


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    kind = kind_of(world_sizes, global_batch_sizes)
    speedup = step_seconds[0] / step_seconds
    more_ranks = world_sizes / world_sizes[0]
    more_work = global_batch_sizes / global_batch_sizes[0]
    if kind == "Strong":
        return kind, speedup / more_ranks
    if kind == "Weak":
        return kind, speedup
    return kind, speedup * more_work / more_ranks

# %% right_crosswise: passed
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    if not np.ptp(b):
        kind = "strong"
    elif np.array_equal(b * p[0], b[0] * p):
        kind = "weak"
    else:
        kind = "neither"
    return [kind, [float(b[i] / t[i] * t[0] / b[0] * p[0] / p[i]) for i in range(len(p))]]

# %% right_list: passed
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    per_rank = [b / t / p for p, b, t in zip(world_sizes, global_batch_sizes, step_seconds)]
    kind = "neither"
    if len(set(b * world_sizes[0] - p * global_batch_sizes[0] for p, b in zip(world_sizes, global_batch_sizes))) == 1:
        kind = "weak"
    if len(set(global_batch_sizes)) == 1:
        kind = "strong"
    return kind, [rate / per_rank[0] for rate in per_rank]

# %% right_numpy: passed
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    local = global_batch_sizes / world_sizes
    if np.all(global_batch_sizes == global_batch_sizes[0]):
        kind = "strong"
    elif np.allclose(local, local[0]):
        kind = "weak"
    else:
        kind = "neither"
    rate = global_batch_sizes / step_seconds
    return kind, rate / rate[0] / (world_sizes / world_sizes[0])

# %% right_torch: passed
import torch


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = (torch.as_tensor(x, dtype=torch.float64) for x in (world_sizes, global_batch_sizes, step_seconds))
    per_rank = b / (t * p)
    same_global, same_local = bool((b == b[0]).all()), bool(torch.isclose(b / p, b[0] / p[0]).all())
    return {(True, False): "strong", (False, True): "weak"}.get((same_global, same_local), "neither"), per_rank / per_rank[0]

# %% right_unique: passed
# differs: Fractions in place of quotients: whether all local batches are alike is decided without rounding.
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    kind = (
        "strong"
        if np.unique(b).size == 1
        else "weak"
        if len({Fraction(int(x), int(y)) for x, y in zip(b, p)}) == 1
        else "neither"
    )
    e = (b / (p * t)) / (b[0] / (p[0] * t[0]))
    return kind, e.tolist()

# %% right_with_tolerance: passed
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.allclose(b, b[0]) else "weak" if np.allclose(local, local[0]) else "neither"
    rate = b / t / p
    return kind, rate / rate[0]

# %% wrong_always_strong: wrong, strong_weak_swapped, levels 1 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong"
    efficiency = (b / t) / (b[0] / t[0]) / (p / p[0])
    return kind, efficiency

# %% wrong_best_row: wrong, best_row, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if (b == b[0]).all() else "weak" if (local == local[0]).all() else "neither"
    r = b / t / p
    return kind, r / r.max()

# %% wrong_ceil_local: wrong, neither_overlooked, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = -(-b // p)
    kind = "strong" if (b == b[0]).all() else "weak" if (local == local[0]).all() else "neither"
    r = b / t
    return kind, r / r[0] / (p / p[0])

# %% wrong_clipped: wrong, clipped, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if (b == b[0]).all() else "weak" if (local == local[0]).all() else "neither"
    r = b / t
    return kind, np.minimum(r / r[0] / (p / p[0]), 1)

# %% wrong_doubling: wrong, doubling_assumed, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if (b == b[0]).all() else "weak" if (local == local[0]).all() else "neither"
    r = b / t
    return kind, r / r[0] / 2.0 ** np.arange(len(p))

# %% wrong_first_last: wrong, neither_overlooked, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if b[0] == b[-1] else "weak" if local[0] == local[-1] else "neither"
    r = b / t
    return kind, r / r[0] / (p / p[0])

# %% wrong_first_row_on_one_rank: wrong, first_row_on_one_rank, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = (b / t) / (b[0] / t[0]) / p
    return kind, efficiency

# %% wrong_german_words: wrong, unknown_kind, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "stark" if np.all(b == b[0]) else "schwach" if np.all(local == local[0]) else "weder"
    efficiency = (b / t) / (b[0] / t[0]) / (p / p[0])
    return kind, efficiency

# %% wrong_images_of_each_rank_added: wrong, neither_overlooked, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    per_added_rank = np.diff(global_batch_sizes) / np.diff(world_sizes)
    if np.all(global_batch_sizes == global_batch_sizes[0]):
        kind = "strong"
    elif np.allclose(per_added_rank, per_added_rank[0]):  # the same number of images with every rank that is added
        kind = "weak"
    else:
        kind = "neither"
    rate = global_batch_sizes / step_seconds / world_sizes
    return kind, rate / rate[0]

# %% wrong_int_ratio: wrong, ranks_divided_whole, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if (b == b[0]).all() else "weak" if (local == local[0]).all() else "neither"
    r = b / t
    return kind, r / r[0] / (p // p[0])

# %% wrong_local_batch_divided_again: wrong, ranks_counted_twice, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = (local / t) / (local[0] / t[0]) / (p / p[0])
    return kind, efficiency

# %% wrong_local_batch_rounded_down (right_numpy): wrong, neither_overlooked, levels 1 1 0
-    local = global_batch_sizes / world_sizes
@@
-    elif np.allclose(local, local[0]):
+    elif len(set(global_batch_sizes // world_sizes)) == 1:
@@
-    return kind, rate / rate[0] / (world_sizes / world_sizes[0])
+    return kind, (rate / rate[0]) / (world_sizes / world_sizes[0])

# %% wrong_local_to_a_thousandth (right_numpy): wrong, neither_overlooked, levels 1 1 0
-    elif np.allclose(local, local[0]):
+    elif np.allclose(local, local[0], rtol=1e-3):
@@
-    rate = global_batch_sizes / step_seconds
-    return kind, rate / rate[0] / (world_sizes / world_sizes[0])
+    rate = local / step_seconds
+    return kind, rate / rate[0]

# %% wrong_looks_at_two_rows_only: wrong, neither_overlooked, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if b[1] == b[0] else "weak" if local[1] == local[0] else "neither"
    efficiency = (b / t) / (b[0] / t[0]) / (p / p[0])
    return kind, efficiency

# %% wrong_looks_for_one_rank: raised, needs_one_rank, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.allclose(local, local[0]) else "neither"
    rate = b / t
    base = rate[list(p).index(1)]
    return kind, rate / base / p

# %% wrong_mean_of_no_rows: wrong, needs_one_rank, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.allclose(local, local[0]) else "neither"
    rate = b / t
    return kind, rate / rate[p == 1].mean() / p

# %% wrong_mean_test: wrong, neither_overlooked, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    kind = "strong" if b.mean() == b[0] else "weak" if (b / p).mean() == b[0] / p[0] else "neither"
    r = b / t
    return kind, r / r[0] / (p / p[0])

# %% wrong_multiplied_back: wrong, whole_batches_only, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    local = global_batch_sizes / world_sizes
    if np.ptp(global_batch_sizes) == 0:
        kind = "strong"
    elif np.all(global_batch_sizes == local[0] * world_sizes):
        kind = "weak"
    else:
        kind = "neither"
    rate = local / step_seconds
    return kind, rate / rate[0]

# %% wrong_neither_without_one_rank: wrong, needs_one_rank, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    if p[0] != 1:
        return "neither", b / t / p / (b[0] / t[0] / p[0])
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.allclose(local, local[0]) else "neither"
    rate = b / t
    return kind, rate / rate[0] / p

# %% wrong_no_scatter: wrong, whole_batches_only, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    local = global_batch_sizes / world_sizes
    if np.std(global_batch_sizes) == 0:
        kind = "strong"
    elif np.std(local) == 0:
        kind = "weak"
    else:
        kind = "neither"
    rate = local / step_seconds
    return kind, rate / rate[0]

# %% wrong_not_divided: wrong, not_divided, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = (b / t) / (b[0] / t[0])
    return kind, efficiency

# %% wrong_percent: wrong, percent, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = 100 * (b / t) / (b[0] / t[0]) / (p / p[0])
    return kind, efficiency

# %% wrong_previous_row: wrong, previous_row, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = np.append(1.0, (local / t)[1:] / (local / t)[:-1])
    return kind, efficiency

# %% wrong_rounded: wrong, rounded, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = np.round((b / t) / (b[0] / t[0]) / (p / p[0]), 2)
    return kind, efficiency

# %% wrong_rounded_local: wrong, neither_overlooked, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = np.round(b / p)
    kind = "strong" if (b == b[0]).all() else "weak" if (local == local[0]).all() else "neither"
    r = b / t
    return kind, r / r[0] / (p / p[0])

# %% wrong_same_to_a_hundredth (right_numpy): wrong, neither_overlooked, levels 1 1 0
-    if np.all(global_batch_sizes == global_batch_sizes[0]):
+    if np.allclose(global_batch_sizes, global_batch_sizes[0], rtol=0.01):  # 256 images do not divide by 3
@@
-    rate = global_batch_sizes / step_seconds
-    return kind, rate / rate[0] / (world_sizes / world_sizes[0])
+    rate = local / step_seconds
+    return kind, rate / rate[0]

# %% wrong_speedup_by_time: wrong, time_ratio_not_divided, levels 0 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = t[0] / t
    return kind, efficiency

# %% wrong_strong_weak_swapped: wrong, strong_weak_swapped, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "weak" if np.all(b == b[0]) else "strong" if np.all(local == local[0]) else "neither"
    efficiency = (b / t) / (b[0] / t[0]) / (p / p[0])
    return kind, efficiency

# %% wrong_sums_test: wrong, neither_overlooked, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    kind = "strong" if b.sum() == b[0] * len(b) else "weak" if b.sum() == b[0] / p[0] * p.sum() else "neither"
    r = b / t
    return kind, r / r[0] / (p / p[0])

# %% wrong_swapped: wrong, swapped, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = (b / t) / (b[0] / t[0]) / (p / p[0])
    return efficiency, kind

# %% wrong_throughput: wrong, throughput, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = b / t
    return kind, efficiency

# %% wrong_throughput_per_rank: wrong, throughput_per_rank, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = b / t / p
    return kind, efficiency

# %% wrong_time_ratio: wrong, time_ratio, levels 1 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = t[0] / (p / p[0] * t)
    return kind, efficiency

# %% wrong_two_kinds_only: wrong, neither_overlooked, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak"
    efficiency = (b / t) / (b[0] / t[0]) / (p / p[0])
    return kind, efficiency

# %% wrong_type_of_the_seconds: wrong, unrecognised, levels 0 1 1
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = np.empty_like(t)
    for k in range(len(t)):
        efficiency[k] = (b[k] / t[k]) / (b[0] / t[0]) / (p[k] / p[0])
    return kind, efficiency

# %% wrong_upside_down: wrong, upside_down, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = t / b * p / (t[0] / b[0] * p[0])
    return kind, efficiency

# %% wrong_weak_only_by_time: wrong, time_ratio, levels 1 1 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = t[0] / t if kind == "weak" else t[0] / t / (p / p[0])
    return kind, efficiency

# %% wrong_whole_local_batches (right_list): wrong, whole_batches_only, levels 1 1 0
-    if len(set(b * world_sizes[0] - p * global_batch_sizes[0] for p, b in zip(world_sizes, global_batch_sizes))) == 1:
+    if not any(global_batch_sizes % world_sizes) and len(set(global_batch_sizes // world_sizes)) == 1:

# %% wrong_without_first_row: wrong, without_first_row, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = ((b / t) / (b[0] / t[0]) / (p / p[0]))[1:]
    return kind, efficiency

# %% wrong_without_kind: wrong, kind_missing, levels 0 0 0
def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = (b / t) / (b[0] / t[0]) / (p / p[0])
    return efficiency
