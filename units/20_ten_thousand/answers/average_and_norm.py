# Right and wrong answers to `average_and_norm`. In files of their own: autograder bank --write DIR
import math
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

# %% right_device_mesh: passed
# differs: `init_device_mesh` makes all groups, and the two ends of the pipeline exchange their embedding gradients by messages.
def average_and_norm(gradients, replicated, shape):
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("data", "pipeline", "tensor"))
    _, stage, column = mesh.get_coordinate()
    last = shape[1] - 1
    for g in gradients.values():
        dist.all_reduce(g, group=mesh.get_group("data"))
        g.div_(shape[0])
    if last and stage in (0, last):
        own, other = gradients["embedding"], torch.empty_like(gradients["embedding"])
        peer = dist.get_rank() + (last - 2 * stage) * shape[2]
        requests = [dist.isend(own, peer), dist.irecv(other, peer)]
        for request in requests:
            request.wait()
        own += other
    squares = sum(
        (g**2).sum()
        for name, g in gradients.items()
        if not (column and name in replicated) and not (stage and name == "embedding")
    )
    for axis in ("tensor", "pipeline"):
        dist.all_reduce(squares, group=mesh.get_group(axis))
    return squares.sqrt()

# %% right_groups: passed
def average_and_norm(gradients, replicated, shape):
    data, pipeline, tensor = shape
    rank = dist.get_rank()
    stage, column = rank // tensor % pipeline, rank % tensor

    def mine(groups):
        made = [dist.new_group(group) for group in groups]
        return next((g for g, ranks in zip(made, groups) if rank in ranks), None)

    replicas = mine(axis_groups(shape, 0))
    ends = mine([[g[0], g[-1]] for g in axis_groups(shape, 1)] if pipeline > 1 else [])
    inside = pipeline * tensor
    model = mine([list(range(d * inside, (d + 1) * inside)) for d in range(data)])
    for g in gradients.values():
        if data > 1:
            dist.all_reduce(g, group=replicas)
            g /= data
    if "embedding" in gradients and pipeline > 1:
        dist.all_reduce(gradients["embedding"], group=ends)
    square = torch.zeros((), dtype=torch.float64)
    for name, g in gradients.items():
        counted_elsewhere = (name in replicated and column > 0) or (name == "embedding" and stage > 0)
        if not counted_elsewhere:
            square += g.square().sum()
    dist.all_reduce(square, group=model)
    return math.sqrt(square)

# %% wrong_all_ranks (right_groups): wrong, counts_the_replicas, levels 0 1 0
-    dist.all_reduce(square, group=model)
+    dist.all_reduce(square, group=dist.group.WORLD)

# %% wrong_another_tensor: wrong, not_in_place, levels 0 1 0
def average_and_norm(gradients, replicated, shape):
    d, p, t = shape
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("data", "pipeline", "tensor"))
    rank = dist.get_rank()
    i, k, j = mesh.get_coordinate()
    if d > 1:
        for name in sorted(gradients):
            dist.all_reduce(gradients[name], group=mesh.get_group("data"))
            gradients[name] = gradients[name] / d
    if p > 1:
        for a in range(d):
            for c in range(t):
                ends = [(a * p) * t + c, (a * p + p - 1) * t + c]
                group = dist.new_group(ends)
                if rank in ends:
                    dist.all_reduce(gradients["embedding"], group=group)
    total = torch.zeros(1, dtype=torch.float64)
    for name, g in gradients.items():
        if name == "embedding" and k > 0:
            continue
        if name in replicated and j > 0:
            continue
        total += (g**2).sum()
    dist.all_reduce(total, group=mesh.get_group("tensor"))
    dist.all_reduce(total, group=mesh.get_group("pipeline"))
    return math.sqrt(total.item())

# %% wrong_averages_everybody (right_groups): wrong, averaged_over_everybody, levels 0 0 0
-    replicas = mine(axis_groups(shape, 0))
@@
-        if data > 1:
-            dist.all_reduce(g, group=replicas)
-            g /= data
+        dist.all_reduce(g)
+        g /= dist.get_world_size()

# %% wrong_before_the_mean (right_groups): wrong, norm_before_the_mean, levels 0 0 0
     model = mine([list(range(d * inside, (d + 1) * inside)) for d in range(data)])
