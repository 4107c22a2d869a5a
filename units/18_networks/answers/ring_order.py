# Right and wrong answers to `ring_order`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_groups: passed
def ring_order(node_of):
    groups = {}
    for rank, node in enumerate(node_of):
        groups.setdefault(node, []).append(rank)
    return [rank for ranks in groups.values() for rank in reversed(ranks)]

# %% right_numpy: passed
# differs: A stable argsort: ranks of a node stay in their order, and nodes come one after the other.
def ring_order(node_of):
    return np.argsort(node_of, kind="stable").tolist()

# %% right_sorted: passed
def ring_order(node_of):
    return sorted(range(len(node_of)), key=lambda r: node_of[r])

# %% wrong_an_array: wrong, other_type, levels 0 0
def ring_order(node_of):
    return np.argsort(node_of, kind="stable")

# %% wrong_back_to_the_start: wrong, not_every_rank_once, levels 0 0
def ring_order(node_of):
    order = sorted(range(len(node_of)), key=lambda r: node_of[r])
    return order + order[:1]

# %% wrong_from_zero_on: wrong, not_every_rank_once, levels 1 0
def ring_order(node_of):
    order = []
    for node in range(max(node_of) + 1):
        for r in range(len(node_of)):
            if node_of[r] == node:
                order.append(r)
    return order

# %% wrong_in_32_bits: wrong, crosses_too_often, levels 1 0
def ring_order(node_of):
    return np.argsort(np.array(node_of).astype(np.int32), kind="stable").tolist()

# %% wrong_in_float64: wrong, crosses_too_often, levels 1 0
def ring_order(node_of):
    return np.argsort(np.array(node_of, dtype=np.float64), kind="stable").tolist()

# %% wrong_magnitudes_of_names: wrong, crosses_too_often, levels 1 0
def ring_order(node_of):
    return sorted((r for r in range(len(node_of))), key=lambda r: abs(node_of[r]))

# %% wrong_node_as_index: wrong, crosses_too_often, levels 1 0
def ring_order(node_of):
    if max(map(abs, node_of)) > 1000:
        return sorted(range(len(node_of)), key=node_of.__getitem__)
    ranks = [[] for _ in range(max(map(abs, node_of)) + 1)]
    for rank, node in enumerate(node_of):
        ranks[node].append(rank)
    return [rank for some in ranks for rank in some]

# %% wrong_nodes: wrong, returns_nodes, levels 0 0
def ring_order(node_of):
    return sorted(node_of)

# %% wrong_one_for_each_node: wrong, not_every_rank_once, levels 0 0
def ring_order(node_of):
    return [node_of.index(node) for node in sorted(set(node_of))]

# %% wrong_one_of_each (right_groups): wrong, crosses_too_often, levels 0 0
-    return [rank for ranks in groups.values() for rank in reversed(ranks)]
+    order = []
+    while any(groups.values()):
+        for ranks in groups.values():
+            if ranks:
+                order.append(ranks.pop(0))
+    return order

# %% wrong_rank_0_first: wrong, crosses_too_often, levels 0 0
def ring_order(node_of: list[int]) -> list[int]:
    others = sorted(range(1, len(node_of)), key=lambda r: node_of[r])
    return [0] + others if node_of else []

# %% wrong_ranks: wrong, crosses_too_often, levels 0 0
def ring_order(node_of):
    return list(range(len(node_of)))

# %% wrong_two_at_a_time (right_groups): wrong, crosses_too_often, levels 0 0
-    return [rank for ranks in groups.values() for rank in reversed(ranks)]
+    order = []
+    while any(groups.values()):
+        for node, ranks in groups.items():
+            order += ranks[:2]
+            groups[node] = ranks[2:]
+    return order
