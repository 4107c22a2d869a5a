# Right and wrong answers to `all_reduce_seconds`. In files of their own: autograder bank --write DIR
import math

# %% right_loop: passed
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p = nodes * per_node
    if algorithm == "ring":
        alpha, beta = inside if nodes == 1 else between
        return 2 * (p - 1) * (alpha + nbytes / p * beta)
    if algorithm == "hierarchical":
        at_home = 2 * (per_node - 1) * (inside[0] + nbytes / per_node * inside[1])
        return at_home + 2 * (nodes - 1) * (between[0] + nbytes / nodes * between[1])
    if algorithm not in ("doubling", "halving_doubling") or p & (p - 1):
        raise ValueError(f"{algorithm} on {p} ranks")
    seconds, d = 0.0, 1
    while d < p:
        (alpha, beta), sharing = (inside, 1) if d < per_node else (between, per_node)
        if algorithm == "doubling":
            seconds += alpha + sharing * nbytes * beta
        else:
            seconds += 2 * (alpha + sharing * nbytes * d / p * beta)
        d *= 2
    return seconds

# %% right_steps: passed
# differs: One small function for a step, away or at home, and each algorithm is a sum of such steps.
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    n, g, p = nodes, per_node, nodes * per_node

    def step(often, away, messages, size):
        alpha, beta = between if away else inside
        return often * (alpha + messages * size * beta)

    if algorithm == "ring":
        return step(2 * p - 2, n > 1, 1, nbytes / p)
    if algorithm == "hierarchical":
        return step(2 * g - 2, False, 1, nbytes / g) + step(2 * n - 2, True, g, nbytes / p)
    powers = math.log2(p)
    if powers != int(powers):
        raise ValueError("a power of two, please")
    away = [2**k >= g for k in range(int(powers))]
    if algorithm == "doubling":
        return sum(step(1, a, g if a else 1, nbytes) for a in away)
    if algorithm == "halving_doubling":
        return sum(step(2, a, g if a else 1, nbytes * 2**k / p) for k, a in enumerate(away))
    raise ValueError(algorithm)

# %% wrong_alike (right_loop): wrong, all_links_alike, levels 1 0 1
     p = nodes * per_node
+    inside = between

# %% wrong_alone_any_name (right_loop): wrong, takes_anything, levels 1 1 0
     p = nodes * per_node
+    if p == 1:
+        return 0.0

# %% wrong_any_doubling (right_loop): wrong, takes_anything, levels 1 1 0
-    if algorithm not in ("doubling", "halving_doubling") or p & (p - 1):
+    if not algorithm.endswith("doubling") or p & (p - 1):
@@
-        if algorithm == "doubling":
+        if algorithm.startswith("halving"):
+            seconds += 2 * (alpha + sharing * nbytes * d / p * beta)
+        else:
@@
-        else:
-            seconds += 2 * (alpha + sharing * nbytes * d / p * beta)

# %% wrong_any_name (right_loop): wrong, takes_anything, levels 1 1 0
-    if algorithm not in ("doubling", "halving_doubling") or p & (p - 1):
+    if p & (p - 1):

# %% wrong_any_spelling: wrong, takes_anything, levels 1 1 0
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p = nodes * per_node
    algorithm = algorithm.strip().lower()
    if algorithm.startswith("hierarchical"):
        near, far = inside[0] + nbytes / per_node * inside[1], between[0] + nbytes / nodes * between[1]
        return 2 * (per_node - 1) * near + 2 * (nodes - 1) * far
    if algorithm == "ring":
        alpha, beta = between if nodes > 1 else inside
        return 2 * (p - 1) * (alpha + nbytes / p * beta)
    if algorithm not in ("doubling", "halving_doubling") or p & (p - 1):
        raise ValueError(algorithm)
    total = 0.0
    for d in (2**k for k in range(int(math.log2(p)))):
        n = nbytes if algorithm == "doubling" else 2 * nbytes * d / p
        times = 1 if algorithm == "doubling" else 2
        alpha, beta = inside if d < per_node else (between[0], per_node * between[1])
        total += times * alpha + n * beta
    return total

# %% wrong_backwards: wrong, large_halves_near, levels 1 0 1
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p, g, N, n = nodes * per_node, per_node, nodes, nbytes
    if algorithm not in ("ring", "doubling", "halving_doubling", "hierarchical"):
        raise ValueError(algorithm)
    if "doubling" in algorithm and p & (p - 1):
        raise ValueError(p)

    def cost(link, size, at_once=1):
        return link[0] + size * at_once * link[1]

    def pair(d, size):
        return cost(inside, size) if d < g else cost(between, size, g)

    if algorithm == "ring":
        return 2 * (p - 1) * cost(between if N > 1 else inside, n / p)
    distances = [2**k for k in range(p.bit_length() - 1)]
    if algorithm == "doubling":
        return sum(pair(d, n) for d in distances)
    if algorithm == "halving_doubling":
        return sum(2 * pair(d, n / (2 * d)) for d in distances)
    return 2 * (g - 1) * cost(inside, n / g) + 2 * (N - 1) * cost(between, n / p, g)

