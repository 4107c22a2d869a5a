"""Inputs for unit 18."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.inputs.common import SEEDS, late_ranks
from autograder.inputs.generator import EdgeGenerator
from autograder.inputs.strategies import SHARES, plain_cases
from labkit.interconnect.topology import Link

NUMBERS = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 12, 24])
RANDOM = st.builds(EdgeGenerator, SEEDS, st.sampled_from(SHARES))
DISTINCT = st.builds(EdgeGenerator, SEEDS, st.just(0.0))  # no two numbers are equal
BYTES_ONLY = st.sampled_from([{"inside": Link(0, 1e-8), "between": Link(0, b)} for b in (1e-8, 4e-8, 1e-6)])


def ring_order(exercise):
    return plain_cases(exercise, node_of=st.lists(st.integers(0, 5) | st.just(2**40), min_size=1, max_size=12))


def place_ranks(exercise):
    def on(hosts):
        slots = st.lists(st.integers(0, 4), min_size=hosts, max_size=hosts)
        names = st.just([f"node{k}" for k in range(hosts)])
        return plain_cases(
            exercise, hosts=names, slots=slots, p=st.integers(0, 12), by=st.sampled_from(["slot", "node", "socket"])
        )

    return st.integers(1, 4).flatmap(on)


def all_reduce_seconds(exercise):
    link = st.tuples(st.sampled_from([0.0, 1e-6, 5e-6]), st.sampled_from([1e-11, 1e-9]))
    return plain_cases(
        exercise,
        algorithm=st.sampled_from(
            ["ring", "hierarchical", "doubling", "halving_doubling", "tree", "recursive_doubling"]
        ),
        nbytes=st.sampled_from([0, 1, 4096, 2**30]),
        nodes=st.integers(1, 9),
        per_node=st.integers(1, 8),
        inside=link,
        between=link,
    )


def hierarchical_all_reduce(exercise):
    """Any numbers, and numbers that p divides, for which bytes and time are limited."""
    the_sum, between, idle = exercise.levels

    @st.composite
    def on_nodes(draw):
        g, count = draw(st.sampled_from([(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2), (2, 3), (4, 2), (1, 2)]))
        level, links = draw(st.sampled_from([the_sum, between, idle] if min(g, count) > 1 else [the_sum, between])), {}
        dtype = "float64" if level == idle else draw(st.sampled_from(["float64", "float32", "float16", "int32"]))
        n = draw(NUMBERS) * (1 if level == the_sum else g * count)
        late = () if level == idle else draw(late_ranks(g * count))  # it may change the virtual time
        if level == idle:
            links = draw(BYTES_ONLY)
        return exercise._case(draw(RANDOM), level, g * count, g, n, dtype, late, **links)

    return on_nodes()


def halving_doubling(exercise):
    _, few, any_ = exercise.levels

    def on(p):
        level, dtypes = any_ if p & (p - 1) else few, st.sampled_from(["float64", "float32", "int32"])
        return st.builds(exercise._case, RANDOM, st.just(level), st.just(p), NUMBERS, dtypes, late_ranks(p))

    return st.integers(1, 9).flatmap(on)


def top_k_mean(exercise):
    """No two entries are equally large."""
    *_, few = exercise.levels

    def on(p, n):
        k, steps, zero = st.integers(1, n) | st.just(n), st.integers(1, 3), st.booleans()
        return st.builds(
            exercise._case, DISTINCT, st.just(few), st.just(p), st.just(n), k, steps, late_ranks(p), zero
        )  # fmt: skip

    return st.tuples(st.integers(1, 5), st.integers(1, 9)).flatmap(lambda drawn: on(*drawn))


def power_sgd(exercise):
    """Matrices of full rank: otherwise the left factor is not determined."""
    *_, few = exercise.levels

    def on(p, shape):
        rank, steps = st.integers(1, min(shape)), st.integers(1, 3)
        return st.builds(
            exercise._case, DISTINCT, st.just(few), st.just(p), st.just(shape), rank, steps, late_ranks(p)
        )  # fmt: skip

    shapes = st.tuples(st.integers(1, 6), st.integers(1, 6))
    return st.tuples(st.integers(1, 4), shapes).flatmap(lambda drawn: on(*drawn))


def diloco(exercise):
    *_, once = exercise.levels

    def on(p):
        rates, momenta = st.sampled_from([0.0, 0.5, 0.7, 1.0]), st.sampled_from([0.0, 0.5, 0.9])
        steps, every = st.integers(1, 9), st.integers(1, 10)
        return st.builds(
            exercise._case, RANDOM, st.just(once), st.just(p), NUMBERS, steps, every, rates, momenta, late_ranks(p)
        )

    return st.integers(1, 5).flatmap(on)


INPUTS = {
    "ring_order": ring_order,
    "place_ranks": place_ranks,
    "all_reduce_seconds": all_reduce_seconds,
    "hierarchical_all_reduce": hierarchical_all_reduce,
    "halving_doubling": halving_doubling,
    "top_k_mean": top_k_mean,
    "power_sgd": power_sgd,
    "diloco": diloco,
}
