"""Finds the run logs of one and the same run among the submissions of a class: two runs never take the same times.

A log can be given another student's code, and every time a little more; but the times of a copy rise and fall with
those of the run that was copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from autograder.homework.rubric import Flag, Report, shown

TRACED = 64  # steps by whose times a run is known again
FEW = 24  # steps below which two runs are held to be the same only if their times are equal to the last digit
LEAST = 12  # steps below which nothing is said
ALIKE = 0.98  # rank correlation of the times of two runs from which on one is a copy of the other
FACT = "traces"  # where a part's facts hold them


def trace(step_seconds: Iterable[float]) -> list[float]:
    """The times by which a run is known again, in seconds: those of its first steps, without the one that compiles;
    none for a run that is too short, or whose times are no numbers."""
    times = np.asarray(list(step_seconds), float)[1 : TRACED + 1]
    return times.tolist() if len(times) >= LEAST and bool(np.isfinite(times).all()) else []


def shared_runs(reports: Mapping[str, Report]) -> dict[str, list[Flag]]:
    """student -> flags, where run logs of two students are of the same run."""
    traces = [
        (student, role, times)
        for student, report in sorted(reports.items())
        for part in report.parts
        for role, times in part.facts.get(FACT, {}).items()
        if times
    ]
    others: dict[tuple[str, str], set[str]] = {}
    for one, other in _same([times for _, _, times in traces]):
        (student, role, _), (friend, their, _) = traces[one], traces[other]
        if student != friend:
            others.setdefault((student, role), set()).add(friend)
            others.setdefault((friend, their), set()).add(student)
    found: dict[str, list[Flag]] = {}
    for (student, role), friends in sorted(others.items()):
        who = ", ".join(map(shown, sorted(friends)[:5]))
        said = f"The times of steps in {role} are those of a run that {who} handed in, too."
        found.setdefault(student, []).append(Flag("another_students_times", said))
    return found


def _same(traces: list[list[float]]) -> Iterator[tuple[int, int]]:
    """Yields the pairs that are of the same run, compared over the steps that both have."""
    for n in sorted({len(times) for times in traces}):
        those = [k for k, times in enumerate(traces) if len(times) >= n]
        times = np.array([traces[k][:n] for k in those])
        of_rows = np.array([ranks(row) for row in times])
        alike = of_rows @ of_rows.T > ALIKE if n >= FEW else (times[:, None] == times[None]).all(axis=2)
        for i, j in zip(*np.nonzero(np.triu(alike, 1)), strict=True):
            if min(len(traces[those[i]]), len(traces[those[j]])) == n:
                yield those[i], those[j]


def ranks(times: np.ndarray) -> np.ndarray:
    """The times' ranks, of mean 0 and norm 1: the product of two is Spearman's rank correlation, 1 for a copy that was
    multiplied. A few slow steps that both have do not count for much. Equal times share a rank: those of a coarse clock
    are like nobody's."""
    _, place, count = np.unique(times, return_inverse=True, return_counts=True)
    centred = (np.cumsum(count) - (count + 1) / 2)[place]
    centred = centred - centred.mean()
    norm = np.linalg.norm(centred)
    return centred / norm if norm else centred
