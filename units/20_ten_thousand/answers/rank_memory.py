# Right and wrong answers to `rank_memory`. In files of their own: autograder bank --write DIR

# %% right_by_simulator: passed
from labkit.scale import Mesh, Model, Plan, machine


def rank_memory(model, shape, stage, micro_batches, zero=1):
    data, pipeline, tensor = shape
    gpt = Model(**{"heads": tensor} | model)
    mesh = Mesh(tensor, 1, pipeline, data)
    batch = micro_batches * data
    plan = Plan(gpt, mesh, machine("DGX-H100"), batch, zero=zero, recompute="selective")
    return vars(plan.memory(stage))

# %% right_parts: passed
# differs: Parameters of the stage first, and then each kind of memory is a number of bytes times them, divided where ZeRO says so.
def rank_memory(model, shape, stage, micro_batches, zero=1):
    data, pipeline, tensor = shape
    h, layers = model["width"], model["layers"] // pipeline
    parameters = layers * (12 * h * h + 13 * h)
    if stage == 0:
        parameters += (model["vocabulary"] + model["sequence"]) * h
    elif stage == pipeline - 1:
        parameters += model["vocabulary"] * h
    parameters /= tensor
    alive = min(micro_batches, pipeline - stage)
    return {
        "parameters": 2 * parameters / (data if zero >= 3 else 1),
        "gradients": 4 * parameters / (data if zero >= 2 else 1),
        "optimizer": 12 * parameters / (data if zero >= 1 else 1),
        "activations": 34 * model["sequence"] * h / tensor * layers * alive,
    }

# %% wrong_activations_divided (right_parts): wrong, activations_over_replicas, levels 1 1 0
-        "activations": 34 * model["sequence"] * h / tensor * layers * alive,
+        "activations": 34 * model["sequence"] * h / tensor * layers * alive / (data if zero >= 3 else 1),

# %% wrong_alive_by_stage: wrong, alive_the_other_way_round, levels 1 0 0
def rank_memory(model, shape, stage, micro_batches, zero=1):
    data, p, t = shape
    h, layers = model["width"], model["layers"] // p
    n = layers * (12 * h * h + 13 * h)
    if stage == 0:
        n += (model["vocabulary"] + model["sequence"]) * h
    elif stage == p - 1:
        n += model["vocabulary"] * h
    n /= t
    return {
        "parameters": 2 * n / (data if zero > 2 else 1),
        "gradients": 4 * n / (data if zero > 1 else 1),
        "optimizer": 12 * n / (data if zero > 0 else 1),
        "activations": 34 * model["sequence"] * h / t * layers * min(micro_batches, stage + 1),
    }

# %% wrong_embedding_everywhere (right_parts): wrong, embedding_on_every_stage, levels 1 0 0
-    if stage == 0:
+    if True:

# %% wrong_embedding_whole (right_parts): wrong, embedding_not_divided, levels 0 0 0
-    parameters = layers * (12 * h * h + 13 * h)
+    parameters = layers * (12 * h * h + 13 * h) / tensor
@@
-    parameters /= tensor

# %% wrong_gpipe (right_parts): wrong, keeps_all_micro_batches, levels 0 0 0
-    alive = min(micro_batches, pipeline - stage)
+    alive = micro_batches

# %% wrong_gradients_in_bfloat16 (right_parts): wrong, gradients_in_two_bytes, levels 0 0 0
-        "gradients": 4 * parameters / (data if zero >= 2 else 1),
+        "gradients": 2 * parameters / (data if zero >= 2 else 1),

# %% wrong_gradients_under_two_only (right_parts): wrong, gradients_whole_under_three, levels 1 1 0
-        "gradients": 4 * parameters / (data if zero >= 2 else 1),
+        "gradients": 4 * parameters / (data if zero == 2 else 1),

# %% wrong_model_remembered (right_parts): wrong, keeps_something, levels 0 0 0
+KNOWN = {}
+
+
 def rank_memory(model, shape, stage, micro_batches, zero=1):
