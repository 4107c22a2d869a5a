"""Finds in a set of run logs what cannot be, or is unlikely enough that a person should look. Each finding is a flag
with its reason, never a score.

A log is a text file that anybody can write as they like. What is found here is what somebody in a hurry does: edits a
number, copies a run and multiplies it, takes somebody else's. An honest run on a busy machine must raise no flag, so a
flag is raised only where every way to compute a number agrees, beyond its error and a margin on top.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from autograder.homework.rubric import Flag, shown
from autograder.homework.scaling.measured import Range, Speed, rises, speedup
from autograder.homework.shared_runs import ALIKE, ranks
from labkit.runlog import RunLog

MARGIN = 0.10  # runs differ from one another by more than the scatter within a run tells
FEW = 12  # steps below which nothing is said about how regular they are
LOOK = 500  # steps whose regularity is looked at
MANY = 20_000  # steps that are enough to tell
REGULAR = 1e-4  # relative scatter of step times below which no clock of a real machine gets


def flags(logs: Mapping[int, RunLog], speeds: Mapping[int, Speed], source_sha256: str, nonce: str) -> list[Flag]:
    """All flags. logs: size -> the log of a run on that many ranks. source_sha256: of the script that was handed in, ""
    for none."""
    found = [*_edited(logs), *_times(logs), *_regular(logs), *_copies(logs)]
    found += [*_too_fast(logs, speeds), *_nonces(logs, nonce), *_sources(logs, source_sha256), *_machines(logs)]
    return found


def hardware_of(run: RunLog) -> str:
    """The hardware of a run, by its own log, in a line."""
    gpus = run.hardware.get("gpus")
    named = [str(gpu) for gpu in gpus] if isinstance(gpus, list) and gpus else []
    cores = run.hardware.get("cores")
    on = shown(f"{len(named)} x {named[0]}" if named else run.hardware.get("processor", "an unknown processor"), 60)
    return f"{on}, {cores} cores" if isinstance(cores, int) and not isinstance(cores, bool) else on


def steps_of(run: RunLog) -> np.ndarray:
    """The seconds of each step, in order; none where one is no number."""
    steps = np.concatenate([epoch.step_seconds for epoch in run.epochs]) if run.epochs else np.empty(0)
    return steps if np.all(np.isfinite(steps)) else np.empty(0)


def _edited(logs: Mapping[int, RunLog]) -> Iterator[Flag]:
    for p, run in sorted(logs.items()):
        if run.altered:
            lines = ", ".join(map(str, run.altered[:8]))
            said = (
                f"The log of the run on {p} ranks was changed after it was written, or put together from several:"
                f" line {lines}."
            )
            yield Flag("altered_log", said)


def _times(logs: Mapping[int, RunLog]) -> Iterator[Flag]:
    """An epoch takes as long as its steps, and the run as long as its epochs."""
    for p, run in sorted(logs.items()):
        before = 0.0
        for epoch in run.epochs:
            total = float(epoch.step_seconds.sum()) if len(epoch.step_seconds) else math.nan
            if len(epoch.step_seconds) and not np.all(epoch.step_seconds > 0):
                yield Flag(
                    "impossible_times", f"Run on {p} ranks, epoch {epoch.number}: a step that took no time, or less."
                )
                break
            if abs(total - epoch.seconds) > 1e-3 * total + 1e-6 * len(epoch.step_seconds):
                said = (
                    f"Run on {p} ranks, epoch {epoch.number}: its steps add up to {total:.3f} s, but the epoch is"
                    " said to take"
                )
                yield Flag("times_do_not_add_up", f"{said} {epoch.seconds:.3f} s.")
                break
            if epoch.ended - before < 0.999 * epoch.seconds - 1e-3:
                said = (
                    f"Run on {p} ranks: epoch {epoch.number} takes {epoch.seconds:.3f} s, but ended"
                    f" {epoch.ended - before:.3f} s after"
                )
                yield Flag("times_do_not_add_up", f"{said} the one before it.")
                break
            before = epoch.ended
        else:
            if run.epochs and run.seconds < 0.999 * run.epochs[-1].ended - 1e-3:
                yield Flag("times_do_not_add_up", f"The run on {p} ranks is said to be over before its last epoch.")


def _regular(logs: Mapping[int, RunLog]) -> Iterator[Flag]:
    for p, run in sorted(logs.items()):
        steps = steps_of(run)[1:LOOK]  # of a long run, times repeat by chance: they are rounded to 0.1 us
        if len(steps) < FEW or steps.mean() <= 0:
            continue
        if np.unique(steps).size <= max(2, len(steps) // 20) or steps.std() < REGULAR * steps.mean():
            yield Flag(
                "too_regular",
                f"Run on {p} ranks: {np.unique(steps).size} different times among {len(steps)} steps, with a relative"
                " scatter of "
                f"{steps.std() / steps.mean():.1g}. Measured times scatter.",
            )


def _copies(logs: Mapping[int, RunLog]) -> Iterator[Flag]:
    """Yields a flag for two logs that are of the same run."""
    for (p, one), (q, other) in combinations(sorted(logs.items()), 2):
        for a, b in _side_by_side(one, other):
            if len(a) >= FEW and np.array_equal(a, b):
                said = (
                    f"The runs on {p} and on {q} ranks have the same times of steps, {len(a)} of them, to the last"
                    " digit."
                )
                yield Flag("identical_runs", said)
                break
            if len(a) >= 2 * FEW and (alike := float(ranks(a[:MANY]) @ ranks(b[:MANY]))) > ALIKE:
                said = (
                    f"The times of steps on {p} and on {q} ranks rise and fall together (rank correlation {alike:.3f})"
                )
                yield Flag("copied_times", f"{said}, as if one had been computed from the other.")
                break
        losses = [[(e.loss, e.val_loss) for e in run.epochs if math.isfinite(e.loss)] for run in (one, other)]
        n = min(map(len, losses))
        if n >= 2 and losses[0][:n] == losses[1][:n]:
            yield Flag(
                "identical_runs",
                f"The runs on {p} and on {q} ranks have the same losses in {n} epochs, to the last digit.",
            )


def _side_by_side(one: RunLog, other: RunLog) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The times of steps of two runs beside each other: from the start on, and epoch by epoch. The first step compiles
    and is left out."""
    a, b = steps_of(one), steps_of(other)
    if not len(a) or not len(b):
        return
    n = min(len(a), len(b))
    yield a[1:n], b[1:n]
    pairs = [(x.step_seconds, y.step_seconds) for x, y in zip(one.epochs, other.epochs, strict=False)]
    cut = [(x[: min(len(x), len(y))], y[: min(len(x), len(y))]) for x, y in pairs]
    yield np.concatenate([x for x, _ in cut])[1:], np.concatenate([y for _, y in cut])[1:]


