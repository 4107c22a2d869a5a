# Right and wrong answers to `samples_per_second`. In files of their own: autograder bank --write DIR

# %% right_min: passed
# differs: It compares rates, where the other way compares times: the smallest rate is the longest time.
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(1 / (read + decode + step), cores / (ranks * decode))
    return min(workers / (read + decode), cores / ranks / decode, 1 / step)

# %% right_slowest: passed
def samples_per_second(read, decode, step, workers, cores, ranks):
    seconds = [decode * ranks / cores]
    seconds += [(read + decode) / workers, step] if workers else [read + decode + step]
    return 1 / max(seconds)

# %% wrong_all_cores: wrong, cores_to_itself, levels 1 0 0
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(1 / (read + decode + step), cores / decode)
    return min(workers / (read + decode), cores / decode, 1 / step)

# %% wrong_all_ranks: wrong, of_all_ranks, levels 1 0 0
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(ranks / (read + decode + step), cores / decode)
    return min(ranks * workers / (read + decode), cores / decode, ranks / step)

# %% wrong_float32: wrong, lost_digits, levels 0 0 0
import torch


def samples_per_second(read, decode, step, workers, cores, ranks):
    of_the_cores = cores / (ranks * decode)
    if workers == 0:
        rates = torch.tensor([1 / (read + decode + step), of_the_cores])
    else:
        rates = torch.tensor([workers / (read + decode), of_the_cores, 1 / step])
    return rates.min().item()

# %% wrong_input_alone (right_min): wrong, ignores_the_step, levels 0 1 1
-    return min(workers / (read + decode), cores / ranks / decode, 1 / step)
+    return min(workers / (read + decode), cores / (ranks * decode))

# %% wrong_no_cores: wrong, more_workers_than_cores, levels 0 0 0
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return 1 / (read + decode + step)
    return min(workers / (read + decode), 1 / step)

# %% wrong_none_has_cores: wrong, cores_to_itself, levels 1 1 0
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return 1 / (read + decode + step)
    return min(workers / (read + decode), cores / (ranks * decode), 1 / step)

# %% wrong_none_is_one: wrong, none_is_one, levels 1 1 0
def samples_per_second(read, decode, step, workers, cores, ranks):
    return min(max(workers, 1) / (read + decode), cores / (ranks * decode), 1 / step)

# %% wrong_reads_on_cores (right_min): wrong, waiting_takes_a_core, levels 0 0 1
-    return min(workers / (read + decode), cores / ranks / decode, 1 / step)
+    return (
+        min(workers, cores / ranks) / (read + decode)
+        if min(workers, cores / ranks) / (read + decode) < 1 / step
+        else 1 / step
+    )

# %% wrong_stages_added (right_min): wrong, stages_added, levels 0 0 1
-    return min(workers / (read + decode), cores / ranks / decode, 1 / step)
+    return 1 / (read / workers + ranks * decode / cores + step)

# %% wrong_step_in_the_worker (right_min): wrong, step_in_the_worker, levels 0 0 1
-    return min(workers / (read + decode), cores / ranks / decode, 1 / step)
+    return min(workers / (read + decode + step), cores / ranks / decode, 1 / step)

# %% wrong_sum (right_min): wrong, one_after_the_other, levels 0 0 1
-    return min(workers / (read + decode), cores / ranks / decode, 1 / step)
+    return 1 / ((read + decode) / workers + step)

# %% wrong_three_stages (right_min): wrong, workers_read_only, levels 0 0 1
-    return min(workers / (read + decode), cores / ranks / decode, 1 / step)
+    return min(workers / read, cores / (ranks * decode), 1 / step)

# %% wrong_whole_cores: wrong, whole_cores, levels 1 0 0
def samples_per_second(read, decode, step, workers, cores, ranks):
    mine = max(cores // ranks, 1)
    if workers == 0:
        return min(1 / (read + decode + step), mine / decode)
    return min(workers / (read + decode), mine / decode, 1 / step)

# %% wrong_whole_cores_or_none: wrong, whole_cores, levels 1 0 0
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(1 / (read + decode + step), cores // ranks / decode)
    return min(workers / (read + decode), cores // ranks / decode, 1 / step)

# %% wrong_workers_shared (right_min): wrong, workers_shared, levels 1 0 1
-    return min(workers / (read + decode), cores / ranks / decode, 1 / step)
+    return min(workers / ranks / (read + decode), cores / ranks / decode, 1 / step)

# %% wrong_zero: wrong, divides_by_none, levels 1 1 0
def samples_per_second(read, decode, step, workers, cores, ranks):
    return min(workers / (read + decode), cores / (ranks * decode), 1 / step)
