"""Inputs for unit 09."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.inputs.common import RANKS
from autograder.inputs.strategies import plain_cases
from autograder.registry import module_of

UNIT = module_of("09_multi_node_image_lab")
IDS = st.sampled_from([1, 2, 3, 9, 10, 11, 12])


def read_products(exercise):
    """Lists of one image, of images that are there twice; with a line break at the end, none and many."""
    photo = st.tuples(st.integers(1, 99), st.integers(1, 9), IDS, st.sampled_from(["a/b.JPG", "c_final/10.JPG"]))
    rows = st.lists(photo, min_size=1)
    end = st.sampled_from(["", "\n", "\n\n\n"])
    asked = st.sampled_from(["paths", "all"])
    order = st.none() | st.permutations([1, 2, 3, 9, 10, 11, 12]).map(list)

    def of(drawn):
        rows, end, asked, classes = drawn
        text = "\n".join([UNIT.HEADER, *(" ".join(map(str, row)) for row in rows)]) + end
        known = {"text": text, "classes": classes, "asked": asked, "rows": rows}
        return plain_cases(exercise, **{name: st.just(value) for name, value in known.items()})

    return st.tuples(rows, end, asked, order).flatmap(of)


def network_bytes(exercise):
    """One rank, one node, nodes of one rank and of many, in any order; bytes that no number of ranks divides."""
    nbytes = st.sampled_from([0.0, 1.0, 7.5, 1000.0, 2.0**40 + 1])
    one = st.lists(st.integers(0, 3), min_size=1, max_size=9).map(_without_gaps)
    even = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
        lambda shape: st.permutations([k for k in range(shape[0]) for _ in range(shape[1])]).map(list)
    )
    ring = plain_cases(exercise, node_of=one, nbytes=nbytes, two_levels=st.just(False))
    return ring | plain_cases(exercise, node_of=even, nbytes=nbytes, two_levels=st.booleans())


def _without_gaps(nodes):
    there = sorted(set(nodes))
    return [there.index(node) for node in nodes]


def training_memory(exercise):
    """One parameter and more than 32 bits hold, no activations, GPUs that are filled to the last byte and one more."""

    def of(drawn):
        each, p, known = drawn
        known = {**known, "global_batch_size": each * p, "world_size": p, "gpu_bytes": 1}
        total = sum(exercise.right(**known)[0].values())
        sizes = st.sampled_from(sorted({total, max(total - 1, 1), total + 1, -(-total // 2), 48 * 10**9}))
        return plain_cases(exercise, **{name: st.just(value) for name, value in known.items()} | {"gpu_bytes": sizes})

    known = st.fixed_dictionaries(
        {
            "parameters": st.sampled_from([1, 7, 2**24 + 1, 2**31 + 1, 70 * 10**9 + 1]),
            "optimizer": st.sampled_from(["sgd", "momentum", "adam"]),
            "precision": st.sampled_from(["float32", "mixed"]),
            "activations": st.sampled_from([0, 1, 3, 10**7 + 1]),
        }
    )
    return st.tuples(st.integers(1, 40), RANKS, known).flatmap(of)


INPUTS = {"read_products": read_products, "network_bytes": network_bytes, "training_memory": training_memory}