# %% wrong_half (right_loop): wrong, half_of_it, levels 0 0 1
-        return 2 * (p - 1) * (alpha + nbytes / p * beta)
+        return (p - 1) * (alpha + nbytes / p * beta)
@@
-        at_home = 2 * (per_node - 1) * (inside[0] + nbytes / per_node * inside[1])
-        return at_home + 2 * (nodes - 1) * (between[0] + nbytes / nodes * between[1])
+        at_home = (per_node - 1) * (inside[0] + nbytes / per_node * inside[1])
+        return at_home + (nodes - 1) * (between[0] + nbytes / nodes * between[1])
@@
-            seconds += 2 * (alpha + sharing * nbytes * d / p * beta)
+            seconds += alpha + sharing * nbytes * d / p * beta

# %% wrong_inside (right_loop): wrong, all_inside, levels 0 0 1
     p = nodes * per_node
+    between = inside

# %% wrong_latency_shared_too: wrong, latency_shared, levels 1 0 1
def all_reduce_seconds(
    algorithm: str,
    nbytes: int,
    nodes: int,
    per_node: int,
    inside: tuple,
    between: tuple,
) -> float:
    p, g = nodes * per_node, per_node

    def local(n):
        return inside[0] + n * inside[1]

    def remote(n):
        return between[0] + n * between[1]

    if algorithm == "ring":
        return float(2 * (p - 1) * (remote if nodes > 1 else local)(nbytes / p))
    if algorithm == "hierarchical":
        steps = 2 * (g - 1) * local(nbytes / g)
        return float(steps + 2 * (nodes - 1) * g * remote(nbytes / p))
    if algorithm not in ("doubling", "halving_doubling"):
        raise ValueError(algorithm)
    if p & (p - 1):
        raise ValueError("not a power of two")
    total = 0.0
    for k in range(int(math.log2(p))):
        d = 2**k
        n, times = (nbytes, 1) if algorithm == "doubling" else (nbytes * d / p, 2)
        total += times * (local(n) if d < g else g * remote(n))
    return total

# %% wrong_no_latency (right_loop): wrong, no_latency, levels 0 0 1
     p = nodes * per_node
+    inside, between = (0, inside[1]), (0, between[1])

# %% wrong_one_rank_refused: wrong, refuses_what_can_be, levels 0 1 1
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p, g = nodes * per_node, per_node
    (a, b), (A, B) = inside, between
    if algorithm not in ("ring", "doubling", "halving_doubling", "hierarchical"):
        raise ValueError(algorithm)
    if algorithm in ("doubling", "halving_doubling") and (p < 2 or p & (p - 1)):
        raise ValueError(p)
    n = nbytes
    if algorithm == "ring":
        if nodes == 1:
            return 2 * (p - 1) * (a + n / p * b)
        one = A + n / p * B
        if g > 1:
            one = max(one, a + n / p * b)
        return 2 * (p - 1) * one
    if algorithm == "hierarchical":
        return 2 * (g - 1) * (a + n / g * b) + 2 * (nodes - 1) * (A + g * n / p * B)
    total, d = 0.0, 1
    while d < p:
        size = n if algorithm == "doubling" else n * d / p
        t = a + size * b if d < g else A + g * size * B
        total += t if algorithm == "doubling" else 2 * t
        d *= 2
    return total

# %% wrong_own_card (right_loop): wrong, own_card_each, levels 1 0 1
-        return at_home + 2 * (nodes - 1) * (between[0] + nbytes / nodes * between[1])
+        return at_home + 2 * (nodes - 1) * (between[0] + nbytes / p * between[1])
@@
-        (alpha, beta), sharing = (inside, 1) if d < per_node else (between, per_node)
+        (alpha, beta), sharing = (inside, 1) if d < per_node else (between, 1)

# %% wrong_p_steps (right_loop): wrong, p_steps, levels 0 0 1
-        return 2 * (p - 1) * (alpha + nbytes / p * beta)
+        return 2 * p * (alpha + nbytes / p * beta)