def _too_fast(logs: Mapping[int, RunLog], speeds: Mapping[int, Speed]) -> Iterator[Flag]:
    """Yields a flag for more speedup than ranks, or than cores, and for efficiency that grows."""
    if 1 not in speeds:
        return
    gains = {p: speedup(speeds[1].steady, found.steady) for p, found in speeds.items()}
    for p, gain in gains.items():
        surely = gain.low * (1 - gain.half)
        cores = _cores(logs[p])
        if p > 1 and surely > p * (1 + MARGIN):
            serial = (1 / surely - 1 / p) / (1 - 1 / p)
            said = (
                f"On {p} ranks the speedup is {gain}: more than {p}, beyond its error. Karp and Flatt's serial fraction"
            )
            yield Flag(
                "negative_karp_flatt",
                f"{said} is below {serial:.2g}, and no program has less than nothing to do in series.",
            )
        elif cores and surely > cores * (1 + MARGIN) and p > cores:
            said = f"On {p} ranks the speedup is {gain}, but the log names {cores} cores and no GPU"
            yield Flag("faster_than_the_cores", f"{said}: that many cannot do more than {cores} times the work of one.")
    shares: list[tuple[int, Range]] = [(p, gain.times(1 / p)) for p, gain in sorted(gains.items()) if p > 1]
    if (found := rises(shares, MARGIN)) is not None:
        p, q = found
        of = dict(shares)
        said = f"The efficiency rises from {of[p]} on {p} ranks to {of[q]} on {q}, by more than its error"
        yield Flag(
            "rising_efficiency",
            f"{said}: the run on {p} ranks may have been disturbed, or one of the two is not what it says.",
        )


def _cores(run: RunLog) -> int:
    """The cores of all hosts of a run without GPUs, whatever each rank was bound to; 0 where the log does not say."""
    cores, gpus = run.hardware.get("machine_cores"), run.hardware.get("gpus")
    if gpus or not isinstance(cores, int) or isinstance(cores, bool) or cores < 1 or len(run.hosts) != run.world_size:
        return 0
    if str(run.arguments.get("device", "cpu")) != "cpu":
        return 0
    return cores * len(set(run.hosts))


def _nonces(logs: Mapping[int, RunLog], nonce: str) -> Iterator[Flag]:
    given = {p: run.nonce for p, run in sorted(logs.items()) if run.format == "jsonl"}
    if nonce:
        other = [str(p) for p, found in given.items() if found and found != nonce]
        none = [str(p) for p, found in given.items() if not found]
        if other:
            said = f"The runs on {', '.join(other)} ranks bear a code that was not given to this student"
            yield Flag("another_nonce", f"{said} (`{shown(next(f for f in given.values() if f and f != nonce), 40)}`).")
        if none:
            yield Flag(
                "no_nonce", f"The runs on {', '.join(none)} ranks do not bear the code that was given to this student."
            )
    elif len({found for found in given.values() if found}) > 1:
        yield Flag("mixed_nonces", "The runs bear the codes of different students.")


def _sources(logs: Mapping[int, RunLog], source_sha256: str) -> Iterator[Flag]:
    written = {p: run.source_sha256 for p, run in sorted(logs.items()) if run.source_sha256}
    other = [str(p) for p, digest in written.items() if source_sha256 and digest != source_sha256]
    if other:
        said = f"The runs on {', '.join(other)} ranks were made by another version of the script than the one handed in"
        yield Flag("another_script", f"{said}: their SHA-256 differs.")


def _machines(logs: Mapping[int, RunLog]) -> Iterator[Flag]:
    kinds: dict[tuple, list[int]] = {}
    for p, run in sorted(logs.items()):
        if run.hardware:
            gpus = run.hardware.get("gpus")
            kind = gpus[0] if isinstance(gpus, list) and gpus else "no GPU"
            kinds.setdefault((str(run.hardware.get("processor")), str(kind)), []).append(p)
    if len(kinds) > 1:
        where = "; ".join(f"{', '.join(map(str, sizes))}: {hardware_of(logs[sizes[0]])}" for sizes in kinds.values())
        yield Flag(
            "different_hardware", f"The runs were made on different machines ({where}), so their ratio is no speedup."
        )
