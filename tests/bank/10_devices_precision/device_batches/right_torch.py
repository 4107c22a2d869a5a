# verdict: passed
# differs: It asks `chunk`, which is what `DataParallel` cuts with, and counts.
import torch


def device_batches(kind, batch_size, devices):
    if kind == "DataParallel":
        rows = [len(piece) for piece in torch.arange(batch_size).chunk(devices)]
        return rows + [0] * (devices - len(rows))
    return [batch_size for _ in range(devices)]
