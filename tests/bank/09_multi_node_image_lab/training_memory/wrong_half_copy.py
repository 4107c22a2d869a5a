# verdict: wrong, diagnosis: half_copy
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 2 * parameters * (precision == "mixed"),
        "optimizer": 4 * slots * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)