@@
-    h, layers = model["width"], model["layers"] // pipeline
-    parameters = layers * (12 * h * h + 13 * h)
+    if id(model) not in KNOWN:
+        h = model["width"]
+        KNOWN[id(model)] = model, h, model["layers"] * (12 * h * h + 13 * h)
+    _, h, all_layers = KNOWN[id(model)]
+    parameters = all_layers / pipeline
+    layers = model["layers"] // pipeline

# %% wrong_more_than_there_are (right_parts): wrong, more_than_there_are, levels 1 0 0
-    alive = min(micro_batches, pipeline - stage)
+    alive = pipeline - stage

# %% wrong_no_small_parameters (right_parts): wrong, forgets_the_small_parameters, levels 0 0 0
-    parameters = layers * (12 * h * h + 13 * h)
+    parameters = layers * (12 * h * h)

# %% wrong_no_zero (right_parts): wrong, optimizer_on_every_replica, levels 0 0 0
-        "parameters": 2 * parameters / (data if zero >= 3 else 1),
-        "gradients": 4 * parameters / (data if zero >= 2 else 1),
-        "optimizer": 12 * parameters / (data if zero >= 1 else 1),
+        "parameters": 2 * parameters / (1 if zero >= 3 else 1),
+        "gradients": 4 * parameters / (1 if zero >= 2 else 1),
+        "optimizer": 12 * parameters / (1 if zero >= 1 else 1),

# %% wrong_one_alive (right_parts): wrong, one_micro_batch, levels 1 0 0
-    alive = min(micro_batches, pipeline - stage)
+    alive = 1

# %% wrong_one_less_alive (right_parts): wrong, one_less_alive, levels 0 0 0
-    alive = min(micro_batches, pipeline - stage)
+    alive = min(micro_batches, pipeline - 1 - stage)

# %% wrong_one_more_alive (right_parts): wrong, one_more_alive, levels 0 0 0
-    alive = min(micro_batches, pipeline - stage)
+    alive = min(micro_batches, pipeline - stage + 1)

# %% wrong_one_stage_early (right_parts): wrong, one_stage_early, levels 0 0 0
-        "parameters": 2 * parameters / (data if zero >= 3 else 1),
-        "gradients": 4 * parameters / (data if zero >= 2 else 1),
-        "optimizer": 12 * parameters / (data if zero >= 1 else 1),
+        "parameters": 2 * parameters / (data if zero + 1 >= 3 else 1),
+        "gradients": 4 * parameters / (data if zero + 1 >= 2 else 1),
+        "optimizer": 12 * parameters / (data if zero + 1 >= 1 else 1),

# %% wrong_over_all_ranks (right_parts): wrong, sharded_over_all_ranks, levels 0 0 0
-        "parameters": 2 * parameters / (data if zero >= 3 else 1),
-        "gradients": 4 * parameters / (data if zero >= 2 else 1),
-        "optimizer": 12 * parameters / (data if zero >= 1 else 1),
+        "parameters": 2 * parameters / (data * pipeline * tensor if zero >= 3 else 1),
+        "gradients": 4 * parameters / (data * pipeline * tensor if zero >= 2 else 1),
+        "optimizer": 12 * parameters / (data * pipeline * tensor if zero >= 1 else 1),

# %% wrong_p_everywhere (right_parts): wrong, p_alive_on_every_stage, levels 1 0 0
-    alive = min(micro_batches, pipeline - stage)
+    alive = pipeline

# %% wrong_places_twice (right_parts): wrong, places_of_the_copy, levels 1 0 0
-        parameters += model["vocabulary"] * h
+        parameters += (model["vocabulary"] + model["sequence"]) * h

# %% wrong_stage_from_one (right_parts): wrong, stages_from_one, levels 0 0 0
-    if stage == 0:
+    if stage == 1:
@@
-    elif stage == pipeline - 1:
+    elif stage == pipeline:
@@
-    alive = min(micro_batches, pipeline - stage)
+    alive = min(micro_batches, pipeline - stage + 1)

