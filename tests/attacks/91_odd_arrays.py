# exercise: sum_over_ranks
# must not: end the judge with arrays of odd types and shapes
# verdict: anything but passed
import numpy as np
import torch

ODD = [
    lambda x: torch.ones(x.shape, dtype=torch.bool),
    lambda x: torch.ones(x.shape, dtype=torch.complex64),
    lambda x: torch.empty(0, *x.shape),
    lambda x: torch.ones(x.shape).to_sparse(),
    lambda x: np.array([object()] * 20),
    lambda x: np.array(["a"] * 20),
    lambda x: np.zeros((2,) * 20, dtype=bool),
    lambda x: np.zeros((0, 2**40), dtype=np.int8),
]


def sum_over_ranks(x):
    return ODD[x.numel() % len(ODD)](x)
