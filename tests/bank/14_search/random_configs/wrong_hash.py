# verdict: wrong, diagnosis: hash_of_a_text
import numpy as np


def drawn(space, rng):
    found = {}
    for name, (kind, *ends) in space.items():
        if kind == "log":
            found[name] = float(np.exp(rng.uniform(*np.log(ends))))
        elif kind == "uniform":
            found[name] = float(rng.uniform(*ends))
        elif kind == "int":
            found[name] = int(rng.integers(ends[0], ends[1] + 1))
        else:
            found[name] = ends[0][rng.integers(len(ends[0]))]
    return found


def random_configs(space, n, seed, rank, world_size):
    return [drawn(space, np.random.default_rng(abs(hash(f'{seed}/{i}')))) for i in range(rank, n, world_size)]
