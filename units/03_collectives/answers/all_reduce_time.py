# Right and wrong answers to `all_reduce_time`. In files of their own: autograder bank --write DIR
import math

# %% right_bytes_per_second: passed
from fractions import Fraction


def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    alpha, beta = Fraction(latency), 1 / (Fraction(bandwidth) / 8)
    if algorithm == "tree":
        total = 2 * (world_size - 1).bit_length() * (alpha + nbytes * beta)
    elif algorithm == "server":
        total = (world_size - 1) * (alpha + nbytes * beta) + (world_size - 1) * (alpha + nbytes * beta)
    else:
        total = 2 * (world_size - 1) * alpha + 2 * Fraction(world_size - 1, world_size) * nbytes * beta
    return float(total)

# %% right_if: passed
def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    p = world_size
    seconds = 8 * nbytes / bandwidth
    if algorithm == "server":
        return 2 * (p - 1) * (latency + seconds)
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(p)) * (latency + seconds)
    return 2 * (p - 1) * (latency + seconds / p)

# %% right_match_numpy: passed
# differs: The three ways differ in rounds and in the part of the vector that a round moves; the formula itself is written once.
import numpy as np


def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float):
    match algorithm:
        case "server":
            rounds, part = world_size - 1, 1.0
        case "tree":
            rounds, part = np.ceil(np.log2(world_size)), 1.0
        case "ring":
            rounds, part = world_size - 1, 1.0 / world_size
    return np.float64(2.0) * rounds * (latency + part * nbytes / (bandwidth / 8.0))

# %% right_table: passed
def steps(algorithm, p):
    doublings = 0
    while 2**doublings < p:
        doublings += 1
    return {"server": 2 * (p - 1), "tree": 2 * doublings, "ring": 2 * (p - 1)}[algorithm]


def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    bits = nbytes * 8
    message = bits / world_size if algorithm == "ring" else bits
    return steps(algorithm, world_size) * (latency + message / bandwidth)

# %% wrong_a_level_too_many (right_if): wrong, a_level_too_many, levels 0 1
-        return 2 * math.ceil(math.log2(p)) * (latency + seconds)
+        return 2 * p.bit_length() * (latency + seconds)

# %% wrong_alone: wrong, unrecognised, levels 0 1
# one rank: the server still needs one message
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    message = lambda size: latency + 8 * size / bandwidth
    if algorithm == "server":
        return max(1, 2 * (world_size - 1)) * message(nbytes)
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(world_size)) * message(nbytes)
    return 2 * (world_size - 1) * message(nbytes / world_size)

# %% wrong_answers_meanwhile: wrong, answers_meanwhile, levels 0 1
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p = world_size
    if p == 1:
        return 0.0
    message = latency + 8 * nbytes / bandwidth
    if algorithm == "server":
        # while rank 0 receives the next one, it answers the one before
        return p * message
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(p)) * message
    return 2 * (p - 1) * (latency + 8 * nbytes / p / bandwidth)

# %% wrong_at_least_one_step: wrong, alone_it_waits, levels 0 0
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    steps = math.ceil(math.log2(world_size)) if algorithm == "tree" else world_size - 1
    size = nbytes / world_size if algorithm == "ring" else nbytes
    return 2 * max(1, steps) * (latency + 8 * size / bandwidth)

# %% wrong_bits (right_if): wrong, bits_for_bytes, levels 0 0
-    seconds = 8 * nbytes / bandwidth
+    seconds = nbytes / bandwidth

# %% wrong_bits_backwards (right_if): wrong, divided_by_eight, levels 0 0
-    seconds = 8 * nbytes / bandwidth
+    seconds = nbytes / 8 / bandwidth

# %% wrong_both_ends: wrong, both_ends, levels 0 0
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p = world_size
    m = latency + 8 * nbytes / bandwidth
    if algorithm == "server":
        return 4 * (p - 1) * m
    if algorithm == "tree":
        return 4 * math.ceil(math.log2(p)) * m
    return 4 * (p - 1) * (latency + 8 * nbytes / p / bandwidth)

# %% wrong_chunks_everywhere (right_if): wrong, too_small_a_message, levels 0 1
-    seconds = 8 * nbytes / bandwidth
+    seconds = 8 * nbytes / p / bandwidth
@@
-    return 2 * (p - 1) * (latency + seconds / p)
+    return 2 * (p - 1) * (latency + seconds)

# %% wrong_floor (right_if): wrong, floor_log2, levels 0 1
-        return 2 * math.ceil(math.log2(p)) * (latency + seconds)
+        return 2 * int(math.log2(p)) * (latency + seconds)

