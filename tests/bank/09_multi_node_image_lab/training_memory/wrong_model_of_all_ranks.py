# verdict: wrong, diagnosis: model_of_all_ranks
def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    size = 2 if precision == "mixed" else 4
    slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    parts = {
        "weights": size * parameters * world_size,
        "gradients": size * parameters * world_size,
        "copy": 4 * parameters * world_size * (precision == "mixed"),
        "optimizer": 4 * slots * parameters * world_size,
        "activations": size * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)
