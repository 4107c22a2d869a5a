# verdict: wrong, diagnosis: one_too_many


def training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes):
    n, opt, prec, act, gb, ws, gpu = parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes
    s = 4 if prec == "float32" else 2
    parts = dict(
        weights=n * s,
        gradients=n * s,
        copy=4 * n if s == 2 else 0,
        optimizer={"sgd": 0, "momentum": 4, "adam": 8}[opt] * n,
        activations=act * s * gb // ws,
    )
    return parts, sum(parts.values()) // gpu + 1
