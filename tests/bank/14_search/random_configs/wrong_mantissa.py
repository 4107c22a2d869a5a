# verdict: wrong, diagnosis: not_evenly
import numpy as np


def drawn(space, rng):
    found = {}
    for name, (kind, *ends) in space.items():
        if kind == "log":
            found[name] = float(min(rng.uniform(1, 10) * 10.0 ** rng.integers(-6, 0), ends[1]))
        elif kind == "uniform":
            found[name] = float(rng.uniform(*ends))
        elif kind == "int":
            found[name] = int(rng.integers(ends[0], ends[1] + 1))
        else:
            found[name] = ends[0][rng.integers(len(ends[0]))]
    return found


def random_configs(space, n, seed, rank, world_size):
    return [drawn(space, np.random.default_rng([seed, i])) for i in range(rank, n, world_size)]
