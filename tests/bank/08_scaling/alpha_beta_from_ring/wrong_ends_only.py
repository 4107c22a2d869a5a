# verdict: wrong, diagnosis: smallest_vector
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    return seconds.min() / (2 * (p - 1)), seconds.max() / nbytes.max() * p / (2 * (p - 1))
