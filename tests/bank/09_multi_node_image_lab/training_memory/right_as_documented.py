# verdict: passed
# differs: All parts stand in one table, and the number of GPUs is rounded up with integers alone.
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    half = 2 if precision == "mixed" else 4
    parts = {
        "weights": half * parameters,
        "gradients": half * parameters,
        "copy": 4 * parameters if precision == "mixed" else 0,
        "optimizer": 4 * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": half * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)
