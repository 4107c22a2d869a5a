# verdict: passed
import numpy as np


def fair_share(n, rank, world_size):
    sizes = [len(part) for part in np.array_split(np.arange(n), world_size)]
    stops = np.cumsum(sizes)
    return stops[rank] - sizes[rank], stops[rank]