+    before = {name: g.clone() for name, g in gradients.items()}
@@
-    for name, g in gradients.items():
+    for name, g in before.items():

# %% wrong_by_the_name: wrong, unrecognised, levels 0 1 0
def average_and_norm(gradients, replicated, shape):
    d, p, t = shape
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("data", "pipeline", "tensor"))
    rank = dist.get_rank()
    i, k, j = mesh.get_coordinate()
    if d > 1:
        for name in sorted(gradients):
            dist.all_reduce(gradients[name], group=mesh.get_group("data"))
            gradients[name] /= d
    if p > 1:
        for a in range(d):
            for c in range(t):
                ends = [(a * p) * t + c, (a * p + p - 1) * t + c]
                group = dist.new_group(ends)
                if rank in ends:
                    dist.all_reduce(gradients["embedding"], group=group)
    total = torch.zeros(1, dtype=torch.float64)
    for name, g in gradients.items():
        if name == "embedding" and k > 0:
            continue
        if "norm" in name and j > 0:
            continue
        total += (g**2).sum()
    dist.all_reduce(total, group=mesh.get_group("tensor"))
    dist.all_reduce(total, group=mesh.get_group("pipeline"))
    return math.sqrt(total.item())

# %% wrong_embedding_by_name: wrong, embedding_taken_as_replicated, levels 0 1 0
import torch, torch.distributed as dist


def average_and_norm(gradients, replicated, shape):
    d, p, t = shape
    mesh = init_device_mesh("cpu", tuple(shape), mesh_dim_names=("d", "p", "t"))
    i, j, k = mesh.get_coordinate()
    r = dist.get_rank()
    ends = None
    if p > 1:
        for a in range(d):
            for c in range(t):
                members = [a * p * t + c, (a * p + p - 1) * t + c]
                g = dist.new_group(members)
                if r in members: ends = g
    for g in gradients.values():
        dist.all_reduce(g, group=mesh.get_group("d"))
        g /= d
    if ends is not None:
        dist.all_reduce(gradients["embedding"], group=ends)
    s = torch.zeros((), dtype=torch.float64)
    for n, g in gradients.items():
        if (n in replicated or n == "embedding") and k > 0: continue
        if n == "embedding" and j > 0: continue
        s += g.square().sum()
    dist.all_reduce(s, group=mesh.get_group("t"))
    dist.all_reduce(s, group=mesh.get_group("p"))
    return float(s.sqrt())

# %% wrong_embedding_in_the_middle (right_device_mesh): raised, KeyError, levels 1 0 1
-    squares = sum(
-        (g**2).sum()
-        for name, g in gradients.items()
-        if not (column and name in replicated) and not (stage and name == "embedding")
-    )
+    counted = {n: g for n, g in gradients.items() if not (n == "embedding" and stage == last and last > 0)}
+    square = torch.zeros((), dtype=torch.float64)
+    for name, g in counted.items():
+        if name not in replicated:
+            square += g.square().sum()
+    if column == 0:
+        for name in replicated:
+            if name != "embedding" or stage < last or last == 0:
+                square += counted[name].square().sum()
@@
-        dist.all_reduce(squares, group=mesh.get_group(axis))
-    return squares.sqrt()
+        dist.all_reduce(square, group=mesh.get_group(axis))
+    return math.sqrt(square.item())

# %% wrong_embedding_on_each_tensor_rank (right_groups): wrong, replicated_counted_by_each, levels 1 1 0
-        counted_elsewhere = (name in replicated and column > 0) or (name == "embedding" and stage > 0)
-        if not counted_elsewhere:
+        if name == "embedding":
+            counts = stage == 0
+        else:
+            counts = name not in replicated or column == 0
+        if counts:

# %% wrong_embedding_on_no_stage (right_device_mesh): wrong, embedding_left_out, levels 0 1 1
-        if not (column and name in replicated) and not (stage and name == "embedding")
+        if not (column and name in replicated) and not (stage == last and name == "embedding")

# %% wrong_float32 (right_groups): wrong, lost_digits, levels 0 0 0
-    square = torch.zeros((), dtype=torch.float64)
+    square = torch.zeros((), dtype=torch.float32)

