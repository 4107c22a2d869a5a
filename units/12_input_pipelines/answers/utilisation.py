# Right and wrong answers to `utilisation`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_arrays: passed
# differs: All ranks at once, as arrays: each step is a maximum over what is ready and who is late.
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end = np.zeros(p), 0.0
    starts, data, others = [], np.zeros(p), np.zeros(p)
    for k in range(steps):
        if depth == 0:
            ready = end + make[:, k]
        elif k < depth:
            ready = ready + make[:, k]
        else:
            ready = np.maximum(ready, starts[k - depth]) + make[:, k]
        start = np.maximum(ready, end)
        starts.append(start)
        data += start - end
        others += start.max() - start
        end = start.max() + step
    return list(zip([steps * step] * p, data, others))

# %% right_loop: passed
def utilisation(make, step, depth):
    p = len(make)
    made, end = [0.0] * p, [0.0] * p
    taken = [[] for _ in range(p)]
    bands = [[0.0, 0.0, 0.0] for _ in range(p)]
    for k in range(len(make[0])):
        for r in range(p):
            if depth == 0:
                begun = end[r]
            else:
                begun = max(made[r], taken[r][k - depth] if k >= depth else 0.0)
            made[r] = begun + make[r][k]
            taken[r].append(max(made[r], end[r]))
        over = max(taken[r][k] for r in range(p)) + step
        for r in range(p):
            bands[r][0] += step
            bands[r][1] += taken[r][k] - end[r]
            bands[r][2] += over - taken[r][k] - step
            end[r] = over
    return [tuple(band) for band in bands]

# %% wrong_all_data: wrong, all_data, levels 1 0 0
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, starts = np.zeros(p), 0.0, []
    for k in range(steps):
        begun = end if depth == 0 else starts[k - depth] if k >= depth else 0.0
        ready = np.maximum(ready, begun) + make[:, k]
        starts.append(np.maximum(ready, end))
        end = starts[k].max() + step
    return [(steps * step, end - steps * step, 0.0) for _ in range(p)]

# %% wrong_all_others: wrong, all_others, levels 0 0 0
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, starts = np.zeros(p), 0.0, []
    for k in range(steps):
        begun = end if depth == 0 else starts[k - depth] if k >= depth else 0.0
        ready = np.maximum(ready, begun) + make[:, k]
        starts.append(np.maximum(ready, end))
        end = starts[k].max() + step
    return [(steps * step, 0.0, end - steps * step) for _ in range(p)]

# %% wrong_alone: wrong, no_barrier, levels 1 0 0
def utilisation(make, step, depth):
    bands = []
    for times in make:
        made, end, taken, data = 0.0, 0.0, [], 0.0
        for k, seconds in enumerate(times):
            begun = end if depth == 0 else max(made, taken[k - depth] if k >= depth else 0.0)
            made = begun + seconds
            taken.append(max(made, end))
            data += taken[k] - end
            end = taken[k] + step
        bands.append((step * len(times), data, 0.0))
    return bands

# %% wrong_always_ahead: wrong, always_ahead, levels 0 0 1
def utilisation(make, step, depth):
    make, depth = np.array(make), max(depth, 1)
    p, steps = make.shape
    ready, end, starts, data, others = np.zeros(p), 0.0, [], 0.0, 0.0
    for k in range(steps):
        ready = np.maximum(ready, starts[k - depth] if k >= depth else 0.0) + make[:, k]
        starts.append(np.maximum(ready, end))
        data = data + starts[k] - end
        others = others + starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]

# %% wrong_an_array (right_arrays): wrong, other_type, levels 0 0 0
-    return list(zip([steps * step] * p, data, others))
+    return np.stack([np.full(p, steps * step), data, others], axis=1)

# %% wrong_barrier_at_the_end: wrong, barrier_at_the_end, levels 1 0 0
def utilisation(make, step, depth):
    bands = []
    for seconds in make:
        made = end = data = 0.0
        starts = []
        for k, one in enumerate(seconds):
            free = end if depth == 0 else starts[k - depth] if k >= depth else 0.0
            made = max(made, free) + one
            starts.append(max(made, end))
            data += starts[-1] - end
            end = starts[-1] + step
        bands.append([len(seconds) * step, data, end])
    last = max(end for _, _, end in bands)
    return [(busy, data, last - end) for busy, data, end in bands]

