# Right and wrong answers to `step_seconds`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_formula: passed
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p = world_size
    compute = math.ceil(global_batch_size / p) * seconds_per_image
    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
    return compute + max(0.0, ring - hidden * compute)

# %% right_if: passed
def ring(p, nbytes, alpha, beta):
    return 2 * (p - 1) * alpha + 2 * (p - 1) / p * nbytes * beta


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    shares = [len(part) for part in np.array_split(np.arange(global_batch_size), world_size)]
    compute = max(shares) * seconds_per_image
    if world_size == 1:
        return np.float64(compute)
    left = ring(world_size, 4 * parameters, alpha, beta) - hidden * compute
    return compute if left < 0 else compute + left

# %% right_labkit: passed
from labkit import scaling


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = -(-g // p) * s
    return np.float64(max(c, c - h * c + scaling.ring_all_reduce_time(p, 4 * n, a, b)))

# %% right_max_of_two: passed
# differs: A step takes the computation, or the part of it that hides nothing and the communication after it, whichever is longer: one `max`.
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    largest_share = -(-global_batch_size // world_size)
    computation = largest_share * seconds_per_image
    messages = 2 * world_size - 2
    communication = messages * alpha + messages * (parameters * 4 / world_size) * beta
    return max(computation, computation * (1 - hidden) + communication)

# %% right_slowest_rank: passed
import torch


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    nbytes = parameters * torch.tensor(0.0).element_size()
    times = []
    for rank in range(world_size):
        share = global_batch_size // world_size + (rank < global_batch_size % world_size)
        compute = share * seconds_per_image
        communicate = 2 * (world_size - 1) * (alpha + beta * nbytes / world_size)
        times.append(compute + max(communicate - hidden * compute, 0))
    return max(times)

# %% right_split: passed
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = (g + p - 1) // p * s
    comm = sum(a + 4 * n * b / p for _ in range(2 * p - 2))
    return c + comm - min(comm, h * c)

# %% wrong_bits (right_formula): wrong, bits, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = 2 * (p - 1) * (alpha + 32 * parameters / p * beta)

# %% wrong_bytes_in_int32: wrong, unrecognised, levels 0 1
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    compute = math.ceil(global_batch_size / world_size) * seconds_per_image
    gradients = np.array([parameters], dtype=np.int32) * 4  # bytes
    ring = 2 * (world_size - 1) * (alpha + gradients[0] / world_size * beta)
    return float(compute + max(0.0, ring - hidden * compute))

# %% wrong_bytes_rounded_up: wrong, whole_chunks, levels 0 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    compute = -(-global_batch_size // world_size) * seconds_per_image
    chunk = -(-4 * parameters // world_size)
    ring = 2 * (world_size - 1) * (alpha + chunk * beta)
    return compute + max(0, ring - hidden * compute)

# %% wrong_cache_by_ranks: wrong, keeps_something, levels 0 0
RINGS = {}


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p = world_size
    compute = math.ceil(global_batch_size / p) * seconds_per_image
    if p not in RINGS:
        RINGS[p] = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
    return compute + max(0.0, RINGS[p] - hidden * compute)

# %% wrong_communication_only (right_formula): wrong, communication_only, levels 0 0
-    return compute + max(0.0, ring - hidden * compute)
+    return ring

# %% wrong_exposed_part (right_formula): wrong, exposed_part, levels 0 0
-    return compute + max(0.0, ring - hidden * compute)
+    return compute + max(0.0, ring - (1 - hidden) * compute)

# %% wrong_float32: wrong, float32, levels 0 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    s, a, b, h = map(np.float32, (s, a, b, h))
    c = math.ceil(g / p) * s
    ring = 2 * (p - 1) * (a + 4 * n / p * b)
    return float(c + max(0, ring - h * c))

# %% wrong_float64 (right_formula): wrong, float64, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = 2 * (p - 1) * (alpha + 8 * parameters / p * beta)

# %% wrong_floor_share (right_formula): wrong, floor_share, levels 0 0
-    compute = math.ceil(global_batch_size / p) * seconds_per_image
+    compute = global_batch_size // p * seconds_per_image

# %% wrong_fraction_of_an_image (right_formula): wrong, fraction_of_an_image, levels 0 0
-    compute = math.ceil(global_batch_size / p) * seconds_per_image
+    compute = global_batch_size / p * seconds_per_image

# %% wrong_fraction_of_communication (right_formula): wrong, fraction_of_communication, levels 1 0
-    return compute + max(0.0, ring - hidden * compute)
+    return compute + (1 - hidden) * ring

# %% wrong_global_batch_on_each (right_formula): wrong, global_batch_on_each, levels 0 0
-    compute = math.ceil(global_batch_size / p) * seconds_per_image
+    compute = global_batch_size * seconds_per_image

# %% wrong_hidden_1_hides_all: wrong, fraction_of_communication, levels 1 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    c = math.ceil(global_batch_size / world_size) * seconds_per_image
    ring = 2 * (world_size - 1) * (alpha + 4 * parameters / world_size * beta)
    return c if hidden == 1 else c + max(0.0, ring - hidden * c)

# %% wrong_hidden_exact_share: wrong, fraction_of_an_image, levels 1 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = math.ceil(g / p) * s
    ring = 2 * (p - 1) * (a + 4 * n / p * b)
    return c + max(0, ring - h * g / p * s)

# %% wrong_hides_nothing_with_few_images (right_formula): wrong, nothing_hidden, levels 1 0
     compute = math.ceil(global_batch_size / p) * seconds_per_image
+    # what can hide is bounded by the rank with the fewest images, which waits longest
+    hides = hidden * compute if global_batch_size >= p else 0.0
@@
-    return compute + max(0.0, ring - hidden * compute)
+    return compute + max(0.0, ring - hides)

# %% wrong_idle_ranks_are_left_out: wrong, unrecognised, levels 0 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    c = math.ceil(global_batch_size / world_size) * seconds_per_image
    p = min(world_size, global_batch_size)
    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
    return c + max(0.0, ring - hidden * c)

# %% wrong_images_per_second (right_formula): wrong, images_per_second, levels 0 0
-    return compute + max(0.0, ring - hidden * compute)
+    return global_batch_size / (compute + max(0.0, ring - hidden * compute))

# %% wrong_latency_once (right_formula): wrong, latency_once, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = alpha + 2 * (p - 1) * 4 * parameters / p * beta if p > 1 else 0.0

# %% wrong_milliseconds (right_formula): wrong, milliseconds, levels 0 0
-    return compute + max(0.0, ring - hidden * compute)
+    return 1000 * (compute + max(0.0, ring - hidden * compute))

# %% wrong_negative_rest (right_formula): wrong, negative_rest, levels 1 0
-    return compute + max(0.0, ring - hidden * compute)
+    return compute + ring - hidden * compute

# %% wrong_no_communication (right_formula): wrong, no_communication, levels 0 0
-    return compute + max(0.0, ring - hidden * compute)
+    return compute

# %% wrong_no_latency (right_formula): wrong, no_latency, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = 2 * (p - 1) * 4 * parameters / p * beta

# %% wrong_nothing_hidden (right_formula): wrong, nothing_hidden, levels 1 0
-    return compute + max(0.0, ring - hidden * compute)
+    return compute + ring

# %% wrong_one_message (right_formula): wrong, one_message, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = alpha + 4 * parameters * beta if p > 1 else 0.0

# %% wrong_one_more: wrong, one_image_more, levels 0 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = (g // p + 1) * s
    ring = 2 * (p - 1) * (a + 4 * n / p * b)
    return c + max(0, ring - h * c)

# %% wrong_one_way (right_formula): wrong, one_way, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = (p - 1) * (alpha + 4 * parameters / p * beta)

# %% wrong_p_for_p_minus_1 (right_formula): wrong, p_for_p_minus_1, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = 2 * p * (alpha + 4 * parameters / p * beta)

# %% wrong_parameters_for_bytes (right_formula): wrong, parameters_for_bytes, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = 2 * (p - 1) * (alpha + parameters / p * beta)

# %% wrong_perfect_overlap (right_formula): wrong, perfect_overlap, levels 0 0
-    return compute + max(0.0, ring - hidden * compute)
+    return max(compute, ring)

# %% wrong_rest_on_last_rank: wrong, rest_on_one_rank, levels 0 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = (g // p + g % p) * s
    ring = 2 * (p - 1) * (a + 4 * n / p * b)
    return c + max(0, ring - h * c)

# %% wrong_rounded_share: wrong, floor_share, levels 0 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = round(g / p) * s
    ring = 2 * (p - 1) * (a + 4 * n / p * b)
    return c + max(0, ring - h * c)

# %% wrong_rounds_up_by_99_hundredths (right_formula): wrong, floor_share, levels 0 1
-    compute = math.ceil(global_batch_size / p) * seconds_per_image
+    compute = int(global_batch_size / p + 0.99) * seconds_per_image

# %% wrong_times_one_pth (right_formula): wrong, one_image_more, levels 0 1
-    compute = math.ceil(global_batch_size / p) * seconds_per_image
+    compute = math.ceil(global_batch_size * (1 / p)) * seconds_per_image

# %% wrong_tree (right_formula): wrong, tree, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = 2 * math.ceil(math.log2(p)) * (alpha + 4 * parameters * beta)

# %% wrong_two_mistakes (right_formula): wrong, global_batch_on_each, levels 0 0
-    compute = math.ceil(global_batch_size / p) * seconds_per_image
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    compute = global_batch_size * seconds_per_image
+    ring = 2 * (p - 1) * (alpha + parameters / p * beta)

# %% wrong_two_thirds_at_most: wrong, two_thirds_at_most, levels 1 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    h = min(h, 2 / 3)
    c = math.ceil(g / p) * s
    ring = 2 * (p - 1) * (a + 4 * n / p * b)
    return c + max(0, ring - h * c)

# %% wrong_whole_chunks: wrong, whole_chunks, levels 0 0
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = math.ceil(g / p) * s
    ring = 2 * (p - 1) * (a + 4 * (n // p) * b)
    return c + max(0, ring - h * c)

# %% wrong_whole_vector_each_step (right_formula): wrong, whole_vector_each_step, levels 0 0
-    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
+    ring = 2 * (p - 1) * (alpha + 4 * parameters * beta)
