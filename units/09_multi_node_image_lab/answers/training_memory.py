# Right and wrong answers to `training_memory`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_as_documented: passed
# differs: All parts stand in one table, and the number of GPUs is rounded up with integers alone.
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    half = 2 if precision == "mixed" else 4
    parts = {
        "weights": half * parameters,
        "gradients": half * parameters,
        "copy": 4 * parameters if precision == "mixed" else 0,
        "optimizer": 4 * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": half * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% right_in_floats: passed
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 4.0 if precision == "float32" else 2.0
    slots = 2 if optimizer == "adam" else 1 if optimizer == "momentum" else 0
    parts = dict(weights=size * parameters, gradients=size * parameters)
    parts["activations"] = size * activations * global_batch_size / world_size
    parts["copy"] = 0.0 if precision == "float32" else 4.0 * parameters
    parts["optimizer"] = 4.0 * slots * parameters
    return [parts, math.ceil(sum(parts.values()) / gpu_bytes)]

# %% right_numpy_sums: passed
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    n, opt, prec, act, gb, ws, gpu = parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes
    mixed = prec == "mixed"
    v = (
        np.array([2 if mixed else 4, 2 if mixed else 4, 4 * mixed, 4 * {"sgd": 0, "momentum": 1, "adam": 2}[opt]], dtype=np.int64)
        * n
    )
    parts = dict(
        zip(("weights", "gradients", "copy", "optimizer"), v.tolist()), activations=np.int64(act) * gb // ws * (2 if mixed else 4)
    )
    t = int(sum(parts.values()))
    return parts, np.int64(max(1, (t + gpu - 1) // gpu))

# %% wrong_adds_one: wrong, one_too_many, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes) + 1

# %% wrong_almost_fits (right_as_documented): wrong, rounded_down, levels 1 1 0
-    return parts, -(-sum(parts.values()) // gpu_bytes)
+    return parts, math.ceil(sum(parts.values()) / gpu_bytes - 1e-9)

# %% wrong_ceil_float: wrong, rounded_down, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    n, opt, prec, act, gb, ws, gpu = parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes
    s = 4 if prec == "float32" else 2
    parts = dict(
        weights=n * s,
        gradients=n * s,
        copy=4 * n if s == 2 else 0,
        optimizer={"sgd": 0, "momentum": 4, "adam": 8}[opt] * n,
        activations=act * s * gb / ws,
    )
    return parts, round(sum(parts.values()) / gpu)

# %% wrong_copy_in_float32: wrong, copy_in_float32, levels 0 1 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters,
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_copy_twice (right_as_documented): wrong, copy_twice, levels 1 0 0
     half = 2 if precision == "mixed" else 4
+    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
@@
-        "optimizer": 4 * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
+        "optimizer": (4 * slots + (4 if precision == "mixed" else 0)) * parameters,

# %% wrong_float32_activations: wrong, float32_activations, levels 1 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": 4 * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_float32_gradients: wrong, float32_gradients, levels 1 0 0
def training_memory(
    parameters,
    optimizer,
    precision,
    activations,
    global_batch_size,
    world_size,
    gpu_bytes,
):
    mixed = precision == "mixed"
    size = 2 if mixed else 4
    local_batch = global_batch_size // world_size
    parts = {
        "weights": size * parameters,
        "gradients": 4 * parameters,
        "copy": 4 * parameters if mixed else 0,
        "optimizer": 4 * parameters * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer],
        "activations": size * activations * local_batch,
    }
    return parts, max(1, -(-sum(parts.values()) // gpu_bytes))

# %% wrong_float32sum: wrong, float32, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    n, opt, prec, act, gb, ws, gpu = parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes
    s = np.float32(4 if prec == "float32" else 2)
    n = np.float32(n)
    parts = dict(
        weights=float(n * s),
        gradients=float(n * s),
        copy=float(4 * n) if s == 2 else 0,
        optimizer=float({"sgd": 0, "momentum": 4, "adam": 8}[opt] * n),
        activations=act * float(s) * gb // ws,
    )
    return parts, math.ceil(sum(parts.values()) / gpu)

# %% wrong_gigabytes: wrong, gigabytes, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return {name: part / 1e9 for name, part in parts.items()}, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_global_batch: wrong, global_batch_on_each, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * global_batch_size,
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_gpu_gib: wrong, gigabinaries, levels 1 1 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    n, opt, prec, act, gb, ws, gpu = parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes
    s = 4 if prec == "float32" else 2
    parts = dict(
        weights=n * s,
        gradients=n * s,
        copy=4 * n if s == 2 else 0,
        optimizer={"sgd": 0, "momentum": 4, "adam": 8}[opt] * n,
        activations=act * s * gb // ws,
    )
    return parts, math.ceil(sum(parts.values()) / (gpu * 2**30 / 10**9))

# %% wrong_gpus_of_weights: wrong, gpus_of_weights, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-parts["weights"] // gpu_bytes)

# %% wrong_half_copy: wrong, half_copy, levels 1 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 2 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_half_states: wrong, half_states, levels 1 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": size * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_int32: wrong, overflow, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    n, opt, prec, act, gb, ws, gpu = parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes
    s = 4 if prec == "float32" else 2
    one = np.array([n], dtype=np.int64).astype(np.int32)
    one = int(one[0])
    parts = dict(
        weights=one * s,
        gradients=one * s,
        copy=4 * one if s == 2 else 0,
        optimizer={"sgd": 0, "momentum": 4, "adam": 8}[opt] * one,
        activations=act * s * gb // ws,
    )
    return parts, math.ceil(sum(parts.values()) / gpu)

# %% wrong_model_of_all_ranks: wrong, model_of_all_ranks, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters * world_size,
        "gradients": size * parameters * world_size,
        "copy": 4 * parameters * world_size * (precision == "mixed"),
        "optimizer": 4 * slots * parameters * world_size,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_model_shared: wrong, model_shared, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters / world_size,
        "gradients": size * parameters / world_size,
        "copy": 4 * parameters * (precision == "mixed") / world_size,
        "optimizer": 4 * slots * parameters / world_size,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_momentum_in_half: wrong, half_states, levels 1 0 1
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters if precision == "mixed" else 0,
        "optimizer": {"sgd": 0, "momentum": size, "adam": 8}[optimizer] * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_no_copy: wrong, no_copy, levels 1 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 0,
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_no_gradients: wrong, no_gradients, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": 0,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_one_sample: wrong, one_sample, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations,
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_one_slot: wrong, one_slot, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)

# %% wrong_per_part: wrong, gpus_part_by_part, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    n, opt, prec, act, gb, ws, gpu = parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes
    s = 4 if prec == "float32" else 2
    parts = dict(
        weights=n * s,
        gradients=n * s,
        copy=4 * n if s == 2 else 0,
        optimizer={"sgd": 0, "momentum": 4, "adam": 8}[opt] * n,
        activations=act * s * gb // ws,
    )
    return parts, sum(math.ceil(v / gpu) for v in parts.values())

# %% wrong_plus1: wrong, one_too_many, levels 1 1 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    n, opt, prec, act, gb, ws, gpu = parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes
    s = 4 if prec == "float32" else 2
    parts = dict(
        weights=n * s,
        gradients=n * s,
        copy=4 * n if s == 2 else 0,
        optimizer={"sgd": 0, "momentum": 4, "adam": 8}[opt] * n,
        activations=act * s * gb // ws,
    )
    return parts, sum(parts.values()) // gpu + 1

# %% wrong_rounded_down: wrong, rounded_down, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, sum(parts.values()) // gpu_bytes

# %% wrong_spread_over_ranks (right_as_documented): wrong, spread_over_ranks, levels 0 0 0
     half = 2 if precision == "mixed" else 4
+    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
@@
-        "optimizer": 4 * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
+        "optimizer": 4 * slots * parameters,
@@
-    return parts, -(-sum(parts.values()) // gpu_bytes)
+    return parts, -(-sum(parts.values()) // (gpu_bytes * world_size))

# %% wrong_two_mistakes: wrong, global_batch_on_each, levels 0 0 0
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * global_batch_size,
    }
    return parts, sum(parts.values()) / gpu_bytes

# %% wrong_whole_shares_of_the_model: wrong, model_shared, levels 0 0 0
def training_memory(
    parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes
):
    size = 2 if precision == "mixed" else 4
    own = parameters // world_size
    parts = {
        "weights": size * own,
        "gradients": size * own,
        "copy": 4 * own if precision == "mixed" else 0,
        "optimizer": 4 * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * own,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, max(1, -(-sum(parts.values()) // gpu_bytes))
