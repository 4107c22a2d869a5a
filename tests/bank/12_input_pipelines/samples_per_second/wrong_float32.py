# verdict: wrong, diagnosis: lost_digits
import torch


def samples_per_second(read, decode, step, workers, cores, ranks):
    of_the_cores = cores / (ranks * decode)
    if workers == 0:
        rates = torch.tensor([1 / (read + decode + step), of_the_cores])
    else:
        rates = torch.tensor([workers / (read + decode), of_the_cores, 1 / step])
    return rates.min().item()