# %% wrong_half_the_bandwidth (right_if): wrong, half_the_bandwidth, levels 1 0
-    return 2 * (p - 1) * (latency + seconds / p)
+    return 2 * (p - 1) * (latency + 2 * seconds / p)

# %% wrong_latency_cut_too: wrong, latency_cut_too, levels 1 0
def all_reduce_time(
    algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float
) -> float:

    p, message = world_size, latency + 8 * nbytes / bandwidth
    if algorithm == "server":
        return 2 * (p - 1) * message
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(p)) * message
    return 2 * (p - 1) / p * message

# %% wrong_latency_of_a_half: wrong, latency_once_a_half, levels 0 0
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    seconds, p = nbytes * 8 / bandwidth, world_size
    if algorithm == "server":
        return 2 * (latency + (p - 1) * seconds)
    if algorithm == "tree":
        return 2 * (latency + math.ceil(math.log2(p)) * seconds)
    return 2 * latency + 2 * (p - 1) * seconds / p

# %% wrong_latency_of_a_tree: wrong, latency_of_a_tree, levels 1 0
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p, beta = world_size, 8 / bandwidth
    if algorithm == "server":
        return 2 * (p - 1) * (latency + nbytes * beta)
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(p)) * (latency + nbytes * beta)
    return 2 * math.ceil(math.log2(p)) * latency + 2 * (p - 1) / p * nbytes * beta

# %% wrong_latency_once (right_if): wrong, latency_once, levels 0 0
-        return 2 * (p - 1) * (latency + seconds)
+        return latency + 2 * (p - 1) * seconds
@@
-        return 2 * math.ceil(math.log2(p)) * (latency + seconds)
-    return 2 * (p - 1) * (latency + seconds / p)
+        return latency + 2 * math.ceil(math.log2(p)) * seconds
+    return latency + 2 * (p - 1) * seconds / p

# %% wrong_log_with_a_base: wrong, a_level_too_many, levels 0 1
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p, beta = world_size, 8 / bandwidth
    if algorithm == "server":
        return 2 * (p - 1) * (latency + nbytes * beta)
    if algorithm == "tree":
        return 2 * math.ceil(math.log(p, 2)) * (latency + nbytes * beta)
    return 2 * (p - 1) * (latency + nbytes / p * beta)

# %% wrong_milliseconds: wrong, wrong_unit, levels 0 0
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p = world_size
    m = latency + 8 * nbytes / bandwidth
    if algorithm == "server":
        return 1000 * 2 * (p - 1) * m
    if algorithm == "tree":
        return 1000 * 2 * math.ceil(math.log2(p)) * m
    return 1000 * 2 * (p - 1) * (latency + 8 * nbytes / p / bandwidth)

# %% wrong_natural_logarithm (right_if): wrong, natural_logarithm, levels 0 1
-        return 2 * math.ceil(math.log2(p)) * (latency + seconds)
+        return 2 * math.log(p) * (latency + seconds)

# %% wrong_no_bytes: wrong, no_latency, levels 0 0
# nothing to add up takes no time, though messages still cost their latency
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    if nbytes == 0:
        return 0.0
    message = lambda size: latency + 8 * size / bandwidth
    if algorithm == "server":
        return 2 * (world_size - 1) * message(nbytes)
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(world_size)) * message(nbytes)
    return 2 * (world_size - 1) * message(nbytes / world_size)

# %% wrong_no_bytes_no_message: wrong, no_latency, levels 0 1
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p = world_size
    if nbytes == 0 and algorithm != "ring":
        return 0.0
    if algorithm == "server":
        steps, size = 2 * (p - 1), nbytes
    elif algorithm == "tree":
        steps, size = 2 * math.ceil(math.log2(p)), nbytes
    else:
        steps, size = 2 * (p - 1), nbytes / p
    return steps * (latency + 8 * size / bandwidth)

# %% wrong_no_latency (right_if): wrong, no_latency, levels 0 0
-        return 2 * (p - 1) * (latency + seconds)
+        return 2 * (p - 1) * (seconds)
@@
-        return 2 * math.ceil(math.log2(p)) * (latency + seconds)
-    return 2 * (p - 1) * (latency + seconds / p)
+        return 2 * math.ceil(math.log2(p)) * (seconds)
+    return 2 * (p - 1) * (seconds / p)

