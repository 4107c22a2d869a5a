# Right and wrong answers to `speedup_and_efficiency`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_arrays: passed
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    efficiency = speedup / (ranks / ranks[0])
    return speedup, efficiency

# %% right_loop: passed
def speedup_and_efficiency(ranks, seconds):
    speedups, efficiencies = [], []
    for p, t in zip(ranks, seconds):
        s = seconds[0] / t
        speedups.append(s)
        efficiencies.append(s * ranks[0] / p)
    return speedups, efficiencies

# %% right_rank_seconds: passed
# differs: The efficiency is the first row's rank-seconds over each row's: what the same work costs in ranks times time.
def speedup_and_efficiency(ranks, seconds):
    rank_seconds = ranks * seconds  # what the run costs
    return np.array([seconds[0] / seconds, rank_seconds[0] / rank_seconds])

# %% wrong_assumes_perfect_start: wrong, assumes_perfect_start, levels 1 0
def speedup_and_efficiency(ranks, seconds):
    one_rank = seconds[0] * ranks[0]
    speedup = one_rank / seconds
    return speedup, speedup / ranks

# %% wrong_divides_lists: raised, TypeError, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    speedup = [seconds[0] / t for t in seconds]
    more_ranks = [p / ranks[0] for p in ranks]
    return speedup, speedup / more_ranks

# %% wrong_efficiency_is_speedup (right_arrays): wrong, efficiency_is_speedup, levels 0 0
-    efficiency = speedup / (ranks / ranks[0])
+    efficiency = seconds[0] / seconds

# %% wrong_efficiency_times_ranks (right_arrays): wrong, efficiency_times_ranks, levels 0 0
-    efficiency = speedup / (ranks / ranks[0])
+    efficiency = ranks / ranks[0] * speedup

# %% wrong_first_run_on_one_rank: wrong, first_run_on_one_rank, levels 1 0
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    return speedup, speedup / ranks

# %% wrong_ideal: wrong, ideal, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    speedup = ranks / ranks[0]
    return speedup, speedup / speedup

# %% wrong_integer_arrays: wrong, whole_numbers, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    speedup, efficiency = np.zeros_like(ranks), np.zeros_like(ranks)
    for row in range(len(ranks)):
        speedup[row] = seconds[0] / seconds[row]
        efficiency[row] = speedup[row] / (ranks[row] / ranks[0])
    return speedup, efficiency

# %% wrong_last_row: wrong, last_row, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    s = seconds[-1] / seconds
    return s, s * ranks[-1] / ranks

# %% wrong_never_above_one: wrong, capped, levels 0 1
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    return speedup, np.minimum(speedup * ranks[0] / ranks, 1.0)

# %% wrong_percent: wrong, percent, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    return speedup, 100 * speedup * ranks[0] / ranks

# %% wrong_previous_row: wrong, previous_row, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    speedup = np.ones(len(seconds))
    for i in range(1, len(seconds)):
        speedup[i] = seconds[i - 1] / seconds[i]
    return speedup, speedup * ranks[0] / ranks

# %% wrong_returns_dict: wrong, wrong_type, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    s = seconds[0] / seconds
    return {"speedup": s, "efficiency": s * ranks[0] / ranks}

# %% wrong_slowest_row: wrong, slowest_row, levels 0 1
def speedup_and_efficiency(ranks, seconds):
    speedup = max(seconds) / seconds
    return speedup, speedup * ranks[0] / ranks

# %% wrong_speedup_only: wrong, wrong_type, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    return seconds[0] / seconds

# %% wrong_squeezed: wrong, wrong_shape, levels 1 0
def speedup_and_efficiency(ranks, seconds):
    table = np.column_stack([ranks, seconds]).astype(float)
    relative = table[0] / table  # columns: 1 / growth of the ranks, speedup
    speedup = np.squeeze(relative[:, 1:])
    growth = np.squeeze(relative[:, :1])
    return speedup, speedup * growth

# %% wrong_swapped (right_arrays): wrong, swapped, levels 0 0
-    return speedup, efficiency
+    return efficiency, speedup

# %% wrong_upside_down: wrong, upside_down, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds / seconds[0]
    return speedup, speedup / (ranks / ranks[0])

# %% wrong_whole_ratio: wrong, efficiency_wrong, levels 1 0
def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    return speedup, speedup / (ranks // ranks[0])

# %% wrong_whole_seconds: wrong, whole_numbers, levels 0 0
def speedup_and_efficiency(ranks, seconds):
    speedup, efficiency = np.empty_like(seconds), np.empty_like(seconds)
    for i in range(len(seconds)):
        speedup[i] = seconds[0] / seconds[i]
        efficiency[i] = seconds[0] / seconds[i] * ranks[0] / ranks[i]
    return speedup, efficiency
