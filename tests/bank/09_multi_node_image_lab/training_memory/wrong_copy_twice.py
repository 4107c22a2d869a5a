# verdict: wrong, diagnosis: copy_twice
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    half = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": half * parameters,
        "gradients": half * parameters,
        "copy": 4 * parameters if precision == "mixed" else 0,
        "optimizer": (4 * slots + (4 if precision == "mixed" else 0)) * parameters,
        "activations": half * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)
