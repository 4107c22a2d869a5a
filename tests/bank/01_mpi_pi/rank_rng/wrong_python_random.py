# verdict: wrong, diagnosis: not_a_generator
import random


def rank_rng(seed, rank, world_size):
    return random.Random(f"{seed}/{rank}")
