# Right and wrong answers to `network_bytes`. In files of their own: autograder bank --write DIR

# %% right_by_receiver: passed
# differs: It counts what comes into each node, not what goes out: along a closed ring the two are the same.
def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p, N = len(node_of), len(set(node_of))
    if two:
        return [2 * (N - 1) / N * nbytes] * N
    out = [0.0] * N
    for r in range(p):
        d = node_of[(r + 1) % p]
        if node_of[r] != d:
            out[d] += 2 * (p - 1) * nbytes / p
    return out

# %% right_fractions: passed
from fractions import Fraction as F


def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p = len(node_of)
    nodes = sorted(set(node_of))
    N = len(nodes)
    if two:
        return [float(F(2 * (N - 1), N) * F(nbytes)) for _ in nodes]
    return [
        float(sum(F(2 * (p - 1), p) * F(nbytes) for r in range(p) if node_of[r] == k and node_of[r - p + 1] != k)) for k in nodes
    ]

# %% right_link_by_link: passed
def network_bytes(node_of, nbytes, two_levels):
    p, nodes = len(node_of), max(node_of) + 1
    if two_levels:
        return [2 * (nodes - 1) / nodes * nbytes] * nodes
    sent = [0.0] * nodes
    for r in range(p):
        if node_of[r] != node_of[(r + 1) % p]:
            sent[node_of[r]] += 2 * (p - 1) * nbytes / p
    return sent

# %% right_numpy: passed
import numpy as np


def network_bytes(node_of, nbytes, two_levels):
    node_of = np.asarray(node_of)
    p, nodes = len(node_of), len(set(node_of.tolist()))
    if two_levels:
        held = nbytes / np.bincount(node_of)
        return np.bincount(node_of) * 2 * (nodes - 1) * held / nodes
    leaves = node_of != np.roll(node_of, -1)
    return np.bincount(node_of, weights=leaves * (2 * (p - 1) * nbytes / p))

# %% wrong_both_ends: wrong, both_ends, levels 0 0 1
def network_bytes(node_of, nbytes, two_levels):
    nodes, p = len(set(node_of)), len(node_of)
    if two_levels:
        return [2 * (nodes - 1) / nodes * nbytes] * nodes
    found = [0.0] * nodes
    for r, node in enumerate(node_of):
        after = node_of[(r + 1) % p]
        if node != after:
            for end in (node, after):
                found[end] += 2 * (p - 1) / p * nbytes
    return found

# %% wrong_first_appearance_order: wrong, order_of_appearance, levels 1 0 1
def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p = len(node_of)
    names = list(dict.fromkeys(node_of))
    N = len(names)
    if two:
        return [2 * (N - 1) / N * nbytes] * N
    out = dict.fromkeys(names, 0.0)
    for r in range(p):
        if node_of[r] != node_of[(r + 1) % p]:
            out[node_of[r]] += 2 * (p - 1) * nbytes / p
    return list(out.values())

# %% wrong_in_order: wrong, in_order_assumed, levels 1 0 1
def network_bytes(node_of, nbytes, two_levels):
    p, nodes = len(node_of), max(node_of) + 1
    if nodes == 1:
        return [0.0]
    return [(2 * (nodes - 1) / nodes if two_levels else 2 * (p - 1) / p) * nbytes] * nodes

# %% wrong_inside_counted (right_link_by_link): wrong, inside_counted, levels 0 0 1
-        if node_of[r] != node_of[(r + 1) % p]:
+        if True:

# %% wrong_levels_ignored (right_link_by_link): wrong, levels_ignored, levels 1 1 0
-    if two_levels:
+    if False:

# %% wrong_mean_over_nodes: wrong, average_node, levels 1 0 1
def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p, N = len(node_of), len(set(node_of))
    if two:
        return [2 * (N - 1) / N * nbytes] * N
    k = sum(node_of[r] != node_of[(r + 1) % p] for r in range(p))
    return [k / N * 2 * (p - 1) * nbytes / p] * N

# %% wrong_not_closed (right_link_by_link): wrong, ring_not_closed, levels 0 0 1
-    for r in range(p):
+    for r in range(p - 1):

# %% wrong_not_shared_out (right_link_by_link): wrong, not_shared_out, levels 1 1 0
     p, nodes = len(node_of), max(node_of) + 1
+    g = p // nodes
@@
-        return [2 * (nodes - 1) / nodes * nbytes] * nodes
+        return [g * 2 * (nodes - 1) / nodes * nbytes] * nodes

# %% wrong_one_number (right_link_by_link): wrong, all_nodes, levels 0 0 0
-        return [2 * (nodes - 1) / nodes * nbytes] * nodes
+        return [2 * (nodes - 1) / nodes * nbytes]
@@
-    return sent
+    return sum(sent)

# %% wrong_one_rank (right_link_by_link): wrong, one_rank_of_the_node, levels 1 1 0
     p, nodes = len(node_of), max(node_of) + 1
+    g = p // nodes
@@
-        return [2 * (nodes - 1) / nodes * nbytes] * nodes
+        return [2 * (nodes - 1) / nodes * nbytes / g] * nodes

# %% wrong_one_way (right_link_by_link): wrong, one_way, levels 0 0 1
-            sent[node_of[r]] += 2 * (p - 1) * nbytes / p
+            sent[node_of[r]] += (p - 1) * nbytes / p

# %% wrong_p_for_nodes (right_link_by_link): wrong, p_for_nodes, levels 1 1 0
-        return [2 * (nodes - 1) / nodes * nbytes] * nodes
+        return [2 * (p - 1) / p * nbytes] * nodes

# %% wrong_p_steps (right_link_by_link): wrong, p_for_p_minus_1, levels 0 0 1
-            sent[node_of[r]] += 2 * (p - 1) * nbytes / p
+            sent[node_of[r]] += 2 * nbytes

# %% wrong_rounded: wrong, rounded, levels 0 0 0
def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p, N = len(node_of), len(set(node_of))
    if two:
        return [int(2 * (N - 1) / N * nbytes)] * N
    out = [0] * N
    for r in range(p):
        if node_of[r] != node_of[(r + 1) % p]:
            out[node_of[r]] += int(2 * (p - 1) * nbytes / p)
    return out

# %% wrong_runs: wrong, unrecognised, levels 1 0 1
from itertools import groupby


def network_bytes(node_of, nbytes, two_levels):
    p, nodes = len(node_of), max(node_of) + 1
    if nodes == 1:
        return [0.0]
    if two_levels:
        return [2 * (nodes - 1) / nodes * nbytes] * nodes
    sent = [0.0] * nodes
    for node, _ in groupby(node_of):  # the last rank of each run sends to another node
        sent[node] += 2 * (p - 1) * nbytes / p
    return sent

# %% wrong_whole_chunks (right_by_receiver): wrong, rounded, levels 0 0 0
-        return [2 * (N - 1) / N * nbytes] * N
+        return [2 * (N - 1) * (nbytes // N)] * N
@@
-        d = node_of[(r + 1) % p]
-        if node_of[r] != d:
-            out[d] += 2 * (p - 1) * nbytes / p
+        if node_of[r] != node_of[(r + 1) % p]:
+            out[node_of[r]] += 2 * (p - 1) * (nbytes // p)

# %% wrong_whole_vector (right_link_by_link): wrong, whole_vector, levels 0 0 1
-            sent[node_of[r]] += 2 * (p - 1) * nbytes / p
+            sent[node_of[r]] += 2 * (p - 1) * nbytes
