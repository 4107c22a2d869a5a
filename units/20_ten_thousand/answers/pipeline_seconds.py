# Right and wrong answers to `pipeline_seconds`. In files of their own: autograder bank --write DIR

# %% right_by_replay: passed
from labkit.schedules import replay


def pipeline_seconds(p, m, v, layers, seconds):
    forward, backward = (layers * (seconds[way] + 2 * seconds["all_reduce"]) for way in ("forward", "backward"))
    if v > 1:
        return (m * v + p - 1) * (forward + backward) + m * seconds["head"] + seconds["gradients"]
    last = p - 1
    orders = []
    for rank in range(p):
        first = min(m, last - rank)
        order = [("F", k) for k in range(first)]
        for k in range(m):
            order += [("F", first + k)] * (first + k < m) + [("B", k)]
        orders.append(order)
    forwards = [forward] * last + [forward + seconds["head"] / 3]
    backwards = [backward] * last + [backward + seconds["head"] * 2 / 3]
    return replay(orders, p, m, forward=forwards, backward=backwards).elapsed + seconds["gradients"]

# %% right_formula: passed
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]

# %% right_from_the_bubble: passed
# differs: The busy time divided by one minus the bubble's share: unit 17's formula turned round.
def pipeline_seconds(p, m, v, layers, seconds):
    layer = seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"]
    busy = m * v * layers * layer
    share = (p - 1) / (v * m + p - 1)
    return busy / (1 - share) + m * seconds["head"] + seconds["gradients"]

# %% wrong_bubble_divided_twice: wrong, bubble_divided_again, levels 1 0 1
def pipeline_seconds(
    p: int, m: int, v: int, layers: int, seconds: dict[str, float]
) -> float:
    slot = layers * (
        seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"]
    )
    work = m * v * slot
    bubble = (p - 1) / v * slot
    return work + bubble + m * seconds["head"] + seconds["gradients"]

# %% wrong_bubble_of_v1 (right_formula): wrong, bubble_of_v1, levels 1 0 1
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return v * (m + p - 1) * slot + m * seconds["head"] + seconds["gradients"]

# %% wrong_every_micro_batch (right_formula): wrong, gradients_in_every_micro_batch, levels 0 0 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return (m * v + p - 1) * slot + m * seconds["head"] + m * seconds["gradients"]

# %% wrong_four_in_a_chunk: wrong, four_in_a_chunk, levels 0 0 0
def pipeline_seconds(
    p: int, m: int, v: int, layers: int, seconds: dict[str, float]
) -> float:
    slot = layers * (seconds["forward"] + seconds["backward"])
    slot += 4 * seconds["all_reduce"]
    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]

# %% wrong_layers_of_a_rank: wrong, layers_of_a_rank, levels 1 0 1
def pipeline_seconds(p, m, v, layers, seconds):
    stage = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
    return m * (stage + seconds["head"]) + (p - 1) * stage / v + seconds["gradients"]

# %% wrong_no_all_reduces (right_formula): wrong, forgets_the_all_reduces, levels 0 0 0
-    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
+    slot = layers * (seconds["forward"] + seconds["backward"])

# %% wrong_no_bubble (right_formula): wrong, forgets_the_bubble, levels 0 0 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return m * v * slot + m * seconds["head"] + seconds["gradients"]

# %% wrong_no_chunks (right_formula): wrong, forgets_the_chunks, levels 1 0 1
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return (m + p - 1) * slot + m * seconds["head"] + seconds["gradients"]

# %% wrong_no_gradients (right_formula): wrong, forgets_the_gradients, levels 0 0 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return (m * v + p - 1) * slot + m * seconds["head"]

# %% wrong_no_output (right_formula): wrong, forgets_the_output, levels 1 1 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return (m * v + p - 1) * slot + seconds["gradients"]

# %% wrong_no_output_on_one_stage (right_formula): wrong, forgets_the_output, levels 1 1 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return (m * v + p - 1) * slot + (m if p > 1 else 0) * seconds["head"] + seconds["gradients"]

# %% wrong_one_all_reduce: wrong, one_all_reduce, levels 0 0 0
def pipeline_seconds(p, m, v, layers, seconds):
    slot = layers * (seconds["forward"] + seconds["backward"] + seconds["all_reduce"])
    return (v * m + p - 1) * slot + m * seconds["head"] + seconds["gradients"]

# %% wrong_one_layer (right_formula): wrong, one_layer, levels 0 0 0
-    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
+    slot = seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"]

# %% wrong_output_everywhere (right_formula): wrong, output_on_every_stage, levels 1 1 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return (m * v + p - 1) * slot + (m + p - 1) * seconds["head"] + seconds["gradients"]

# %% wrong_output_hidden_by_waiting (right_formula): wrong, output_once, levels 1 1 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    # with fewer micro-batches than stages the outputs are hidden behind the pipeline's waiting
+    output = m * seconds["head"] if m >= p else seconds["head"]
+    return (m * v + p - 1) * slot + output + seconds["gradients"]

# %% wrong_output_once (right_formula): wrong, output_once, levels 1 1 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return (m * v + p - 1) * slot + seconds["head"] + seconds["gradients"]

# %% wrong_p_slots (right_formula): wrong, p_slots_of_waiting, levels 0 0 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return (m * v + p) * slot + m * seconds["head"] + seconds["gradients"]

# %% wrong_pace_of_the_slowest (right_formula): wrong, output_on_every_stage, levels 1 1 0
     slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
+    if seconds["head"] > slot:  # then all go at the last stage's pace
+        return (m + p - 1) * (slot + seconds["head"]) + seconds["gradients"]

# %% wrong_two_all_reduces (right_formula): wrong, two_all_reduces, levels 0 0 0
-    slot = layers * (seconds["forward"] + seconds["backward"] + 4 * seconds["all_reduce"])
+    slot = layers * (seconds["forward"] + seconds["backward"] + 2 * seconds["all_reduce"])

# %% wrong_waits_for_few_micro_batches (right_formula): wrong, unrecognised, levels 0 1 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return (m * v + min(m, p) - 1) * slot + m * seconds["head"] + seconds["gradients"]

# %% wrong_waits_without_all_reduces (right_formula): wrong, waits_without_all_reduces, levels 0 0 0
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    wait = layers * (seconds["forward"] + seconds["backward"])
+    return m * v * slot + (p - 1) * wait + m * seconds["head"] + seconds["gradients"]

# %% wrong_whole_milliseconds (right_formula): wrong, unrecognised, levels 0 1 1
-    return (m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"]
+    return round((m * v + p - 1) * slot + m * seconds["head"] + seconds["gradients"], 3)
