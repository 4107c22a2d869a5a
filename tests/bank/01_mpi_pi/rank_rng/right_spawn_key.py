# verdict: passed
from numpy.random import PCG64DXSM, Generator, SeedSequence


def rank_rng(seed: int, rank: int, world_size: int) -> Generator:
    return Generator(PCG64DXSM(SeedSequence(entropy=seed, spawn_key=(rank,))))
