# verdict: wrong, diagnosis: no_entry_for_the_idle
import torch


def device_batches(kind, batch_size, devices):
    if kind == "DDP":
        return [batch_size] * devices
    return [len(piece) for piece in torch.arange(batch_size).chunk(devices)]