# %% wrong_powers_of_two_only: wrong, refuses_what_can_be, levels 0 0 1
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p, g = nodes * per_node, per_node
    if algorithm not in ("ring", "doubling", "halving_doubling", "hierarchical") or p & (p - 1):
        raise ValueError(f"{algorithm} on {p} ranks")
    if algorithm == "ring":
        alpha, beta = between if nodes > 1 else inside
        return 2 * (p - 1) * (alpha + nbytes / p * beta)
    if algorithm == "hierarchical":
        at_home = 2 * (g - 1) * (inside[0] + nbytes / g * inside[1])
        return at_home + 2 * (nodes - 1) * (between[0] + nbytes / nodes * between[1])
    seconds, d = 0.0, 1
    while d < p:
        (alpha, beta), sharing = (inside, 1) if d < g else (between, g)
        size = nbytes if algorithm == "doubling" else nbytes * d / p
        seconds += (1 if algorithm == "doubling" else 2) * (alpha + sharing * size * beta)
        d *= 2
    return seconds

# %% wrong_reach: wrong, one_partner_too_many_inside, levels 0 0 1
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p, g, N, n = nodes * per_node, per_node, nodes, nbytes
    if algorithm not in ("ring", "doubling", "halving_doubling", "hierarchical"):
        raise ValueError(algorithm)
    if "doubling" in algorithm and p & (p - 1):
        raise ValueError(p)

    def cost(link, size, at_once=1):
        return link[0] + size * at_once * link[1]

    def pair(d, size):
        return cost(inside, size) if d <= g else cost(between, size, g)

    if algorithm == "ring":
        return 2 * (p - 1) * cost(between if N > 1 else inside, n / p)
    distances = [2**k for k in range(p.bit_length() - 1)]
    if algorithm == "doubling":
        return sum(pair(d, n) for d in distances)
    if algorithm == "halving_doubling":
        return sum(2 * pair(d, n * d / p) for d in distances)
    return 2 * (g - 1) * cost(inside, n / g) + 2 * (N - 1) * cost(between, n / p, g)

# %% wrong_ring_shares: wrong, ring_shares_the_card, levels 1 0 1
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p, g, N, n = nodes * per_node, per_node, nodes, nbytes
    if algorithm not in ("ring", "doubling", "halving_doubling", "hierarchical"):
        raise ValueError(algorithm)
    if "doubling" in algorithm and p & (p - 1):
        raise ValueError(p)

    def cost(link, size, at_once=1):
        return link[0] + size * at_once * link[1]

    def pair(d, size):
        return cost(inside, size) if d < g else cost(between, size, g)

    if algorithm == "ring":
        return 2 * (p - 1) * (cost(between, n / p, g) if N > 1 else cost(inside, n / p))
    distances = [2**k for k in range(p.bit_length() - 1)]
    if algorithm == "doubling":
        return sum(pair(d, n) for d in distances)
    if algorithm == "halving_doubling":
        return sum(2 * pair(d, n * d / p) for d in distances)
    return 2 * (g - 1) * cost(inside, n / g) + 2 * (N - 1) * cost(between, n / p, g)

# %% wrong_rounds_up (right_loop): wrong, takes_anything, levels 1 1 0
-    if algorithm not in ("doubling", "halving_doubling") or p & (p - 1):
+    if algorithm not in ("doubling", "halving_doubling"):

# %% wrong_whole (right_loop): wrong, whole_vector_in_each_step, levels 0 0 1
-        return 2 * (p - 1) * (alpha + nbytes / p * beta)
+        return 2 * (p - 1) * (alpha + nbytes * beta)
@@
-        at_home = 2 * (per_node - 1) * (inside[0] + nbytes / per_node * inside[1])
-        return at_home + 2 * (nodes - 1) * (between[0] + nbytes / nodes * between[1])
+        at_home = 2 * (per_node - 1) * (inside[0] + nbytes * inside[1])
+        return at_home + 2 * (nodes - 1) * (between[0] + per_node * nbytes * between[1])
@@
-            seconds += 2 * (alpha + sharing * nbytes * d / p * beta)
+            seconds += 2 * (alpha + sharing * nbytes * beta)

# %% wrong_whole_bytes: wrong, whole_bytes, levels 0 0 1
def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p, g, N, n = nodes * per_node, per_node, nodes, nbytes
    if algorithm not in ("ring", "doubling", "halving_doubling", "hierarchical"):
        raise ValueError(algorithm)
    if "doubling" in algorithm and p & (p - 1):
        raise ValueError(p)

    def cost(link, size, at_once=1):
        return link[0] + size * at_once * link[1]

    def pair(d, size):
        return cost(inside, size) if d < g else cost(between, size, g)

    if algorithm == "ring":
        return 2 * (p - 1) * cost(between if N > 1 else inside, n // p)
    distances = [2**k for k in range(p.bit_length() - 1)]
    if algorithm == "doubling":
        return sum(pair(d, n) for d in distances)
    if algorithm == "halving_doubling":
        return sum(2 * pair(d, n * d // p) for d in distances)
    return 2 * (g - 1) * cost(inside, n // g) + 2 * (N - 1) * cost(between, n // p, g)
