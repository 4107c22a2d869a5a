# verdict: wrong, diagnosis: too_many_rows
def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    size = -(-batch_size // devices)
    rows = []
    for _ in range(devices):
        rows.append(size)
    return rows
