# verdict: passed
import numpy as np


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
