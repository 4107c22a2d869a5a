"""The verdict on a port's use of what its ranks send each other, by a run in which that was altered on its way.

The gradients that a rank applies, and the weights that it begins with, must be among the numbers that have come to it.
Where they are not, they are compared with what they would be if nothing had been altered. Who uses what arrives cannot
have that; who has it has computed all by itself, whatever was sent besides. What is neither waits for a person.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from autograder.homework.port.altered import ALIKE, FEW
from autograder.homework.port.runs import BATCH, ObservedRun

CLOSE = 0.02  # relative difference up to which two gradients are the same
SAME = 1e-5  # the same for weights
ENOUGH = 0.2  # of the bytes of weights or gradients: where less was altered nothing can be said
SEEN = 0.9  # of the numbers of a rank that must have come to it
NEAR, NEARLY = 1e-6, 1e-5  # of a number: so near lies one that came, and one to which the rank has added its own
PART = 1e-3  # of the gradient: a parameter with less of it says nothing
UNKNOWN = "not_altered"  # as a diagnosis: a person decides
Verdict = tuple[str, str]  # diagnosis and sentence; ("", "") where what arrives is used


def gradients_of(seen: ObservedRun, crossed: Callable[[], list[np.ndarray] | str]) -> Verdict:
    """The verdict on the gradients that the ranks apply in an altered run. crossed: `runs.crossed_gradients`, or why
    there are none."""
    p, count = len(seen.ranks), min(seen.counts)
    known = [seen.altered.arrived(r) for r in range(p)]
    applied = [[rank.steps[k].gradient for rank in seen.ranks] for k in range(count)]
    if all(one is not None and _came(known[r], one, p) for step in applied for r, one in enumerate(step)):
        return "", ""
    computed = crossed()
    if isinstance(computed, str):
        return UNKNOWN, f"What the ranks should have computed is not known: {computed}."
    ignored = [k for k, rows in enumerate(computed) if _as_if_unaltered(seen, k, rows)]
    enough = ENOUGH * 4 * sum(math.prod(shape) for shape in seen.ranks[0].shapes) * len(computed) * p
    if not ignored and all(_added(known, applied[k], rows) for k, rows in enumerate(computed)):
        return "", ""
    if seen.altered.bytes < enough or seen.altered.untouched >= enough:
        return UNKNOWN, f"On {p} ranks gradients travel in a form that nobody here can alter to see whether they count."
    said = f"On {p} ranks all that was sent was altered on its way, and"
    if not ignored:
        return UNKNOWN, f"{said} the gradients that are applied are neither what arrived nor the unaltered ones."
    said += f" in {len(ignored)} of {len(computed)} steps the gradients that are applied are the unaltered ones: each"
    return "gradients_not_used", f"{said} rank has computed them by itself, and what arrives is not used."


def _came(known: np.ndarray, applied: np.ndarray, p: int) -> bool:
    """True if a vector is among the numbers that have come to a rank, but for a divisor: of ranks, of images."""
    values = applied[applied != 0]
    return any(_share(_among(known, values * n, NEAR * np.abs(values * n))) for n in (1, p, BATCH, p * BATCH))


def _added(known: list[np.ndarray], applied: list[np.ndarray], rows: np.ndarray) -> bool:
    """True if each rank applies in a step what has come to it, divided or not, or half of the sum of that and of its
    own gradient, as two ranks do that exchange gradients. rows: as of `_as_if_unaltered`."""
    for r, one in enumerate(applied):
        whole, own = np.sort(np.concatenate([known[r], known[r] * 2])), rows[r, r]
        came = _among(whole, one * 2, NEAR * np.abs(one * 2))
        rounding = NEARLY * (np.abs(one * 2) + np.abs(own) + np.abs(own).mean())
        if not _share(came | _among(whole, one * 2 - own, rounding)):
            return False
    return True


def _share(found: np.ndarray) -> bool:
    return len(found) > 0 and float(np.mean(found)) >= SEEN


def _among(known: np.ndarray, values: np.ndarray, near: np.ndarray) -> np.ndarray:
    """For each value, True if it lies `near` a number that is known. known: sorted."""
    if not len(known):
        return np.zeros(len(values), bool)
    after = np.searchsorted(known, values).clip(0, len(known) - 1)
    away = np.minimum(np.abs(known[after] - values), np.abs(known[(after - 1).clip(0)] - values))
    return away <= near


def _as_if_unaltered(seen: ObservedRun, k: int, rows: np.ndarray) -> bool:
    """True if all ranks apply in step k, to some parameter, what they would if nothing had been altered. rows: [r, s]
    the gradient at rank r's weights on rank s's images."""
    applied = [rank.steps[k].gradient for rank in seen.ranks]
    if any(one is None for one in applied):
        return False
    of_ranks = np.mean([rows[r, r] for r in range(len(rows))], axis=0)  # each rank's own, averaged
    by_itself = rows.mean(axis=1)  # all images, at this rank's weights
    at = 0
    for shape in seen.ranks[0].shapes:
        part = slice(at, at + math.prod(shape))
        at = part.stop
        if 4 * math.prod(shape) <= FEW:
            continue
        ways = [(of_ranks, whole) for whole in by_itself]
        if all(any(_near(one, way, part) for way in some) for one, some in zip(applied, ways, strict=True)):
            return True
    return False


def _near(applied: np.ndarray, wanted: np.ndarray, part: slice) -> bool:
    size = float(np.linalg.norm(wanted[part]))
    if size < PART * float(np.linalg.norm(wanted)):
        return False
    return float(np.linalg.norm(applied[part] - wanted[part])) <= CLOSE * size


def weights_of(seen: ObservedRun) -> Verdict:
    """The verdict on the weights with which the ranks of an altered run begin, before the first step or right after
    it."""
    p, size = len(seen.ranks), sum(math.prod(shape) for shape in seen.ranks[0].shapes)
    starts = [[rank.steps[k].weights for rank in seen.ranks] for k in range(min(2, *seen.counts))]
    starts = [weights for weights in starts if all(one is not None for one in weights)]
    known = [seen.altered.arrived(r) for r in range(p)]
    for weights in starts:
        came = [_came(known[r], one, p) or _unpacked(seen, r, one) for r, one in enumerate(weights)]
        if sum(came) >= p - 1:  # on all ranks but the one that sends
            return "", ""
    enough = ENOUGH * 4 * size
    if seen.altered.bytes < enough or seen.altered.untouched >= enough or seen.setting.shared:
        return UNKNOWN, f"On {p} ranks weights travel in a form that nobody here can alter to see whether they count."
    said = f"On {p} ranks all that was sent was altered on its way, and"
    if not any(_equal(weights) for weights in starts):
        return UNKNOWN, f"{said} the ranks begin with other weights than those that arrived."
    said += " the ranks begin with the same weights all the same: they were made alike, and what arrives is not used."
    return "broadcast_not_used", said


def _equal(weights: list[np.ndarray]) -> bool:
    size = max(float(np.linalg.norm(weights[0])), 1e-12)
    return all(float(np.linalg.norm(one - weights[0])) <= SAME * size for one in weights)


def _unpacked(seen: ObservedRun, rank: int, weights: np.ndarray) -> bool:
    """True if a rank's weights have come to it as bytes, each parameter in one piece."""
    packed, cuts = seen.altered.packed(rank), np.cumsum([math.prod(shape) for shape in seen.ranks[rank].shapes])[:-1]
    return bool(packed) and all(part.astype(np.float32).tobytes() in packed for part in np.split(weights, cuts))


# -- real Horovod: nobody stands between the ranks, and the probe in them says what came


def given_back(seen: ObservedRun) -> Verdict | None:
    """The verdict on gradients that Horovod should have given back; None where it has, or where that is not known."""
    missing = [k for k in range(min(seen.counts)) if any(rank.steps[k].came < SEEN for rank in seen.ranks)]
    if not missing:
        return None
    said = f"On {len(seen.ranks)} ranks, in {len(missing)} of {min(seen.counts)} steps, the gradients that are applied"
    return UNKNOWN, f"{said} are not among the numbers that Horovod has given back."


def brought_alike(seen: ObservedRun) -> int:
    """The numbers that all ranks brought alike to sums in steps on different images."""
    found = 0
    for k in range(min(seen.counts)):
        sums = zip(*(rank.steps[k].brought for rank in seen.ranks), strict=False)
        if on_other_images(seen, k):
            found += sum(one[0][0] for one in sums if np.allclose(one, one[0], rtol=ALIKE, atol=0))
    return found


def on_other_images(seen: ObservedRun, k: int) -> bool:
    """True if not all ranks have the same images in step k."""
    return len({tuple(rank.steps[k].numbers) for rank in seen.ranks}) > 1
