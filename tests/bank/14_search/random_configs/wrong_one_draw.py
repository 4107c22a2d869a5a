# verdict: wrong, diagnosis: parameters_move_together
import numpy as np


def random_configs(space, n, seed, rank, world_size):
    found = []
    for i in range(rank, n, world_size):
        u = float(np.random.default_rng([seed, i]).uniform())
        one = {}
        for name, (kind, *ends) in space.items():
            if kind == "log":
                one[name] = ends[0] * (ends[1] / ends[0]) ** u
            elif kind == "uniform":
                one[name] = ends[0] + u * (ends[1] - ends[0])
            elif kind == "int":
                one[name] = ends[0] + int(u * (ends[1] - ends[0] + 1))
            else:
                one[name] = ends[0][int(u * len(ends[0]))]
        found.append(one)
    return found
