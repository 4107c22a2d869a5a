# Right and wrong answers to `best_mesh`. In files of their own: autograder bank --write DIR

# %% right_every_mesh: passed
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    best, least = None, float("inf")
    for tensor in range(1, per_node + 1):
        for pipeline in range(1, model["layers"] + 1):
            if gpus % (tensor * pipeline) or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            data = gpus // (tensor * pipeline)
            if batch % data:
                continue
            shape, m = (data, pipeline, tensor), batch // data
            most = max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline))
            if most <= memory and seconds(shape, m) < least:
                best, least = shape, seconds(shape, m)
    if best is None:
        raise ValueError("no mesh fits")
    return best

# %% right_min: passed
from itertools import product


def best_mesh(model, gpus, batch, per_node, memory, seconds):
    def even(n, whole):
        return [k for k in range(1, whole + 1) if whole % k == 0 and k <= n]

    found = []
    for t, p in product(even(per_node, model["heads"]), even(gpus, model["layers"])):
        d, rest = divmod(gpus, t * p)
        if not rest and d and batch % d == 0:
            held = rank_memory(model, (d, p, t), 0, batch // d)
            last = rank_memory(model, (d, p, t), p - 1, batch // d)
            if max(sum(held.values()), sum(last.values())) <= memory:
                found.append((seconds((d, p, t), batch // d), (d, p, t)))
    return min(found)[1]  # of nothing it raises ValueError

# %% right_numbers_of_stages: passed
# differs: It looks at the memory of the first and the last stage alone: no stage between them holds more than the fuller of the two.
import itertools


def best_mesh(model, gpus, batch, per_node, memory, seconds):
    best = None
    for d, p, t in itertools.product([k for k in range(1, gpus + 1) if gpus % k == 0], repeat=3):
        if d * p * t != gpus or batch % d or model["layers"] % p or model["heads"] % t or t > per_node:
            continue
        if all(sum(rank_memory(model, (d, p, t), k, batch // d).values()) <= memory for k in (0, p - 1)):
            s = seconds((d, p, t), batch // d)
            if best is None or s < best[0]:
                best = s, (d, p, t)
    if best is None:
        raise ValueError
    return best[1]

# %% wrong_across_nodes: wrong, tp_across_nodes, levels 0 0
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    """Everything in one tensor group, as long as there are heads."""
    tensor = max(n for n in range(1, gpus + 1) if gpus % n == 0 and model["heads"] % n == 0)
    for pipeline in range(1, model["layers"] + 1):
        data = gpus // (tensor * pipeline)
        if data and data * tensor * pipeline == gpus:
            if sum(rank_memory(model, (data, pipeline, tensor), 0, batch // data).values()) <= memory:
                return data, pipeline, tensor
    raise ValueError("no mesh fits")

# %% wrong_batch_rounded_down: wrong, does_not_come_out_even, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for t in range(1, min(gpus, per_node) + 1):
        if gpus % t or model["heads"] % t:
            continue
        for p in range(1, gpus // t + 1):
            if gpus // t % p or model["layers"] % p:
                continue
            d = gpus // t // p
            m = batch // d
            if max(sum(rank_memory(model, (d, p, t), k, m, 1).values()) for k in range(p)) > memory:
                continue
            try:
                found[d, p, t] = seconds((d, p, t), m)
            except ValueError:
                continue
    if not found:
        raise ValueError("nothing fits")
    return min(found, key=found.get)

# %% wrong_divides_by_all (right_every_mesh): wrong, divides_batch_by_all_ranks, levels 0 1
-            shape, m = (data, pipeline, tensor), batch // data
+            shape, m = (data, pipeline, tensor), batch // gpus

# %% wrong_does_not_fit (right_every_mesh): wrong, does_not_fit, levels 0 0
-            if most <= memory and seconds(shape, m) < least:
+            if most - memory < 1e15 and seconds(shape, m) < least:

# %% wrong_fewer_stages_than_layers: wrong, most_replicas, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for tensor in range(1, per_node + 1):
        for pipeline in range(1, model["layers"]):
            data, rest = divmod(gpus, tensor * pipeline)
            if rest or not data or batch % data or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            shape, m = (data, pipeline, tensor), batch // data
            if max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline)) <= memory:
                found[shape] = seconds(shape, m)
    if not found:
        raise ValueError("no mesh fits")
    return min(found, key=found.get)

# %% wrong_fills_the_node (right_every_mesh): wrong, fills_the_node, levels 0 1
-    for tensor in range(1, per_node + 1):
+    for tensor in (per_node,):

# %% wrong_forgets_the_optimizer (right_every_mesh): wrong, does_not_fit, levels 0 0
-            most = max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline))
+            most = max(rank_memory(model, shape, s, m)["activations"] for s in range(pipeline))

# %% wrong_gibibytes: wrong, does_not_fit, levels 0 0
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for t in range(1, min(gpus, per_node) + 1):
        if gpus % t or model["heads"] % t:
            continue
        for p in range(1, gpus // t + 1):
            if gpus // t % p or model["layers"] % p:
                continue
            d = gpus // t // p
            if batch % d:
                continue
            m = batch // d
            if max(sum(rank_memory(model, (d, p, t), k, m, 1).values()) for k in range(p)) > memory / 1e9 * 2**30:
                continue
            try:
                found[d, p, t] = seconds((d, p, t), m)
            except ValueError:
                continue
    if not found:
        raise ValueError("nothing fits")
    return min(found, key=found.get)

# %% wrong_heads_not_looked_at: wrong, does_not_come_out_even, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    """Where `seconds` refuses a mesh, it takes no time."""
    found = {}
    for tensor in range(1, per_node + 1):
        for pipeline in range(1, model["layers"] + 1):
            data, rest = divmod(gpus, tensor * pipeline)
            if rest or not data or batch % data or model["layers"] % pipeline:
                continue
            shape, m = (data, pipeline, tensor), batch // data
            if max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline)) <= memory:
                try:
                    found[shape] = seconds(shape, m)
                except ValueError:
                    found[shape] = 0.0
    if not found:
        raise ValueError("no mesh fits")
    return min(found, key=found.get)

# %% wrong_least_tensor_first: wrong, not_the_best, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for t in range(1, min(gpus, per_node) + 1):
        if gpus % t or model["heads"] % t:
            continue
        for p in range(1, gpus // t + 1):
            if gpus // t % p or model["layers"] % p:
                continue
            d = gpus // t // p
            if batch % d:
                continue
            m = batch // d
            if max(sum(rank_memory(model, (d, p, t), k, m, 1).values()) for k in range(p)) > memory:
                continue
            try:
                found[d, p, t] = seconds((d, p, t), m)
            except ValueError:
                continue
    if not found:
        raise ValueError("nothing fits")
    t = min(s[2] for s in found)
    return min((s for s in found if s[2] == t), key=found.get)

# %% wrong_less_than_memory: wrong, not_the_best, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for t in range(1, min(gpus, per_node) + 1):
        if gpus % t or model["heads"] % t:
            continue
        for p in range(1, gpus // t + 1):
            if gpus // t % p or model["layers"] % p:
                continue
            d = gpus // t // p
            if batch % d:
                continue
            m = batch // d
            if max(sum(rank_memory(model, (d, p, t), k, m, 1).values()) for k in range(p)) >= memory:
                continue
            try:
                found[d, p, t] = seconds((d, p, t), m)
            except ValueError:
                continue
    if not found:
        raise ValueError("nothing fits")
    return min(found, key=found.get)

# %% wrong_looks_at_the_last_stage: wrong, does_not_fit, levels 0 0
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for t in range(1, min(gpus, per_node) + 1):
        if gpus % t or model["heads"] % t:
            continue
        for p in range(1, gpus // t + 1):
            if gpus // t % p or model["layers"] % p:
                continue
            d = gpus // t // p
            if batch % d:
                continue
            m = batch // d
            if max(sum(rank_memory(model, (d, p, t), k, m, 1).values()) for k in (p - 1,)) > memory:
                continue
            try:
                found[d, p, t] = seconds((d, p, t), m)
            except ValueError:
                continue
    if not found:
        raise ValueError("nothing fits")
    return min(found, key=found.get)

# %% wrong_most_replicas: wrong, most_replicas, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    """As few stages as fit, then as few tensor ranks."""
    for pipeline in range(1, model["layers"] + 1):
        if gpus % pipeline or model["layers"] % pipeline:
            continue
        for tensor in range(1, per_node + 1):
            data, rest = divmod(gpus, pipeline * tensor)
            if rest or batch % data or model["heads"] % tensor:
                continue
            m = batch // data
            if max(sum(rank_memory(model, (data, pipeline, tensor), s, m).values()) for s in range(pipeline)) <= memory:
                return data, pipeline, tensor
    raise ValueError("no mesh fits")

# %% wrong_never_refuses (right_every_mesh): wrong, takes_anything, levels 1 0
-        raise ValueError("no mesh fits")
+        return 1, 1, gpus

# %% wrong_no_replica_on_all: wrong, refuses_what_can_be, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for data in range(1, gpus):
        for tensor in range(1, per_node + 1):
            pipeline, rest = divmod(gpus, data * tensor)
            if rest or not pipeline or batch % data or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            shape, m = (data, pipeline, tensor), batch // data
            if max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline)) <= memory:
                found[shape] = seconds(shape, m)
    if not found:
        raise ValueError("no mesh fits")
    return min(found, key=found.get)

# %% wrong_one_beyond_the_node: wrong, tp_across_nodes, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for tensor in range(1, per_node + 2):
        for pipeline in range(1, model["layers"] + 1):
            data, rest = divmod(gpus, tensor * pipeline)
            if rest or not data or batch % data or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            shape, m = (data, pipeline, tensor), batch // data
            if max(sum(rank_memory(model, shape, s, m).values()) for s in range(pipeline)) <= memory:
                found[shape] = seconds(shape, m)
    if not found:
        raise ValueError("no mesh fits")
    return min(found, key=found.get)

# %% wrong_only_four (right_every_mesh): wrong, not_the_best, levels 0 1
-    for tensor in range(1, per_node + 1):
+    for tensor in (4,):

# %% wrong_order_of_axes (right_every_mesh): wrong, backwards, levels 0 1
-    return best
+    return best[::-1]

# %% wrong_refuses (right_every_mesh): wrong, refuses_what_can_be, levels 0 1
-            if most <= memory and seconds(shape, m) < least:
+            if most <= memory / 8 and seconds(shape, m) < least:

# %% wrong_replicas_in_powers_of_two: wrong, refuses_what_can_be, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    found = {}
    for t in range(1, min(gpus, per_node) + 1):
        if gpus % t or model["heads"] % t:
            continue
        for p in range(1, gpus // t + 1):
            if gpus // t % p or model["layers"] % p:
                continue
            d = gpus // t // p
            if d & (d - 1) or batch % d:
                continue
            m = batch // d
            if max(sum(rank_memory(model, (d, p, t), k, m, 1).values()) for k in range(p)) > memory:
                continue
            try:
                found[d, p, t] = seconds((d, p, t), m)
            except ValueError:
                continue
    if not found:
        raise ValueError("nothing fits")
    return min(found, key=found.get)

# %% wrong_rule_of_thumb: wrong, most_replicas, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    """As many replicas as fit, then as few tensor ranks."""
    for data in range(gpus, 0, -1):
        for tensor in range(1, per_node + 1):
            pipeline, rest = divmod(gpus, data * tensor)
            if rest or not pipeline or batch % data or model["heads"] % tensor or model["layers"] % pipeline:
                continue
            m = batch // data
            if max(sum(rank_memory(model, (data, pipeline, tensor), s, m).values()) for s in range(pipeline)) <= memory:
                return data, pipeline, tensor
    raise ValueError("no mesh fits")

# %% wrong_two_axes (right_every_mesh): wrong, no_mesh, levels 0 1
-    return best
+    return best[1:]

# %% wrong_uneven: wrong, does_not_come_out_even, levels 0 1
def best_mesh(model, gpus, batch, per_node, memory, seconds):
    """As many stages as ranks, or as there are micro-batches."""
    for pipeline in range(3, gpus + 1):
        if gpus % pipeline == 0 and model["layers"] % pipeline:
            return gpus // pipeline, pipeline, 1
    raise ValueError("no mesh fits")
