# verdict: wrong, diagnosis: other_seeds_overlap
import math
import numpy as np
def random_configs(space, n, seed, rank, world_size):
    mine = []
    for i in range(rank, n, world_size):
        rng = np.random.default_rng((seed * 100 + i))
        config = {}
        for name, (kind, *args) in space.items():
            if kind == "log":
                config[name] = math.exp(rng.uniform(math.log(args[0]), math.log(args[1])))
            elif kind == "uniform":
                config[name] = rng.uniform(args[0], args[1])
            elif kind == "int":
                config[name] = int(rng.integers(args[0], args[1] + 1))
            else:
                config[name] = args[0][int(rng.integers(len(args[0])))]
        mine.append(config)
    return mine
