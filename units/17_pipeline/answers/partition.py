# Right and wrong answers to `partition`. In files of their own: autograder bank --write DIR
import itertools
import numpy as np

# %% right_brute: passed
# differs: All cuts are tried: for a dozen layers that is quick, and nobody can doubt it.
def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(part.sum() for part in np.split(np.array(costs), cuts)),
    )
    return np.diff([0, *cuts, n]).tolist()

# %% right_dynamic: passed
# differs: The best cut of the first layers into fewer stages is worked out once and used again: dynamic programming.
import functools


def partition(costs, p):
    if p > len(costs):
        raise ValueError(f"{p} stages, {len(costs)} layers")

    @functools.cache
    def best(n, q):
        if q == 1:
            return sum(costs[:n]), (n,)
        options = []
        for k in range(q - 1, n):
            slowest, sizes = best(k, q - 1)
            options.append((max(slowest, sum(costs[k:n])), (*sizes, n - k)))
        return min(options)

    return list(best(len(costs), p)[1])

# %% right_limit: passed
def partition(costs, p):
    if p > len(costs):
        raise ValueError("more stages than layers")

    def stages(limit):
        sizes, have = [0], 0
        for k, cost in enumerate(costs):
            left = len(costs) - k
            if sizes[-1] and (have + cost > limit or left <= p - len(sizes)):
                sizes.append(0)
                have = 0
            sizes[-1] += 1
            have += cost
        return sizes

    limit = max(costs)
    while len(stages(limit)) > p:
        limit += 1
    return stages(limit)

# %% wrong_an_array (right_brute): wrong, other_type, levels 0 1
-    return np.diff([0, *cuts, n]).tolist()
+    return np.diff([0, *cuts, n])

# %% wrong_as_many_refused (right_limit): wrong, ValueError, levels 0 1
-    if p > len(costs):
+    if p >= len(costs):

# %% wrong_costs_in_float64: wrong, filled_to_the_mean, levels 0 1
def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError(p)
    ends = [0.0, *itertools.accumulate(map(float, costs))]
    best = {(0, 0): (0.0, 0)}
    for q in range(1, p + 1):
        for k in range(q, n + 1):
            best[q, k] = min(
                (max(best[q - 1, j][0], ends[k] - ends[j]), j) for j in range(q - 1, k) if (q - 1, j) in best
            )
    sizes, k = [], n
    for q in range(p, 0, -1):
        j = best[q, k][1]
        sizes.insert(0, k - j)
        k = j
    return sizes

# %% wrong_cuts: wrong, not_sizes, levels 0 1
def best(costs, p):
    n = len(costs)
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))),
    )
    return (0, *cuts, n)


def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    return list(best(costs, p)[1:-1])

# %% wrong_empty_stage: wrong, empty_stage, levels 0 1
def best(costs, p):
    n = len(costs)
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))),
    )
    return (0, *cuts, n)


def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    if p > 1:
        ends = best(costs, p - 1)
        return [b - a for a, b in itertools.pairwise(ends)] + [0]
    return [len(costs)]

# %% wrong_equal_counts: wrong, equal_counts, levels 0 1
def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")
    return [n // p + (r < n % p) for r in range(p)]

# %% wrong_filled: wrong, filled_to_the_mean, levels 0 1
def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    sizes, have, mean = [0], 0, sum(costs) / p
    for k, cost in enumerate(costs):
        left = len(costs) - k
        if len(sizes) < p and sizes[-1] and (have + cost > mean or left <= p - len(sizes)):
            sizes.append(0)
            have = 0
        sizes[-1] += 1
        have += cost
    return sizes

# %% wrong_halves: wrong, not_the_best, levels 0 1
def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    if p == 1:
        return [len(costs)]
    first = p // 2

    def difference(cut):
        return abs(sum(costs[:cut]) / first - sum(costs[cut:]) / (p - first))

    cut = min(range(first, len(costs) - (p - first) + 1), key=difference)
    return partition(costs[:cut], first) + partition(costs[cut:], p - first)

# %% wrong_last_layer_lost: wrong, layers_lost, levels 0 1
def best(costs, p):
    n = max(p, len(costs) - 1)
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))),
    )
    return (0, *cuts, n)


def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    return [b - a for a, b in itertools.pairwise(best(costs, p))]

# %% wrong_layers: wrong, not_sizes, levels 0 1
def best(costs, p):
    n = len(costs)
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))),
    )
    return (0, *cuts, n)


def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    return [list(range(a, b)) for a, b in itertools.pairwise(best(costs, p))]

# %% wrong_least_squares: wrong, not_the_best, levels 0 1
def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")

    def parts(cuts):
        return [costs[a:b] for a, b in itertools.pairwise((0, *cuts, n))]

    cuts = min(itertools.combinations(range(1, n), p - 1), key=lambda cuts: sum(sum(part) ** 2 for part in parts(cuts)))
    return [len(part) for part in parts(cuts)]