# %% wrong_gathers (right_groups): wrong, too_many_bytes, levels 0 0 0
         dist.all_reduce(gradients["embedding"], group=ends)
+    everything = [None] * dist.get_world_size()
+    dist.all_gather_object(everything, gradients)

# %% wrong_gathers_replicas: wrong, too_many_bytes, levels 0 1 1
def average_and_norm(gradients, replicated, shape):
    d, p, t = shape
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("data", "pipeline", "tensor"))
    rank = dist.get_rank()
    i, k, j = mesh.get_coordinate()
    if d > 1:
        for name in sorted(gradients):
            xs = [torch.empty_like(gradients[name]) for _ in range(d)]
            dist.all_gather(xs, gradients[name], group=mesh.get_group("data"))
            gradients[name].copy_(sum(xs) / d)
    if p > 1:
        for a in range(d):
            for c in range(t):
                ends = [(a * p) * t + c, (a * p + p - 1) * t + c]
                group = dist.new_group(ends)
                if rank in ends:
                    dist.all_reduce(gradients["embedding"], group=group)
    total = torch.zeros(1, dtype=torch.float64)
    for name, g in gradients.items():
        if name == "embedding" and k > 0:
            continue
        if name in replicated and j > 0:
            continue
        total += (g**2).sum()
    dist.all_reduce(total, group=mesh.get_group("tensor"))
    dist.all_reduce(total, group=mesh.get_group("pipeline"))
    return math.sqrt(total.item())

# %% wrong_groups_by_members (right_groups): hung, partial_group, levels 0 0 0
-        made = [dist.new_group(group) for group in groups]
-        return next((g for g, ranks in zip(made, groups) if rank in ranks), None)
+        own = [group for group in groups if rank in group]
+        return dist.new_group(own[0]) if own else None

# %% wrong_into_copies (right_groups): wrong, left_as_they_were, levels 0 0 0
     model = mine([list(range(d * inside, (d + 1) * inside)) for d in range(data)])
+    gradients = {name: g.clone() for name, g in gradients.items()}

# %% wrong_message_per_name (right_groups): wrong, too_many_bytes, levels 1 1 0
     model = mine([list(range(d * inside, (d + 1) * inside)) for d in range(data)])
+    columns, stages = mine(axis_groups(shape, 2)), mine(axis_groups(shape, 1))
@@
-        counted_elsewhere = (name in replicated and column > 0) or (name == "embedding" and stage > 0)
-        if not counted_elsewhere:
-            square += g.square().sum()
-    dist.all_reduce(square, group=model)
+        if not (name == "embedding" and stage > 0):
+            own = g.square().sum()
+            if name not in replicated:
+                dist.all_reduce(own, group=columns)
+            square += own
+    dist.all_reduce(square, group=stages)

# %% wrong_middle_stage (right_groups): wrong, too_many_bytes, levels 1 0 1
-    if "embedding" in gradients and pipeline > 1:
-        dist.all_reduce(gradients["embedding"], group=ends)
+    stages = mine(axis_groups(shape, 1))
+    dist.all_reduce(gradients.get("embedding", torch.zeros(8, 9, dtype=torch.float64)), group=stages)

# %% wrong_no_tensor_shards (right_groups): wrong, tensor_shards_left_out, levels 0 1 0
-    model = mine([list(range(d * inside, (d + 1) * inside)) for d in range(data)])
+    model = mine(axis_groups(shape, 1))
@@
-        counted_elsewhere = (name in replicated and column > 0) or (name == "embedding" and stage > 0)
+        counted_elsewhere = name == "embedding" and stage > 0

# %% wrong_norm_before_the_sum (right_groups): wrong, norm_before_the_sum, levels 1 0 0
-    if "embedding" in gradients and pipeline > 1:
-        dist.all_reduce(gradients["embedding"], group=ends)
@@
-        counted_elsewhere = (name in replicated and column > 0) or (name == "embedding" and stage > 0)
+        counted_elsewhere = name in replicated and column > 0
@@
     dist.all_reduce(square, group=model)
+    if "embedding" in gradients and pipeline > 1:
+        dist.all_reduce(gradients["embedding"], group=ends)