# %% wrong_twice_on_one_stage (right_parts): wrong, copy_beside_the_embedding, levels 0 1 1
-    elif stage == pipeline - 1:
+    if stage == pipeline - 1:

# %% wrong_two_moments (right_parts): wrong, two_moments_only, levels 0 0 0
-        "optimizer": 12 * parameters / (data if zero >= 1 else 1),
+        "optimizer": 8 * parameters / (data if zero >= 1 else 1),

# %% wrong_untied (right_parts): wrong, forgets_the_tied_copy, levels 1 0 0
-    elif stage == pipeline - 1:
+    elif False:

# %% wrong_wants_heads (right_parts): raised, KeyError, levels 0 1 1
-    parameters = layers * (12 * h * h + 13 * h)
+    head = h / model["heads"]
+    attention, mlp = 4 * h * model["heads"] * head + 4 * h, 8 * h * h + 5 * h
+    parameters = layers * (attention + mlp + 4 * h)

# %% wrong_whole_activations (right_parts): wrong, activations_on_every_tensor_rank, levels 0 0 0
-        "activations": 34 * model["sequence"] * h / tensor * layers * alive,
+        "activations": 34 * model["sequence"] * h * layers * alive,

# %% wrong_whole_bytes: wrong, whole_bytes, levels 0 1 0
def rank_memory(model, shape, stage, micro_batches, zero=1):
    d, p, t = shape
    L, h, V, s = (model[k] for k in ("layers", "width", "vocabulary", "sequence"))
    n = L / p * (12 * h * h + 13 * h)
    if stage == 0:
        n += (V + s) * h
    if stage == p - 1 and p > 1:
        n += V * h
    n //= t
    return {
        "parameters": 2 * n // (d if zero >= 3 else 1),
        "gradients": 4 * n // (d if zero >= 2 else 1),
        "optimizer": 12 * n // (d if zero >= 1 else 1),
        "activations": 34 * s * h * L / p * min(micro_batches, p - stage) / t,
    }

# %% wrong_whole_model_activations (right_parts): wrong, activations_of_all_layers, levels 1 0 0
-        "activations": 34 * model["sequence"] * h / tensor * layers * alive,
+        "activations": 34 * model["sequence"] * h / tensor * model["layers"] * alive,

# %% wrong_zero_of_this_stage: wrong, this_part_alone, levels 1 1 0
def rank_memory(model, shape, stage, micro_batches, zero=1):
    data, p, t = shape
    h, layers = model["width"], model["layers"] // p
    n = layers * (12 * h * h + 13 * h)
    if stage == 0:
        n += (model["vocabulary"] + model["sequence"]) * h
    elif stage == p - 1:
        n += model["vocabulary"] * h
    n /= t
    return {
        "parameters": 2 * n / (data if zero == 3 else 1),
        "gradients": 4 * n / (data if zero == 2 else 1),
        "optimizer": 12 * n / (data if zero == 1 else 1),
        "activations": 34 * model["sequence"] * h / t * layers * min(micro_batches, p - stage),
    }

# %% wrong_zero_where_nothing_is_said: wrong, optimizer_on_every_replica, levels 0 0 1
def rank_memory(model, shape, stage, micro_batches, zero=0):
    d, p, t = shape
    L, h, V, s = (model[k] for k in ("layers", "width", "vocabulary", "sequence"))
    n = L / p * (12 * h * h + 13 * h)
    if stage == 0:
        n += (V + s) * h
    if stage == p - 1 and p > 1:
        n += V * h
    n /= t
    return {
        "parameters": 2 * n / (d if zero >= 3 else 1),
        "gradients": 4 * n / (d if zero >= 2 else 1),
        "optimizer": 12 * n / (d if zero >= 1 else 1),
        "activations": 34 * s * h * L / p * min(micro_batches, p - stage) / t,
    }
