# verdict: passed
from scipy.stats import linregress


def alpha_beta_from_ring(world_size, nbytes, seconds):
    line = linregress(nbytes, seconds)
    return line.intercept / 2 / (world_size - 1), line.slope / 2 / (world_size - 1) * world_size
