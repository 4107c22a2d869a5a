# verdict: wrong, diagnosis: float32
import math

import numpy as np


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
