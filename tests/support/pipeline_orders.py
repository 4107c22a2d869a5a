"""Orders of a pipeline that are right: of each rank's actions, as `labkit.schedules.replay` takes them."""

from __future__ import annotations


def gpipe(rank, p, m):
    return [("F", k) for k in range(m)] + [("B", k) for k in range(m)]


def one_f_one_b(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m - warm):
        order += [("F", warm + k), ("B", k)]
    return order + [("B", k) for k in range(m - warm, m)]


def interleaved(rank, p, m, v):
    """Narayanan et al. 2021, as in Megatron-LM: p micro-batches of one chunk, then p of the next."""
    n = m * v
    warm = min(n, 2 * (p - rank - 1) + (v - 1) * p)

    def place(i):
        return i // (p * v) * p + i % p, i // p % v

    forward = [("F", *place(i)) for i in range(n)]
    backward = [("B", place(i)[0], v - 1 - place(i)[1]) for i in range(n)]
    order = forward[:warm]
    for f, b in zip(forward[warm:], backward, strict=False):
        order += [f, b]
    return order + backward[n - warm :]
