# Right and wrong answers to `budget_plan`. In files of their own: autograder bank --write DIR
import math

# %% right_loop: passed
def budget_plan(gpu_days, days, plans, law):
    best = None
    for place, plan in enumerate(plans):
        steps = math.floor(min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"])
        if steps < 1:
            continue
        tokens = steps * plan["tokens"]
        loss = law["A"] / plan["parameters"] ** law["alpha"] + law["B"] / tokens ** law["beta"]
        if best is None or loss < best[0]:
            best = loss, place, steps
    if best is None:
        raise ValueError("no plan can take a step")
    return best[1:]

# %% right_min: passed
# differs: All steps first, then one `min` over the plans that can take one.
def budget_plan(gpu_days, days, plans, law):
    steps = [min(gpu_days / p["gpus"], days) * 86400 // p["seconds"] for p in plans]

    def loss(k):
        tokens = steps[k] * plans[k]["tokens"]
        return law["E"] + law["A"] * plans[k]["parameters"] ** -law["alpha"] + law["B"] * tokens ** -law["beta"]

    best = min((k for k in range(len(plans)) if steps[k] > 0), key=loss)  # ValueError if there is none
    return best, steps[best]

# %% right_sorted: passed
# differs: It sorts (loss, place, steps), with an infinite loss for a plan that cannot take a step.
def budget_plan(gpu_days, days, plans, law):
    found = []
    for k, plan in enumerate(plans):
        paid = gpu_days * 86400 / plan["gpus"] / plan["seconds"]
        in_time = days * 86400 / plan["seconds"]
        steps = int(paid if paid < in_time else in_time)
        data = law["B"] / (steps * plan["tokens"]) ** law["beta"] if steps else math.inf
        found.append((law["E"] + law["A"] / plan["parameters"] ** law["alpha"] + data, k, steps))
    least, place, steps = sorted(found)[0]
    if least == math.inf:
        raise ValueError("too little")
    return place, steps

# %% wrong_ceil (right_loop): wrong, overspends, levels 0 0 0
         steps = math.floor(min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"])
+        steps += steps > 0

# %% wrong_deadline_in_gpu_days: wrong, deadline_in_gpu_days, levels 1 0 0
def budget_plan(
    gpu_days: float, days: float, plans: list[dict], law: dict
) -> tuple[int, int]:
    found = []
    for place, plan in enumerate(plans):
        seconds = min(gpu_days, days) * 86400
        steps = math.floor(seconds / (plan["gpus"] * plan["seconds"]))
        if steps >= 1:
            loss = law["E"] + law["A"] / plan["parameters"] ** law["alpha"]
            loss += law["B"] / (steps * plan["tokens"]) ** law["beta"]
            found.append((loss, place, steps))
    if not found:
        raise ValueError("no affordable step")
    _, place, steps = min(found)
    return place, steps

# %% wrong_exponents_swapped (right_loop): wrong, unrecognised, levels 0 0 1
-        loss = law["A"] / plan["parameters"] ** law["alpha"] + law["B"] / tokens ** law["beta"]
+        loss = law["A"] / plan["parameters"] ** law["beta"] + law["B"] / tokens ** law["alpha"]

# %% wrong_fraction (right_sorted): wrong, a_fraction, levels 0 0 0
-        steps = int(paid if paid < in_time else in_time)
+        steps = min(paid, in_time)
+        steps = steps if steps >= 1 else 0

# %% wrong_from_one (right_loop): wrong, counts_from_one, levels 0 0 0
-    for place, plan in enumerate(plans):
+    for place, plan in enumerate(plans, 1):

# %% wrong_hour (right_loop): wrong, hours_for_days, levels 0 0 0
-        steps = math.floor(min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"])
+        steps = math.floor(min(gpu_days / plan["gpus"], days) * 3600 / plan["seconds"])

# %% wrong_largest_loss (right_loop): wrong, unrecognised, levels 0 0 0
-        if best is None or loss < best[0]:
+        if best is None or loss > best[0]:

# %% wrong_largest_model (right_loop): wrong, largest_model, levels 0 0 0
-        loss = law["A"] / plan["parameters"] ** law["alpha"] + law["B"] / tokens ** law["beta"]
+        loss = -plan["parameters"]

# %% wrong_loss_of_steps (right_loop): wrong, steps_for_tokens, levels 0 0 1
-        tokens = steps * plan["tokens"]
+        tokens = steps

# %% wrong_most_compute (right_loop): wrong, most_compute, levels 0 0 1
-        loss = law["A"] / plan["parameters"] ** law["alpha"] + law["B"] / tokens ** law["beta"]
+        loss = -plan["parameters"] * tokens

# %% wrong_most_tokens (right_loop): wrong, most_tokens, levels 0 0 1
-        loss = law["A"] / plan["parameters"] ** law["alpha"] + law["B"] / tokens ** law["beta"]
+        loss = -tokens

# %% wrong_no_budget (right_loop): wrong, forgets_the_budget, levels 1 0 0
-        steps = math.floor(min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"])
+        bound = days if days < math.inf else gpu_days / plan["gpus"]
+        steps = math.floor(bound * 86400 / plan["seconds"])

# %% wrong_no_deadline (right_loop): wrong, forgets_the_deadline, levels 1 0 0
-        steps = math.floor(min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"])
+        steps = math.floor(gpu_days / plan["gpus"] * 86400 / plan["seconds"])

# %% wrong_one_gpu (right_loop): wrong, days_for_gpu_days, levels 0 0 0
-        steps = math.floor(min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"])
+        steps = math.floor(min(gpu_days, days) * 86400 / plan["seconds"])

# %% wrong_one_step_short (right_loop): wrong, one_step_short, levels 0 0 0
-        steps = math.floor(min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"])
+        steps = math.ceil(min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"]) - 1

# %% wrong_parts_of_steps: wrong, unrecognised, levels 0 1 1
def budget_plan(gpu_days, days, plans, law):
    best = None
    for place, plan in enumerate(plans):
        steps = min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"]
        if steps < 1:
            continue
        loss = law["E"] + law["A"] / plan["parameters"] ** law["alpha"]
        loss += law["B"] / (steps * plan["tokens"]) ** law["beta"]
        if best is None or loss < best[0]:
            best = loss, place, int(steps)
    if best is None:
        raise ValueError("no plan can make a step")
    return best[1:]

# %% wrong_place_among_the_rest (right_min): wrong, place_among_the_rest, levels 1 1 0
-    best = min((k for k in range(len(plans)) if steps[k] > 0), key=loss)  # ValueError if there is none
-    return best, steps[best]
+    rest = [k for k in range(len(plans)) if steps[k] > 0]
+    best = min(rest, key=loss)
+    return rest.index(best), steps[best]

# %% wrong_refuses (right_loop): wrong, refuses_what_can_be, levels 1 1 0
-            continue
+            raise ValueError("a plan that cannot take a step")

# %% wrong_skips_none (right_loop): raised, not_a_value_error, levels 1 1 0
-        if steps < 1:
-            continue

# %% wrong_takes_anything (right_loop): wrong, takes_anything, levels 1 1 0
-        raise ValueError("no plan can take a step")
+        return 0, 0

# %% wrong_tokens (right_loop): wrong, tokens_for_steps, levels 0 0 0
-            best = loss, place, steps
+            best = loss, place, tokens

# %% wrong_twenty (right_loop): wrong, closest_to_twenty, levels 0 0 1
-        loss = law["A"] / plan["parameters"] ** law["alpha"] + law["B"] / tokens ** law["beta"]
+        loss = abs(math.log(tokens / plan["parameters"] / 20))

# %% wrong_whole_days (right_loop): wrong, whole_days, levels 0 0 0
-        steps = math.floor(min(gpu_days / plan["gpus"], days) * 86400 / plan["seconds"])
+        steps = math.floor(min(gpu_days // plan["gpus"], days) * 86400 / plan["seconds"])
