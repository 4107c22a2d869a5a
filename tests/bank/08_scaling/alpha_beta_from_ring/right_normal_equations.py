# verdict: passed


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    w = 1 / t**2
    mx, my = (w * n).sum() / w.sum(), (w * t).sum() / w.sum()
    b = (w * (n - mx) * (t - my)).sum() / (w * (n - mx) ** 2).sum()
    return (my - b * mx) / (2 * (p - 1)), b * p / (2 * (p - 1))
