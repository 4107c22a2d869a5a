# verdict: wrong, diagnosis: equal_pieces
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    return [batch_size // devices + (k < batch_size % devices) for k in range(devices)]
