# verdict: wrong, diagnosis: overflow
import math

import numpy as np


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
