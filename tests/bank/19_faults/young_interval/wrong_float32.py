# verdict: wrong, diagnosis: lost_digits
import torch


def young_interval(save, mtbf, machines):
    return torch.tensor(2 * save * mtbf / machines).sqrt().item()
