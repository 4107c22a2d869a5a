# Right and wrong answers to `step_bytes`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_by_simulator: passed
def step_bytes(shape, work, per_node):
    from labkit.scale import Mesh, Step, nodes, traffic

    data, pipeline, tensor = shape
    step = Step(Mesh(tensor, 1, pipeline, data), **work)
    found = traffic(step, nodes(per_node))
    return {
        axis: {kind: found[axis].get(kind, 0) for kind in ("inside", "between")}
        for axis in ("tensor", "pipeline", "data")
    }

# %% right_edges: passed
def step_bytes(shape, work, per_node):
    found = {axis: {"inside": 0.0, "between": 0.0} for axis in ("data", "pipeline", "tensor")}
    m = work["micro_batches"]

    def send(axis, a, b, nbytes):
        found[axis]["inside" if a // per_node == b // per_node else "between"] += nbytes

    for place, axis, nbytes in (
        (0, "data", work["gradient_bytes"]),
        (2, "tensor", 4 * m * work["layers"] * work["tensor_bytes"]),
    ):
        for group in axis_groups(shape, place):
            n = len(group)
            for k in range(n):
                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
    for group in axis_groups(shape, 1):
        for a, b in zip(group, group[1:]):
            send("pipeline", a, b, 2 * m * work["hop_bytes"])
    return found

# %% right_numpy: passed
# differs: The ranks as an array, shifted by one along an axis: where the node differs from the neighbour's, the edge goes between nodes.
def step_bytes(shape, work, per_node):
    ranks = np.arange(np.prod(shape)).reshape(shape)
    node, found = ranks // per_node, {}
    each = {
        "data": work["gradient_bytes"],
        "tensor": 4 * work["micro_batches"] * work["layers"] * work["tensor_bytes"],
    }
    for place, axis in enumerate(("data", "pipeline", "tensor")):
        crosses = node != np.roll(node, -1, place)
        if axis == "pipeline":
            crosses = crosses[:, :-1]
            bytes_of_edge = 2 * work["micro_batches"] * work["hop_bytes"]
        else:
            bytes_of_edge = 2 * (shape[place] - 1) / shape[place] * each[axis]
        between = int(crosses.sum())
        found[axis] = {
            "inside": (crosses.size - between) * bytes_of_edge,
            "between": between * bytes_of_edge,
        }
    return found

# %% wrong_all_lanes_like_the_first: wrong, unrecognised, levels 1 0
def step_bytes(shape, work, per_node):
    d, p, t = shape
    a = np.arange(d * p * t).reshape(shape)
    out = {axis: {"inside": 0.0, "between": 0.0} for axis in ("data", "pipeline", "tensor")}

    def kind(x, y):
        return "inside" if x // per_node == y // per_node else "between"

    def rings(axis, name, nbytes):
        n = shape[axis]
        for g in np.moveaxis(a, axis, -1).reshape(-1, n).tolist():
            for i in range(n):
                out[name][kind(g[i], g[(i + 1) % n])] += 2 * (n - 1) / n * nbytes

    rings(0, "data", work["gradient_bytes"])
    rings(2, "tensor", work["tensor_bytes"] * 4 * work["layers"] * work["micro_batches"])
    for x, y in zip(np.repeat(a[:, :-1, 0], t).ravel().tolist(), np.repeat(a[:, 1:, 0], t).ravel().tolist()):
        out["pipeline"][kind(x, y)] += 2 * work["micro_batches"] * work["hop_bytes"]
    return out

# %% wrong_class_of_the_group (right_edges): wrong, class_of_the_group, levels 1 0
-    def send(axis, a, b, nbytes):
-        found[axis]["inside" if a // per_node == b // per_node else "between"] += nbytes
+    def send(axis, group, nbytes):
+        found[axis]["inside" if group[0] // per_node == group[-1] // per_node else "between"] += nbytes
@@
-                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
+                send(axis, group, 2 * (n - 1) / n * nbytes)
@@
-            send("pipeline", a, b, 2 * m * work["hop_bytes"])
+            send("pipeline", group, 2 * m * work["hop_bytes"])

# %% wrong_dp_innermost (right_edges): wrong, dp_innermost, levels 1 0
+def groups(shape, axis):
+    ranks = np.arange(np.prod(shape)).reshape(shape, order="F")
+    return np.moveaxis(ranks, axis, -1).reshape(-1, shape[axis]).tolist()
+
+
 def step_bytes(shape, work, per_node):
@@
-        for group in axis_groups(shape, place):
+        for group in groups(shape, place):
@@
-    for group in axis_groups(shape, 1):
+    for group in groups(shape, 1):

# %% wrong_every_micro_batch (right_edges): wrong, gradients_in_every_micro_batch, levels 0 0
-        (0, "data", work["gradient_bytes"]),
+        (0, "data", m * work["gradient_bytes"]),

# %% wrong_first_edge (right_edges): wrong, class_of_the_first_edge, levels 1 0
-            n = len(group)
-            for k in range(n):
-                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
+            n, edge = len(group), group[:2] if len(group) > 1 else group * 2
+            for _ in range(n):
+                send(axis, *edge, 2 * (n - 1) / n * nbytes)

# %% wrong_forward_only (right_edges): wrong, forgets_the_backward_pass, levels 0 0
-        (2, "tensor", 4 * m * work["layers"] * work["tensor_bytes"]),
+        (2, "tensor", 2 * m * work["layers"] * work["tensor_bytes"]),

# %% wrong_gradients_go_round (right_edges): wrong, gradients_go_round, levels 0 0
-        for a, b in zip(group, group[1:]):
-            send("pipeline", a, b, 2 * m * work["hop_bytes"])
+        for a, b in zip(group, group[1:] + group[:1] if len(group) > 1 else []):
+            send("pipeline", a, b, m * work["hop_bytes"])

# %% wrong_half_an_all_reduce (right_edges): wrong, half_an_all_reduce, levels 0 0
-                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
+                send(axis, group[k], group[(k + 1) % n], (n - 1) / n * nbytes)

# %% wrong_layers_of_the_model (right_edges): wrong, layers_of_the_model, levels 0 0
-        (2, "tensor", 4 * m * work["layers"] * work["tensor_bytes"]),
+        (2, "tensor", 4 * m * work["layers"] / shape[1] * work["tensor_bytes"]),

# %% wrong_of_one_rank (right_edges): wrong, of_one_rank, levels 0 0
-    return found
+    size = shape[0] * shape[1] * shape[2]
+    return {axis: {kind: n / size for kind, n in kinds.items()} for axis, kinds in found.items()}

# %% wrong_one_layer (right_edges): wrong, forgets_the_layers, levels 0 0
-        (2, "tensor", 4 * m * work["layers"] * work["tensor_bytes"]),
+        (2, "tensor", 4 * m * work["tensor_bytes"]),

# %% wrong_one_rank_a_node (right_edges): wrong, unrecognised, levels 1 0
-        found[axis]["inside" if a // per_node == b // per_node else "between"] += nbytes
+        apart = per_node > 1 and a // per_node != b // per_node
+        found[axis]["between" if apart else "inside"] += nbytes

# %% wrong_only_there (right_edges): wrong, only_there, levels 0 0
-            send("pipeline", a, b, 2 * m * work["hop_bytes"])
+            send("pipeline", a, b, m * work["hop_bytes"])

# %% wrong_open_chain (right_edges): wrong, open_chain, levels 1 0
-            for k in range(n):
-                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
+            for k in range(n - 1):
+                send(axis, group[k], group[k + 1], 2 * nbytes)

# %% wrong_open_ring (right_edges): wrong, ring_not_closed, levels 0 0
-            for k in range(n):
-                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
+            for k in range(n - 1):
+                send(axis, group[k], group[k + 1], 2 * (n - 1) / n * nbytes)

# %% wrong_pair_once (right_edges): wrong, pair_once, levels 0 0
-            for k in range(n):
-                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
+            for a, b in {tuple(sorted((group[k], group[(k + 1) % n]))) for k in range(n)}:
+                send(axis, a, b, 2 * (n - 1) / n * nbytes)

# %% wrong_powers_of_two (right_edges): wrong, unrecognised, levels 1 0
-        found[axis]["inside" if a // per_node == b // per_node else "between"] += nbytes
+        found[axis]["inside" if a ^ b < per_node else "between"] += nbytes  # they differ in the last bits only

# %% wrong_ring_of_stages (right_edges): wrong, round_the_ring, levels 0 0
-        for a, b in zip(group, group[1:]):
+        for a, b in zip(group, group[1:] + group[:1] if len(group) > 1 else []):

# %% wrong_tensor_is_inside (right_edges): wrong, tensor_is_inside, levels 1 0
-        found[axis]["inside" if a // per_node == b // per_node else "between"] += nbytes
+        found[axis]["inside" if axis == "tensor" or a // per_node == b // per_node else "between"] += nbytes

# %% wrong_whole_bytes: wrong, whole_bytes, levels 1 0
def step_bytes(shape, work, per_node):
    d, p, t = shape
    a = np.arange(d * p * t).reshape(shape)
    out = {axis: {"inside": 0.0, "between": 0.0} for axis in ("data", "pipeline", "tensor")}

    def kind(x, y):
        return "inside" if x // per_node == y // per_node else "between"

    def rings(axis, name, times, nbytes):
        n = shape[axis]
        for g in np.moveaxis(a, axis, -1).reshape(-1, n).tolist():
            for i in range(n):
                out[name][kind(g[i], g[(i + 1) % n])] += 2 * (n - 1) * (nbytes // n) * times

    rings(0, "data", 1, work["gradient_bytes"])
    rings(2, "tensor", 4 * work["layers"] * work["micro_batches"], work["tensor_bytes"])
    for x, y in zip(a[:, :-1].ravel().tolist(), a[:, 1:].ravel().tolist()):
        out["pipeline"][kind(x, y)] += 2 * work["micro_batches"] * work["hop_bytes"]
    return out

# %% wrong_whole_contributions (right_edges): wrong, whole_contributions, levels 0 0
-                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
+                send(axis, group[k], group[(k + 1) % n], 2 * nbytes if n > 1 else 0)

# %% wrong_whole_rings (right_edges): wrong, class_of_the_ring, levels 1 0
-            for k in range(n):
-                send(axis, group[k], group[(k + 1) % n], 2 * (n - 1) / n * nbytes)
+            far = len({rank // per_node for rank in group}) > 1
+            found[axis]["between" if far else "inside"] += 2 * (n - 1) * nbytes
