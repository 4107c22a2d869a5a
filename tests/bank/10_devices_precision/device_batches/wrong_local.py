# verdict: wrong, diagnosis: always_local
def device_batches(kind, batch_size, devices):
    return [batch_size] * devices
