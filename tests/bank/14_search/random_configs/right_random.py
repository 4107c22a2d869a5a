# verdict: passed
import math
import random


def random_configs(space, n, seed, rank, world_size):
    mine = []
    for i in range(n):
        if i % world_size != rank:
            continue
        rng = random.Random(f"{seed}/{i}")
        one = {}
        for name, spec in space.items():
            if spec[0] == "log":
                one[name] = 10 ** rng.uniform(math.log10(spec[1]), math.log10(spec[2]))
                one[name] = min(max(one[name], spec[1]), spec[2])
            elif spec[0] == "uniform":
                one[name] = rng.uniform(spec[1], spec[2])
            elif spec[0] == "int":
                one[name] = rng.randint(spec[1], spec[2])
            else:
                one[name] = rng.choice(spec[1])
        mine.append(one)
    return mine
