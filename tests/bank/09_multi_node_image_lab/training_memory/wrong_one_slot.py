# verdict: wrong, diagnosis: one_slot
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    parts = {
        "weights": size * parameters,
        "gradients": size * parameters,
        "copy": 4 * parameters * (precision == "mixed"),
        "optimizer": 4 * parameters,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)