# %% wrong_norms_added (right_groups): wrong, norms_added, levels 0 0 0
-    dist.all_reduce(square, group=model)
-    return math.sqrt(square)
+    norm = square.sqrt()
+    dist.all_reduce(norm, group=model)
+    return norm

# %% wrong_nothing_to_join (right_groups): raised, ValueError, levels 1 0 0
-    for name, g in gradients.items():
-        counted_elsewhere = (name in replicated and column > 0) or (name == "embedding" and stage > 0)
-        if not counted_elsewhere:
-            square += g.square().sum()
+    gradients = {name: g for name, g in gradients.items() if name != "embedding" or stage == 0}
+    if column == 0:
+        square += torch.cat([g.flatten() for name, g in gradients.items() if name in replicated]).square().sum()
+    square += torch.cat([g.flatten() for name, g in gradients.items() if name not in replicated]).square().sum()

# %% wrong_one_rank (right_groups): wrong, norm_of_one_rank, levels 0 0 0
-        counted_elsewhere = (name in replicated and column > 0) or (name == "embedding" and stage > 0)
-        if not counted_elsewhere:
-            square += g.square().sum()
-    dist.all_reduce(square, group=model)
+        square += g.square().sum()

# %% wrong_one_stage (right_groups): wrong, global_norm_over_one_axis, levels 1 0 0
-    model = mine([list(range(d * inside, (d + 1) * inside)) for d in range(data)])
+    model = mine(axis_groups(shape, 2))

# %% wrong_replicated_by_each (right_groups): wrong, replicated_counted_by_each, levels 0 1 0
-        counted_elsewhere = (name in replicated and column > 0) or (name == "embedding" and stage > 0)
+        counted_elsewhere = name == "embedding" and stage > 0

# %% wrong_replicated_summed (right_groups): wrong, replicated_summed, levels 0 0 0
         dist.all_reduce(gradients["embedding"], group=ends)
+    columns = mine(axis_groups(shape, 2))
+    for name in replicated:
+        dist.all_reduce(gradients[name], group=columns)

# %% wrong_squared (right_groups): wrong, squared, levels 0 0 0
-    return math.sqrt(square)
+    return float(square)

# %% wrong_sum (right_groups): wrong, sum_for_mean, levels 0 1 0
-            g /= data

# %% wrong_sum_on_first_stage: wrong, tied_on_one_stage, levels 1 0 0
import torch, torch.distributed as dist


def average_and_norm(gradients, replicated, shape):
    d, p, t = shape
    mesh = init_device_mesh("cpu", tuple(shape), mesh_dim_names=("d", "p", "t"))
    i, j, k = mesh.get_coordinate()
    r = dist.get_rank()
    ends = None
    if p > 1:
        for a in range(d):
            for c in range(t):
                members = [a * p * t + c, (a * p + p - 1) * t + c]
                g = dist.new_group(members)
                if r in members: ends = g
    for g in gradients.values():
        dist.all_reduce(g, group=mesh.get_group("d"))
        g /= d
    if ends is not None:
        e = gradients["embedding"].clone()
        dist.all_reduce(e, group=ends)
        if j == 0: gradients["embedding"].copy_(e)
    s = torch.zeros((), dtype=torch.float64)
    for n, g in gradients.items():
        if n in replicated and k > 0: continue
        if n == "embedding" and j > 0: continue
        s += g.square().sum()
    dist.all_reduce(s, group=mesh.get_group("t"))
    dist.all_reduce(s, group=mesh.get_group("p"))
    return float(s.sqrt())

# %% wrong_tied_apart (right_groups): wrong, tied_apart, levels 1 0 0
-    if "embedding" in gradients and pipeline > 1:
-        dist.all_reduce(gradients["embedding"], group=ends)

# %% wrong_tied_mean (right_groups): wrong, tied_mean, levels 1 0 0
         dist.all_reduce(gradients["embedding"], group=ends)
+        gradients["embedding"] /= 2

# %% wrong_tied_twice (right_groups): wrong, tied_counted_twice, levels 1 0 0
-        counted_elsewhere = (name in replicated and column > 0) or (name == "embedding" and stage > 0)
+        counted_elsewhere = name in replicated and column > 0