# %% wrong_begins_before_the_others: wrong, begins_before_the_others, levels 1 0 1
def utilisation(make, step, depth):
    times = np.array(make, dtype=float)
    ranks, steps = times.shape
    took = np.zeros((steps + 1, ranks))
    ready, finished, starved = np.zeros(ranks), 0.0, np.zeros(ranks)
    for k in range(steps):
        if depth == 0:
            ready = (took[k - 1] + step if k else 0) + times[:, k]
        else:
            ready = np.maximum(ready, took[k - depth] if k - depth >= 0 else 0) + times[:, k]
        took[k] = np.maximum(ready, finished)
        starved += took[k] - finished
        finished = took[k].max() + step
    return [(steps * step, float(s), float(finished - steps * step - s)) for s in starved]

# %% wrong_counted_twice (right_loop): wrong, counted_twice, levels 1 0 0
-    made, end = [0.0] * p, [0.0] * p
+    made, end, own = [0.0] * p, [0.0] * p, [0.0] * p
@@
-            bands[r][1] += taken[r][k] - end[r]
+            bands[r][1] += taken[r][k] - own[r]
@@
             bands[r][2] += over - taken[r][k] - step
+            own[r] = taken[r][k] + step

# %% wrong_exchanged: wrong, exchanged, levels 0 0 0
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    made, end, starts = np.zeros(p), 0.0, []
    data, others = np.zeros(p), np.zeros(p)
    for k in range(steps):
        begun = end if depth == 0 else np.maximum(made, starts[k - depth] if k >= depth else 0.0)
        made = begun + make[:, k]
        starts.append(np.maximum(made, end))
        data += starts[k] - end
        others += starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step, float(others[r]), float(data[r])) for r in range(p)]

# %% wrong_first_batch_is_there: wrong, first_is_there, levels 0 0 0
def utilisation(make, step, depth):
    make = np.array(make)
    make[:, 0] = 0.0
    p, steps = make.shape
    made, end, starts = np.zeros(p), 0.0, []
    data, others = np.zeros(p), np.zeros(p)
    for k in range(steps):
        begun = end if depth == 0 else np.maximum(made, starts[k - depth] if k >= depth else 0.0)
        made = begun + make[:, k]
        starts.append(np.maximum(made, end))
        data += starts[k] - end
        others += starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]

# %% wrong_first_wait_for_others: wrong, first_wait_for_others, levels 0 0 0
def utilisation(make, step, depth):
    times = np.array(make, dtype=float)
    ranks, steps = times.shape
    took = np.zeros((steps + 1, ranks))
    ready, finished, starved = np.zeros(ranks), 0.0, np.zeros(ranks)
    for k in range(steps):
        if depth == 0:
            ready = finished + times[:, k]
        else:
            ready = np.maximum(ready, took[k - depth] if k - depth >= 0 else 0) + times[:, k]
        took[k] = np.maximum(ready, finished)
        if k or depth == 0:
            starved += took[k] - finished
        finished = took[k].max() + step
    return [(steps * step, float(s), float(finished - steps * step - s)) for s in starved]

# %% wrong_float32: wrong, lost_digits, levels 0 1 1
def utilisation(make, step, depth):
    make = np.array(make, dtype=np.float32)
    p, steps = make.shape
    made, end, starts = np.zeros(p, np.float32), np.float32(0), []
    data, others = np.zeros(p, np.float32), np.zeros(p, np.float32)
    for k in range(steps):
        begun = end if depth == 0 else starts[k - depth] if k >= depth else np.float32(0)
        made = np.maximum(made, begun) + make[:, k]
        starts.append(np.maximum(made, end))
        data += starts[k] - end
        others += starts[k].max() - starts[k]
        end = starts[k].max() + np.float32(step)
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]

# %% wrong_freed_when_computed: wrong, freed_when_over, levels 0 0 0
def utilisation(make, step, depth):
    p = len(make)
    ended = [[] for _ in range(p)]
    made, now = [0.0] * p, 0.0
    busy, data, others = [0.0] * p, [0.0] * p, [0.0] * p
    for k in range(len(make[0]) if make else 0):
        for r in range(p):
            if depth == 0:
                begun = now
            else:
                begun = max(made[r], ended[r][k - depth] if k >= depth else 0.0)
            made[r] = begun + make[r][k]
            start = max(now, made[r])
            data[r] += start - now
            busy[r] += step
            ended[r].append(start + step)
        now = max(lane[-1] for lane in ended)
        for r in range(p):
            others[r] += now - ended[r][-1]
    return list(zip(busy, data, others))

# %% wrong_freed_when_over: wrong, freed_when_over, levels 0 0 0
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    made, end, ends = np.zeros(p), 0.0, []
    data, others = np.zeros(p), np.zeros(p)
    for k in range(steps):
        if depth == 0:
            begun = end
        else:
            begun = np.maximum(made, ends[k - depth] if k >= depth else 0.0)
        made = begun + make[:, k]
        start = np.maximum(made, end)
        data += start - end
        others += start.max() - start
        end = start.max() + step
        ends.append(end)
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]

