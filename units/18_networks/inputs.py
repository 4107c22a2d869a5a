"""Inputs for unit 18."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.inputs.strategies import plain_cases


def ring_order(exercise):
    return plain_cases(exercise, node_of=st.lists(st.integers(0, 5) | st.just(2**40), min_size=1, max_size=12))


def place_ranks(exercise):
    def on(hosts):
        slots = st.lists(st.integers(0, 4), min_size=hosts, max_size=hosts)
        names = st.just([f"node{k}" for k in range(hosts)])
        return plain_cases(
            exercise, hosts=names, slots=slots, p=st.integers(0, 12), by=st.sampled_from(["slot", "node", "socket"])
        )

    return st.integers(0, 4).flatmap(on)


def all_reduce_seconds(exercise):
    link = st.tuples(st.sampled_from([0.0, 1e-6, 5e-6]), st.sampled_from([1e-11, 1e-9]))
    return plain_cases(
        exercise,
        algorithm=st.sampled_from(["ring", "hierarchical", "doubling", "halving_doubling", "tree"]),
        nbytes=st.sampled_from([0, 1, 4096, 2**30]),
        nodes=st.integers(1, 9),
        per_node=st.integers(1, 8),
        inside=link,
        between=link,
    )


INPUTS = {"ring_order": ring_order, "place_ranks": place_ranks, "all_reduce_seconds": all_reduce_seconds}