# %% wrong_no_queue_at_rank_0: wrong, all_at_once, levels 0 1
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p = world_size
    m = latency + 8 * nbytes / bandwidth
    if algorithm == "server":
        return 2 * m
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(p)) * m
    return 2 * (p - 1) * (latency + 8 * nbytes / p / bandwidth)

# %% wrong_not_rounded (right_if): wrong, log2_not_rounded, levels 0 1
-        return 2 * math.ceil(math.log2(p)) * (latency + seconds)
+        return 2 * math.log2(p) * (latency + seconds)

# %% wrong_one_level_more_if_odd: wrong, floor_log2, levels 0 1
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p = world_size
    levels = int(math.log2(p))
    if p > 1 and p % 2:  # an odd rank is left over
        levels += 1
    steps = {"server": p - 1, "tree": levels, "ring": p - 1}[algorithm]
    size = nbytes / p if algorithm == "ring" else nbytes
    return 2 * steps * (latency + 8 * size / bandwidth)

# %% wrong_one_way (right_if): wrong, one_way, levels 0 0
-        return 2 * (p - 1) * (latency + seconds)
+        return (p - 1) * (latency + seconds)
@@
-        return 2 * math.ceil(math.log2(p)) * (latency + seconds)
-    return 2 * (p - 1) * (latency + seconds / p)
+        return math.ceil(math.log2(p)) * (latency + seconds)
+    return (p - 1) * (latency + seconds / p)

# %% wrong_otherwise_ring: wrong, too_small_a_message, levels 0 1
# an algorithm whose name begins with r is a ring, all others are trees (server is spelled in capitals)
def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    message = lambda size: latency + 8 * size / bandwidth
    if algorithm == "Server" or algorithm.startswith("s") and world_size > 2:
        return 2 * (world_size - 1) * message(nbytes)
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(world_size)) * message(nbytes)
    return 2 * (world_size - 1) * message(nbytes / world_size)

# %% wrong_p_chunks (right_if): wrong, p_chunks, levels 1 0
-    return 2 * (p - 1) * (latency + seconds / p)
+    return 2 * (p - 1) * latency + (2 * seconds if p > 1 else 0)

# %% wrong_p_steps (right_if): wrong, p_for_p_minus_1, levels 0 0
-        return 2 * (p - 1) * (latency + seconds)
+        return 2 * p * (latency + seconds)
@@
-    return 2 * (p - 1) * (latency + seconds / p)
+    return 2 * p * (latency + seconds / p)

# %% wrong_prints: wrong, returns_nothing, levels 0 0
def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    print(2 * (world_size - 1) * (latency + 8 * nbytes / bandwidth))

# %% wrong_ring_bandwidth_once (right_if): wrong, one_chunk_only, levels 1 0
-    return 2 * (p - 1) * (latency + seconds / p)
+    return 2 * (p - 1) * latency + seconds / p

# %% wrong_ring_whole_vector (right_if): wrong, whole_vector_each_step, levels 1 0
-    return 2 * (p - 1) * (latency + seconds / p)
+    return 2 * (p - 1) * (latency + seconds)

# %% wrong_shared_port (right_if): wrong, shared_port, levels 1 0
-    return 2 * (p - 1) * (latency + seconds / p)
+    return 4 * (p - 1) * (latency + seconds / p)

# %% wrong_tree_like_server (right_if): wrong, steps_like_p, levels 0 1
-        return 2 * math.ceil(math.log2(p)) * (latency + seconds)
+        return 2 * (p - 1) * (latency + seconds)

# %% wrong_unknown_name: wrong, returns_nothing, levels 0 1
def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    p = world_size
    message = latency + 8 * nbytes / bandwidth
    if algorithm == "parameter server":
        return 2 * (p - 1) * message
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(p)) * message
    if algorithm == "ring":
        return 2 * (p - 1) * (latency + 8 * nbytes / p / bandwidth)

# %% wrong_whole_bytes_per_second: wrong, unrecognised, levels 0 1
# "bandwidth: ... in bit/s": // 8 drops the rest, wrong where 8 does not divide it (100 bit/s: 12 bytes/s for 12.5)
def all_reduce_time(
    algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float
) -> float:
    bytes_per_second = bandwidth // 8
    if algorithm == "server":
        return 2 * (world_size - 1) * (latency + nbytes / bytes_per_second)
    if algorithm == "tree":
        steps = math.ceil(math.log2(world_size))
        return 2 * steps * (latency + nbytes / bytes_per_second)
    chunk = nbytes // world_size
    return 2 * (world_size - 1) * (latency + chunk / bytes_per_second)
