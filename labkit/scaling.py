"""Measures of scaling and their uncertainty: throughput, speedup, efficiency,
and the laws of scaling.

Every measured quantity is an `Estimate`: a value with its standard error. Times are in seconds,
sizes in bytes, p is the number of ranks. Only numpy is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# Student's t, the 97.5 % point for 1 to 30 degrees of freedom. Source: any table; NIST/SEMATECH
# e-Handbook, 1.3.6.7.2.
_T_TABLE = (
    (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
    + (2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
    + (2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
)


@dataclass(frozen=True)
class Estimate:
    """A measured value. error: its standard error (not the standard deviation of single
    measurements), in the unit of the value.

    dof: degrees of freedom behind the error; few of them make the interval wider. `low` to `high`
    is the 95 % interval.
    """

    value: float
    error: float = 0.0
    dof: float = math.inf

    @property
    def low(self) -> float:
        return self.value - student_t(self.dof) * self.error

    @property
    def high(self) -> float:
        return self.value + student_t(self.dof) * self.error

    def times(self, factor: float) -> Estimate:
        """The estimate multiplied by a number that is known exactly."""
        return Estimate(self.value * factor, abs(self.error * factor), self.dof)

    def __str__(self) -> str:
        half = self.high - self.value
        if half == 0:
            return f"{self.value:.4g}"
        # two digits of the uncertainty are enough
        decimals = min(max(0, 1 - math.floor(math.log10(half))), 12)
        return f"{self.value:.{decimals}f} ± {half:.{decimals}f}"


def student_t(dof: float) -> float:
    """The number of standard errors that a 95 % interval reaches to either side: 12.7 for one
    degree of freedom, 1.96 for very many.

    Rounded down to whole degrees up to 30; beyond, the expansion of Abramowitz and Stegun (1964),
    26.7.5.
    """
    if not dof >= 1:
        raise ValueError(
            f"an interval needs at least one degree of freedom, that is two measurements; got {dof}"
        )
    if dof < 31:
        return _T_TABLE[int(dof) - 1]
    z = 1.959964
    return z + (z**3 + z) / (4 * dof) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * dof**2)


def estimate(samples) -> Estimate:
    """The mean of repeated measurements and its standard error, s / sqrt(n), with s the standard
    deviation (n - 1 in it).

    samples: shape (n,), n at least 2, positive numbers: seconds, for example. Raises ValueError for
    anything else.
    """
    x = np.asarray(samples, dtype=float).ravel()
    if x.size < 2:
        raise ValueError(f"{x.size} measurement(s) say nothing about their scatter: repeat them")
    if not np.all(np.isfinite(x)) or np.any(x <= 0):
        raise ValueError("measured times and rates are finite and larger than 0")
    return Estimate(float(x.mean()), float(x.std(ddof=1) / math.sqrt(x.size)), x.size - 1)


def ratio(numerator: Estimate, denominator: Estimate) -> Estimate:
    """One measured value divided by another, measured independently: the relative errors add up in
    squares.

    Degrees of freedom: Welch and Satterthwaite. Source: JCGM 100 (GUM, 2008), 5.1.6 and G.4.1.
    """
    if not (numerator.value > 0 and denominator.value > 0):
        raise ValueError("a ratio of measurements needs values larger than 0")
    a, b = numerator.error / numerator.value, denominator.error / denominator.value
    value, relative = numerator.value / denominator.value, math.hypot(a, b)
    if relative == 0:
        return Estimate(value)
    spent = (a / relative) ** 4 / numerator.dof + (b / relative) ** 4 / denominator.dof
    return Estimate(value, value * relative, 1 / spent if spent else math.inf)


def throughput(images: float, seconds, warmup: int = 0) -> Estimate:
    """Images per second of a run: all images divided by all seconds, not the mean of the steps'
    rates.

    images: of one step, on all ranks together (the global batch). seconds: shape (steps,), the time
    of each step. warmup: how many steps at the beginning are left out. The error is that of the
    mean step time, carried over to the rate.
    """
    seconds = np.asarray(seconds, dtype=float)
    if not images > 0:
        raise ValueError(f"a step has a positive number of images, not {images}")
    if not 0 <= warmup < seconds.size:
        raise ValueError(f"{warmup} warm-up steps of {seconds.size} leave nothing to measure")
    return ratio(Estimate(float(images)), estimate(seconds[warmup:]))


def speedup(baseline_seconds, parallel_seconds) -> Estimate:
    """The speedup: mean time of the baseline over mean time of the parallel run, for the
    same work (strong scaling).

    Both: repeated measurements, or an `Estimate`. The baseline's error counts as much as the other
    one.
    """
    return ratio(_as_estimate(baseline_seconds), _as_estimate(parallel_seconds))


def scaled_speedup(baseline_rate: Estimate, parallel_rate: Estimate) -> Estimate:
    """The ratio of work per second: throughput on p ranks over throughput of the baseline.

    The right ratio for weak scaling, where the work grows with p; for strong scaling it equals
    `speedup`.
    """
    return ratio(parallel_rate, baseline_rate)


def efficiency(speedup: Estimate | float, p: int, baseline_p: int = 1) -> Estimate:
    """The speedup per rank: S / (p / baseline_p). 1 means that nothing was lost."""
    _check_ranks(p, 1)
    _check_ranks(baseline_p, 1)
    return _as_value(speedup).times(baseline_p / p)


def amdahl(f, p):
    """Speedup of the same work on p ranks if a fraction f of the one-rank time cannot run in
    parallel: 1 / (f + (1 - f) / p).

    f in [0, 1] and p >= 1, numbers or arrays. Source: G. Amdahl, AFIPS Spring Joint Computer
    Conference, 1967.
    """
    f, p = _check_fraction(f), np.asarray(p, dtype=float)
    return _plain(1 / (f + (1 - f) / p))


def gustafson(f, p):
    """Scaled speedup if the work grows with p and a fraction f of the *p-rank* time is serial: p -
    f (p - 1).

    Source: J. Gustafson, Reevaluating Amdahl's Law, Communications of the ACM 31 (1988).
    """
    f, p = _check_fraction(f), np.asarray(p, dtype=float)
    return _plain(p - f * (p - 1))


def karp_flatt(speedup: Estimate | float, p: int) -> Estimate:
    """The serial fraction that a measured speedup amounts to: (1/S - 1/p) / (1 - 1/p), with the
    speedup's error carried over.

    Not defined on one rank: ValueError. Negative where the speedup is larger than p. If it stays
    the same for all p, Amdahl's law describes the runs (the bytes of a ring look like a serial
    part, too); if it grows, the overhead grows with p; if it falls, something else is going on
    (often a bad baseline). For strong scaling: in weak scaling it falls even at a constant
    efficiency. Source: A. Karp, H. Flatt, Measuring Parallel Processor Performance,
    Communications of the ACM 33 (1990).
    """
    _check_ranks(p, 2)
    s = _as_value(speedup)
    if not s.value > 0:
        raise ValueError(f"a speedup is larger than 0, not {s.value}")
    serial = (1 / s.value - 1 / p) / (1 - 1 / p)
    return Estimate(serial, s.error / s.value**2 / (1 - 1 / p), s.dof)


def fit_amdahl(p, speedups) -> float:
    """The one serial fraction f that fits all speedups best, by least squares in 1/S = 1/p + f (1 -
    1/p).

    p, speedups: shape (m,), at least one p larger than 1. It always returns a number: look at
    `karp_flatt` to see whether one f will do.
    """
    p, s = np.asarray(p, dtype=float), np.asarray(speedups, dtype=float)
    if p.shape != s.shape or not np.any(p > 1) or np.any(p < 1) or np.any(s <= 0):
        raise ValueError("one speedup larger than 0 for each p, and at least one p larger than 1")
    x, y = 1 - 1 / p, 1 / s - 1 / p
    return float(np.sum(x * y) / np.sum(x * x))


def ring_all_reduce_time(p: int, nbytes: float, alpha: float, beta: float) -> float:
    """Seconds of a ring all-reduce of nbytes on p ranks: 2 (p - 1) steps of one chunk of nbytes /
    p; 0 on one rank.

    alpha: seconds per message, beta: seconds per byte. Adding up costs nothing.
    Source: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication
    Operations in MPICH (2005), section 4; P. Patarasuk, X. Yuan (2009).
    """
    _check_network(p, nbytes, alpha, beta)
    return 2 * (p - 1) * (alpha + nbytes / p * beta)


def tree_all_reduce_time(p: int, nbytes: float, alpha: float, beta: float) -> float:
    """Seconds of an all-reduce up and down a tree of pairs: 2 ceil(log2 p) steps of the whole
    vector; 0 on one rank.

    Parameters and source as for `ring_all_reduce_time`.
    """
    _check_network(p, nbytes, alpha, beta)
    # (p - 1).bit_length() is log2 p, rounded up
    return 2 * (p - 1).bit_length() * (alpha + nbytes * beta)


def crossover_bytes(p: int, alpha: float, beta: float) -> float:
    """The size in bytes from which on the ring is faster than the tree; 0 where it is faster at
    every size, as on 2 ranks.

    From ring = tree: n = alpha / beta * (p - 1 - L) / (L - (p - 1) / p), with L = ceil(log2 p).
    """
    _check_network(p, 0, alpha, beta)
    _check_ranks(p, 2)
    steps = (p - 1).bit_length()
    return alpha / beta * (p - 1 - steps) / (steps - (p - 1) / p)


def fit_alpha_beta(nbytes, seconds) -> tuple[float, float]:
    """Fit seconds = alpha + beta * nbytes by least squares of the *relative* errors, so that small
    messages count, too.

    nbytes, seconds: shape (m,), at least two different sizes. Returns (alpha in seconds, beta in
    seconds per byte). Raises ValueError if the fit gives a negative alpha or beta: the measurements
    are not on a line.
    """
    n, t = np.asarray(nbytes, dtype=float), np.asarray(seconds, dtype=float)
    if n.shape != t.shape or n.ndim != 1 or np.unique(n).size < 2:
        raise ValueError("one time for each size, and at least two different sizes")
    if np.any(t <= 0) or not np.all(np.isfinite(t)):
        raise ValueError("measured times are finite and larger than 0")
    beta, alpha = np.polyfit(n, t, 1, w=1 / t)
    if alpha < 0 or beta < 0:
        raise ValueError(
            f"alpha = {alpha:.3g} s, beta = {beta:.3g} s per byte: these times do not lie on a line"
        )
    return float(alpha), float(beta)


def fit_ring(p: int, nbytes, seconds) -> tuple[float, float]:
    """alpha and beta of one message, from measured all-reduces on p ranks that are taken to be
    rings.

    A ring costs 2 (p - 1) alpha + 2 (p - 1) / p * beta * nbytes: a line, too. Returns (alpha, beta)
    as `fit_alpha_beta` does.
    """
    _check_ranks(p, 2)
    constant, slope = fit_alpha_beta(nbytes, seconds)
    return constant / (2 * (p - 1)), slope * p / (2 * (p - 1))


def step_time(compute: float, communication: float, hidden: float = 0.0) -> float:
    """Seconds of one data-parallel step, if communication can hide behind a fraction `hidden` of
    the computation.

    Backward is about two thirds of a step's computation, and DDP and Horovod send gradients while
    it runs: hidden <= 2/3. Source: S. Li et al., PyTorch Distributed (VLDB 2020), section 3.2.3,
    for the overlap; the formula is its simplest model.
    """
    if compute < 0 or communication < 0 or not 0 <= hidden <= 1:
        raise ValueError("times are not negative, and the hidden fraction lies between 0 and 1")
    return compute + max(0.0, communication - hidden * compute)


def _as_estimate(measured) -> Estimate:
    return measured if isinstance(measured, Estimate) else estimate(measured)


def _as_value(number: Estimate | float) -> Estimate:
    return number if isinstance(number, Estimate) else Estimate(float(number))


def _plain(value):
    """A float for a number, an array for an array."""
    return float(value) if np.ndim(value) == 0 else value


def _check_ranks(p: int, least: int) -> None:
    if p != int(p) or p < least:
        raise ValueError(f"the number of ranks is a whole number from {least} on, not {p}")


def _check_fraction(f):
    f = np.asarray(f, dtype=float)
    if np.any(f < 0) or np.any(f > 1) or np.any(np.isnan(f)):
        raise ValueError(f"a serial fraction lies between 0 and 1, not {f}")
    return f


def _check_network(p: int, nbytes: float, alpha: float, beta: float) -> None:
    _check_ranks(p, 1)
    if nbytes < 0 or alpha < 0 or beta < 0:
        raise ValueError("bytes, alpha and beta are not negative")