# %% wrong_last_wait_missing: wrong, last_wait_missing, levels 1 0 0
def utilisation(make, step, depth):
    p, through = len(make), 0.0
    made, taken = [0.0] * p, [[] for _ in make]
    data, others = [0.0] * p, [0.0] * p
    n = len(make[0])
    for k in range(n):
        for r in range(p):
            begun = made[r] if depth else through
            if depth and k >= depth:
                begun = max(begun, taken[r][k - depth])
            made[r] = begun + make[r][k]
            start = max(made[r], through)
            taken[r].append(start)
            data[r] += start - through
        new = max(t[k] for t in taken) + step
        if k < n - 1:
            for r in range(p):
                others[r] += new - taken[r][k] - step
        through = new
    return [(n * step, d, o) for d, o in zip(data, others)]

# %% wrong_made_side_by_side: wrong, side_by_side, levels 1 1 0
def utilisation(make, step, depth):
    p, steps = len(make), len(make[0])
    data, others, starts, end = [0.0] * p, [0.0] * p, [], 0.0
    for k in range(steps):
        here = []
        for r in range(p):
            if depth == 0:
                begun = end
            else:
                begun = starts[k - depth][r] if k >= depth else 0.0
            here.append(max(end, begun + make[r][k]))
        starts.append(here)
        for r in range(p):
            data[r] += here[r] - end
            others[r] += max(here) - here[r]
        end = max(here) + step
    return [(steps * step, data[r], others[r]) for r in range(p)]

# %% wrong_never_ahead: wrong, never_ahead, levels 0 0 0
def utilisation(make, step, depth):
    steps = len(make[0])
    slowest = [max(rank[k] for rank in make) for k in range(steps)]
    return [(steps * step, sum(rank), sum(slowest) - sum(rank)) for rank in make]

# %% wrong_no_bound: wrong, as_far_as_it_likes, levels 1 0 0
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, data, others = np.zeros(p), 0.0, 0.0, 0.0
    for k in range(steps):
        ready = (end if depth == 0 else ready) + make[:, k]
        start = np.maximum(ready, end)
        data = data + start - end
        others = others + start.max() - start
        end = start.max() + step
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]

# %% wrong_one_more: wrong, one_further_ahead, levels 1 0 0
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, starts, data, others = np.zeros(p), 0.0, [], 0.0, 0.0
    for k in range(steps):
        before = starts[k - depth - 1] if k > depth else 0.0
        ready = np.maximum(ready, before if depth else end) + make[:, k]
        starts.append(np.maximum(ready, end))
        data = data + starts[k] - end
        others = others + starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step, float(data[r]), float(others[r])) for r in range(p)]

# %% wrong_rounded: wrong, unrecognised, levels 0 1 1
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, starts, data, others = np.zeros(p), 0.0, [], 0.0, 0.0
    for k in range(steps):
        begun = end if depth == 0 else starts[k - depth] if k >= depth else 0.0
        ready = np.maximum(ready, begun) + make[:, k]
        starts.append(np.maximum(ready, end))
        data = data + starts[k] - end
        others = others + starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(round(steps * step, 4), round(float(data[r]), 4), round(float(others[r]), 4)) for r in range(p)]

# %% wrong_shares: wrong, shares, levels 0 0 0
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, starts, data, others = np.zeros(p), 0.0, [], 0.0, 0.0
    for k in range(steps):
        begun = end if depth == 0 else starts[k - depth] if k >= depth else 0.0
        ready = np.maximum(ready, begun) + make[:, k]
        starts.append(np.maximum(ready, end))
        data = data + starts[k] - end
        others = others + starts[k].max() - starts[k]
        end = starts[k].max() + step
    return [(steps * step / end, float(data[r]) / end, float(others[r]) / end) for r in range(p)]

# %% wrong_shares_of_own_finish: wrong, own_finish, levels 0 0 0
def utilisation(make, step, depth):
    make = np.array(make)
    p, steps = make.shape
    ready, end, starts, data, others = np.zeros(p), 0.0, [], 0.0, 0.0
    own = 0.0
    for k in range(steps):
        begun = end if depth == 0 else starts[k - depth] if k >= depth else 0.0
        ready = np.maximum(ready, begun) + make[:, k]
        starts.append(np.maximum(ready, end))
        data = data + starts[k] - end
        own = starts[k] + step
        end = starts[k].max() + step
    others = own - data - steps * step
    return [(float(steps * step / own[r]), float(data[r] / own[r]), float(others[r] / own[r])) for r in range(p)]
