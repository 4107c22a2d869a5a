"""Shares, lost time and trainings with deaths in numpy, for unit 19's exercises, each also with one thing
done otherwise."""

from __future__ import annotations

import numpy as np


def shares(n: int, p: int) -> list[int]:
    """The number of things of n that each of p ranks has: the first n % p have one more."""
    return [n // p + (r < n % p) for r in range(p)]


def bounds(n: int, p: int) -> np.ndarray:
    """The places where these shares begin, and where the last ends."""
    return np.concatenate([[0], np.cumsum(shares(n, p), dtype=int)])


def owners(n: int, p: int) -> np.ndarray:
    """The rank that has each of n things."""
    return np.repeat(np.arange(p), shares(n, p))


def rest_of_the_epoch(order: list[int], begin: int, batch: int) -> list[list[int]]:
    """The global minibatches that are left."""
    return [order[k : k + batch] for k in range(begin, len(order), batch)]


def lost_to(posted: np.ndarray, ended: np.ndarray) -> tuple[list[float], float]:
    """Seconds lost to each rank, and to the network: see the exercise."""
    by_rank, network = np.zeros(posted.shape[1]), 0.0
    for came, left in zip(posted, ended, strict=True):
        last = int(np.argmax(came))
        by_rank[last] += came[last] - np.sort(came)[-2]
        network += left.max() - came[last]
    return by_rank.tolist(), float(network)


def lost_otherwise(posted: np.ndarray, ended: np.ndarray, slip: str, last=lambda came: int(np.argmax(came))) -> list:
    """The same with one thing done otherwise. last: which of those that came last is blamed."""
    by_rank, network = lost_to(posted, ended)
    steps = range(len(posted))
    if slip == "network":
        return [by_rank, float((ended.max(axis=1) - posted.min(axis=1)).sum())]
    if slip == "ends":
        return [by_rank, float((ended.mean(axis=1) - posted.max(axis=1)).sum())]
    if slip == "own end":
        return [by_rank, float(sum(ended[s, last(posted[s])] - posted[s].max() for s in steps))]
    if slip == "once":
        once = {int(np.argmax(came)): float(came.max() - np.sort(came)[-2]) for came in posted}
        return [[once.get(r, 0.0) for r in range(posted.shape[1])], network]
    if slip == "per step":
        return [[one / len(posted) for one in by_rank], network / len(posted)]
    blamed = np.zeros(posted.shape[1])
    for came in posted:
        if slip == "waits":
            blamed[int(np.argmin(came))] += np.sort(came)[1] - came.min()
        else:
            blamed[last(came)] += came.max() - (came.min() if slip == "first" else came.mean())
    return [blamed.tolist(), network]


def last_of_equals(came: np.ndarray) -> int:
    """The last rank of those that came last."""
    return int(np.flatnonzero(came == came.max())[-1])


def stragglers(times: np.ndarray, k: float, slip: str = "") -> list[int]:
    """Ranks whose median is far above the median of all. slip: how else somebody might do it."""
    middle = times.mean(axis=1) if slip == "mean of the steps" else np.median(times, axis=1)
    centre, spread = np.median(middle), 1.4826 * np.median(np.abs(middle - np.median(middle)))
    if slip in ("lower median", "upper median"):
        less = slip == "lower median"
        middle = np.sort(times, axis=1)[:, (times.shape[1] - less) // 2]
        centre = np.sort(middle)[(len(middle) - less) // 2]
        spread = 1.4826 * np.sort(np.abs(middle - centre))[(len(middle) - less) // 2]
    if slip == "mean and deviation":
        centre, spread = middle.mean(), middle.std()
    if slip == "mad without factor":
        spread /= 1.4826
    if slip == "centre of the steps":
        centre = np.median(times)
        spread = 1.4826 * np.median(np.abs(middle - centre))
    if slip == "spread of the steps":
        spread = 1.4826 * np.median(np.abs(times - np.median(times)))
    above = np.abs(middle - centre) if slip == "fast ones, too" else middle - centre
    least = {"any excess": 0.0, "seconds": 0.02}.get(slip, 0.02 * centre)
    slow = np.flatnonzero((above > k * spread) & (above > least)).tolist()
    if slip == "limit counts":
        slow = np.flatnonzero((above >= k * spread) & (above >= least) & (above > 0)).tolist()
    if slip.startswith("slowest"):
        slow.sort(key=lambda r: -middle[r])
    return slow[:1] if slip == "slowest only" else slow


def wall_time(work: int, interval: int, save: int, restart: int, failures: list[int], slip: str = "") -> int:
    """Seconds until `work` seconds are computed, as the exercise says it. slip: one thing done otherwise."""
    now = kept = 0
    failures = sorted(failures)
    while True:
        piece = min(interval, work - kept)
        last = kept + piece == work
        end = now + piece + (0 if last and slip != "saves at the end" else save)
        late = slip == "same second"
        struck = next((t for t in failures if now <= t < end + late), None)
        if struck is None:
            now, kept = end, kept + piece
            if last:
                return now
            continue
        if slip == "counts half a save" and struck >= now + piece:
            kept += piece
        if slip == "keeps what was computed":
            kept += min(piece, struck - now)
        if slip == "from the beginning":
            kept = 0
        now = struck if slip == "restarts at once" else struck + restart
        while slip not in ("restarts at once", "restart is safe"):
            again = next((t for t in failures if struck < t < now + late), None)
            if again is None:
                break
            struck, now = again, (now if slip == "restart ends first" else again) + restart
        failures = [t for t in failures if t > struck and (slip != "restart is safe" or t >= now)]
        failures = [t for t in failures if slip != "skips a failure" or t != now]


def train(
    c,
    skipped: tuple[int, ...] = (),
    without: dict[int, list[int]] | None = None,
    dealt: list[list[int]] | None = None,
) -> np.ndarray:
    """The weights after all steps, with the operations of the harness in their order, so that every bit is the same.

    c: `w`, `slopes` (shards, n), `targets` (steps, shards, n), `lr`. skipped: steps that are not taken. without: from
    which step on which shards do not count. dealt: for each step how often each shard counts.
    """
    w = c.w
    for step, targets in enumerate(c.targets):
        if step in skipped:
            continue
        left_out = [s for first, some in (without or {}).items() if step >= first for s in some]
        total = np.zeros_like(w)
        for s, slope in enumerate(c.slopes):
            if s not in left_out:
                total = total + slope * (w - targets[s]) * (dealt[step][s] if dealt else 1)
        w = w - c.lr * total
    return w


def dealt_by_number(shards: int, steps: int, p: int, kills: dict[int, int]) -> list[list[int]]:
    """For each step how often each shard is computed, if rank r takes every k-th from shard r on, k the ranks alive.

    kills: which rank dies in which operation. There is one in a step, and one more for each step that is taken again.
    """
    alive, dealt, operation = list(range(p)), [], 0
    while len(dealt) < steps:
        died = [r for r in alive if kills.get(r) == operation]
        alive = [r for r in alive if r not in died]
        if not died:
            dealt.append([sum(s >= r and (s - r) % len(alive) == 0 for r in alive) for s in range(shards)])
        operation += 1
    return dealt


def flipped(x: float, bit: int) -> float:
    """A float64 with one bit of it the other way."""
    return float((np.array([x]).view(np.uint64) ^ np.uint64(1 << bit)).view(np.float64)[0])
