"""Inputs for unit 19."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.exercises.readings.faults import owners
from autograder.inputs.common import COUNTS, RANKS, SEEDS, SMALL, late_ranks
from autograder.inputs.generator import EdgeGenerator
from autograder.inputs.strategies import SHARES, plain_cases

RANDOM = st.builds(EdgeGenerator, SEEDS, st.sampled_from(SHARES))


def write_whole(exercise):
    *_, plug = exercise.levels
    content = st.lists(st.sampled_from([0, 9, 10, 13, 65, 255]), max_size=9)
    known = st.fixed_dictionaries({"old": content, "new": content, "killed": st.booleans()})
    return known.filter(lambda drawn: drawn["old"] != drawn["new"]).map(lambda drawn: exercise._case(plug, drawn))


def resume_order(exercise):
    def at(n, step):
        return plain_cases(
            exercise,
            order=st.permutations(range(100, 100 + n)),
            step=st.just(step),
            per_rank=st.integers(1, 4),
            old=RANKS,
            world_size=RANKS,
        )

    return st.tuples(st.integers(0, 30), st.integers(0, 3)).flatmap(lambda drawn: at(*drawn)).filter(_is_left)


def _is_left(case):
    known = case.known
    return known["step"] * known["per_rank"] * known["old"] <= len(known["order"])


def reshard(exercise):
    """Something travels."""
    arrive, stays = exercise.levels

    def on(old, new, dtype):
        level = st.just(stays if "float" in dtype else arrive)
        late = late_ranks(max(old, new))
        return st.builds(
            exercise._case, RANDOM, level, COUNTS, st.just(old), st.just(new), st.just(dtype), late
        )  # fmt: skip

    ranks, dtypes = st.integers(1, 5), st.sampled_from(["float64", "int64", "int32", "float32"])
    return st.tuples(ranks, ranks, dtypes).flatmap(lambda drawn: on(*drawn)).filter(_travels)


def _travels(case):
    n, old, new = (case.known[name] for name in ("n", "old", "new"))
    return bool((owners(n, old) != owners(n, new)).any())


def train_until_told(exercise):
    """Told before any of the steps, the last one too, behind it, or never."""
    *_, few = exercise.levels

    def on(p, steps):
        when = st.lists(st.just(-1) | st.integers(0, steps + 1), min_size=p, max_size=p)
        return st.builds(exercise._case, st.just(few), when, st.just(steps), late_ranks(p), st.booleans())

    return st.tuples(st.integers(1, 5), st.integers(0, 6)).flatmap(lambda drawn: on(*drawn))


def stragglers(exercise):
    near = st.sampled_from([0.1, 0.1, 0.1, 0.101, 0.102, 0.103, 0.12, 0.5])

    def times(shape):
        ranks, steps = shape
        row = st.lists(near, min_size=steps, max_size=steps)
        return st.lists(row, min_size=ranks, max_size=ranks).map(np.array)

    table = st.tuples(st.integers(1, 8), st.integers(1, 5)).flatmap(times)
    return plain_cases(exercise, times=table, k=st.sampled_from([3.0, 6.0]))


def lost_to(exercise):
    """Many ranks come, and many have their results, at the same moment."""
    moments = st.sampled_from([0.0, 0.5, 0.5, 1.0, 1.25]) | st.floats(0, 2)
    took = st.sampled_from([0.0, 0.125, 0.25]) | st.floats(0, 1)

    def table(values, steps, ranks):
        row = st.lists(values, min_size=ranks, max_size=ranks)
        rows = st.lists(row, min_size=steps, max_size=steps)
        return rows.map(lambda drawn: np.array(drawn, dtype=float).reshape(steps, ranks))

    def at(steps, ranks):
        both = st.tuples(table(moments, steps, ranks), table(took, steps, ranks))
        return both.flatmap(
            lambda drawn: plain_cases(
                exercise,
                posted=st.just(drawn[0] + 2 * np.arange(steps)[:, None]),
                ended=st.just((drawn[0] + 2 * np.arange(steps)[:, None]).max(axis=1, keepdims=True) + drawn[1]),
            )
        )

    return st.tuples(st.integers(1, 5), st.integers(2, 5)).flatmap(lambda drawn: at(*drawn))


def checked_all_reduce(exercise):
    """Bits whose change is no rounding: more than 1e-10 of all magnitudes."""
    *_, few = exercise.levels

    def on(p):
        fault, bit, small = st.sampled_from(["", "before", "after"]), st.integers(32, 63), st.booleans()
        return st.builds(
            exercise._case, RANDOM, st.just(few), st.just(p), SMALL, fault, bit, late_ranks(p), small
        )  # fmt: skip

    return st.integers(1, 5).flatmap(on)


def wall_time(exercise):
    failures = st.lists(st.integers(0, 120), max_size=5, unique=True).map(sorted)
    return plain_cases(
        exercise,
        work=st.integers(0, 60),
        interval=st.integers(1, 40),
        save=st.integers(0, 6),
        restart=st.integers(0, 9),
        failures=failures,
    )


def young_interval(exercise):
    return plain_cases(exercise, save=st.floats(1, 300), mtbf=st.floats(1e4, 1e9), machines=SMALL | st.just(16384))


def train_through(exercise):
    """One rank survives at least."""
    *_, more = exercise.levels

    def on(p, steps):
        kills = st.dictionaries(st.integers(0, p - 1), st.integers(0, steps - 1), max_size=p - 1)
        some = st.builds(dict.fromkeys, st.just([*range(p - 1)]), st.integers(0, steps - 1))  # all but one, at once
        return st.builds(
            exercise._case, RANDOM, st.just(more), st.just(p), SMALL, st.just(steps), kills | some, late_ranks(p)
        )

    return st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(lambda drawn: on(*drawn))


def save_in_background(exercise):
    """States without a number, with numbers that are none, and steps that a float has not; writes that fail."""
    numbers = st.lists(st.sampled_from([0.0, -0.0, 0.1, -1.5, 1e-300, 1e300, float("inf")]), max_size=4)
    steps, fails = st.sampled_from([0, 1, 98, 2**53 + 1]), st.sampled_from(["", "OSError", "another"])
    return plain_cases(exercise, values=numbers, momentum=numbers, step=steps, fails=fails)


INPUTS = {
    "write_whole": write_whole,
    "resume_order": resume_order,
    "reshard": reshard,
    "train_until_told": train_until_told,
    "stragglers": stragglers,
    "lost_to": lost_to,
    "checked_all_reduce": checked_all_reduce,
    "wall_time": wall_time,
    "young_interval": young_interval,
    "train_through": train_through,
    "save_in_background": save_in_background,
}
