# Right and wrong answers to `mfu_and_hfu`. In files of their own: autograder bank --write DIR

# %% right_passes: passed
# differs: The FLOPs of a forward pass once, and then passes are counted: three for the model, four for what was done.
def mfu_and_hfu(tokens_per_second, model, gpus, peak, recompute):
    forward = 2 * model["parameters"] + 4 * model["layers"] * model["width"] * model["sequence"]
    per_gpu = tokens_per_second / gpus
    passes = {"none": 3, "full": 4}[recompute]
    return [per_gpu * n * forward / peak for n in (3, passes)]

# %% right_two: passed
def mfu_and_hfu(tokens_per_second, model, gpus, peak, recompute):
    attention = model["layers"] * model["width"] * model["sequence"]
    flops = 6 * model["parameters"] + 12 * attention
    done = flops if recompute == "none" else 8 * model["parameters"] + 16 * attention
    rate = tokens_per_second / (gpus * peak)
    return rate * flops, rate * done

# %% wrong_always (right_two): wrong, recomputes_always, levels 0 1
-    done = flops if recompute == "none" else 8 * model["parameters"] + 16 * attention
+    done = 8 * model["parameters"] + 16 * attention

# %% wrong_attention_forward (right_two): wrong, attention_forward_only, levels 0 0
-    flops = 6 * model["parameters"] + 12 * attention
-    done = flops if recompute == "none" else 8 * model["parameters"] + 16 * attention
+    flops = 6 * model["parameters"] + 4 * attention
+    done = flops if recompute == "none" else 8 * model["parameters"] + 8 * attention

# %% wrong_attention_kept (right_two): wrong, attention_not_recomputed, levels 1 0
-    done = flops if recompute == "none" else 8 * model["parameters"] + 16 * attention
+    done = flops if recompute == "none" else 8 * model["parameters"] + 12 * attention

# %% wrong_counts_the_parameters: wrong, parameters_of_the_layers, levels 0 0
def mfu_and_hfu(tokens_per_second, model, gpus, peak, recompute):
    """Counts the layers' parameters itself, and forgets the embedding's."""
    layers, width, sequence = model["layers"], model["width"], model["sequence"]
    parameters = 12 * layers * width**2
    needed = 6 * parameters + 12 * layers * width * sequence
    done = needed * 4 / 3 if recompute == "full" else needed
    return tokens_per_second * needed / (gpus * peak), tokens_per_second * done / (gpus * peak)

# %% wrong_forward_only (right_two): wrong, counts_forward_only, levels 0 0
-    flops = 6 * model["parameters"] + 12 * attention
-    done = flops if recompute == "none" else 8 * model["parameters"] + 16 * attention
+    flops = 2 * model["parameters"] + 4 * attention
+    done = flops if recompute == "none" else 4 * model["parameters"] + 8 * attention

# %% wrong_half_masked (right_two): wrong, half_masked, levels 0 0
-    attention = model["layers"] * model["width"] * model["sequence"]
+    attention = model["layers"] * model["width"] * model["sequence"] / 2

# %% wrong_hfu_for_mfu (right_two): wrong, hfu_for_mfu, levels 1 0
-    return rate * flops, rate * done
+    return rate * done, rate * done

# %% wrong_mfu_for_hfu (right_two): wrong, mfu_for_hfu, levels 1 0
-    return rate * flops, rate * done
+    return rate * flops, rate * flops

# %% wrong_no_attention (right_two): wrong, forgets_attention_flops, levels 0 0
-    flops = 6 * model["parameters"] + 12 * attention
-    done = flops if recompute == "none" else 8 * model["parameters"] + 16 * attention
+    flops = 6 * model["parameters"]
+    done = flops if recompute == "none" else 8 * model["parameters"]

# %% wrong_of_one (right_two): wrong, of_one_gpu, levels 0 0
-    rate = tokens_per_second / (gpus * peak)
+    rate = tokens_per_second / peak

# %% wrong_percent (right_two): wrong, percent, levels 0 0
-    rate = tokens_per_second / (gpus * peak)
+    rate = 100 * tokens_per_second / (gpus * peak)

# %% wrong_rounded (right_two): wrong, rounded, levels 0 0
-    return rate * flops, rate * done
+    return round(rate * flops, 3), round(rate * done, 3)

# %% wrong_swapped (right_two): wrong, swapped, levels 1 0
-    return rate * flops, rate * done
+    return rate * done, rate * flops
