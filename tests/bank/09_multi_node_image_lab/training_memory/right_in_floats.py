# verdict: passed
import math


def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 4.0 if precision == "float32" else 2.0
    slots = 2 if optimizer == "adam" else 1 if optimizer == "momentum" else 0
    parts = dict(weights=size * parameters, gradients=size * parameters)
    parts["activations"] = size * activations * global_batch_size / world_size
    parts["copy"] = 0.0 if precision == "float32" else 4.0 * parameters
    parts["optimizer"] = 4.0 * slots * parameters
    return [parts, math.ceil(sum(parts.values()) / gpu_bytes)]