# %% wrong_limit_from_the_mean: wrong, empty_stage, levels 0 1
def partition(costs, p):
    if p > len(costs):
        raise ValueError(p)

    def stages(limit):
        sizes, total = [0], 0
        for cost in costs:
            if total + cost > limit:
                sizes.append(0)
                total = 0
            sizes[-1] += 1
            total += cost
        return sizes

    low, high = -(-sum(costs) // p), sum(costs)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if len(stages(middle)) <= p else (middle + 1, high)
    sizes = stages(low)
    while len(sizes) < p:
        k = sizes.index(max(sizes))
        sizes[k : k + 1] = [sizes[k] - 1, 1]
    return sizes

# %% wrong_limit_in_steps: wrong, not_the_best, levels 0 1
def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    limit = max(max(costs), sum(costs) / p)
    while True:
        sizes, have = [0], 0
        for k, cost in enumerate(costs):
            left = len(costs) - k
            if sizes[-1] and (have + cost > limit or left <= p - len(sizes)):
                sizes.append(0)
                have = 0
            sizes[-1] += 1
            have += cost
        if len(sizes) == p:
            return sizes
        limit *= 1.05

# %% wrong_nearest_to_the_mean: wrong, not_the_best, levels 0 1
def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")
    upto = [sum(costs[:k]) for k in range(n + 1)]
    cuts = [0]
    for stage in range(1, p):
        want = sum(costs) * stage / p
        cuts.append(min(range(cuts[-1] + 1, n - (p - stage) + 1), key=lambda k: abs(upto[k] - want)))
    cuts.append(n)
    return [b - a for a, b in zip(cuts, cuts[1:])]

# %% wrong_no_error: wrong, not_refused, levels 1 0
def best(costs, p):
    n = len(costs)
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))),
    )
    return (0, *cuts, n)


def partition(costs, p):
    if p > len(costs):
        return [1] * len(costs) + [0] * (p - len(costs))
    return [b - a for a, b in itertools.pairwise(best(costs, p))]

# %% wrong_pads_with_empty_stages (right_limit): wrong, empty_stage, levels 0 1
-        raise ValueError("more stages than layers")
+        raise ValueError("no")
@@
-        for k, cost in enumerate(costs):
-            left = len(costs) - k
-            if sizes[-1] and (have + cost > limit or left <= p - len(sizes)):
+        for cost in costs:
+            if have + cost > limit:
@@
-    limit = max(costs)
-    while len(stages(limit)) > p:
-        limit += 1
-    return stages(limit)
+    low, high = max(costs), sum(costs)
+    while low < high:
+        middle = (low + high) // 2
+        if len(stages(middle)) <= p:
+            high = middle
+        else:
+            low = middle + 1
+    sizes = stages(low)
+    return sizes + [0] * (p - len(sizes))

# %% wrong_past_the_mean: wrong, not_the_best, levels 0 1
def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    sizes, have, mean = [0], 0, sum(costs) / p
    for k, cost in enumerate(costs):
        left = len(costs) - k
        if len(sizes) < p and sizes[-1] and (have >= mean or left <= p - len(sizes)):
            sizes.append(0)
            have = 0
        sizes[-1] += 1
        have += cost
    return sizes

# %% wrong_refuses: wrong, ValueError, levels 0 0
def best(costs, p):
    n = len(costs)
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))),
    )
    return (0, *cuts, n)


def partition(costs, p):
    if len(costs) % p:
        raise ValueError("the layers do not divide evenly")
    return [b - a for a, b in itertools.pairwise(best(costs, p))]

# %% wrong_smallest_difference: wrong, not_the_best, levels 0 1
def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")

    def sums(cuts):
        return [sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))]

    cuts = min(itertools.combinations(range(1, n), p - 1), key=lambda cuts: max(sums(cuts)) - min(sums(cuts)))
    return [b - a for a, b in itertools.pairwise((0, *cuts, n))]

# %% wrong_too_few_stages (right_limit): wrong, too_few_stages, levels 0 1
-        raise ValueError("more stages than layers")
+        raise ValueError("no")
@@
-        for k, cost in enumerate(costs):
-            left = len(costs) - k
-            if sizes[-1] and (have + cost > limit or left <= p - len(sizes)):
+        for cost in costs:
+            if have + cost > limit:
@@
-    limit = max(costs)
-    while len(stages(limit)) > p:
-        limit += 1
-    return stages(limit)
+    low, high = max(costs), sum(costs)
+    while low < high:
+        middle = (low + high) // 2
+        if len(stages(middle)) <= p:
+            high = middle
+        else:
+            low = middle + 1
+    return stages(low)

# %% wrong_zeros_are_no_layers (right_limit): wrong, layers_lost, levels 0 1
-            sizes[-1] += 1
+            sizes[-1] += cost > 0
