"""Inputs for unit 09."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from autograder.exercises.kinds import on_ranks
from autograder.inputs.common import RANKS, SEEDS
from autograder.inputs.strategies import plain_cases
from autograder.registry import module_of

UNIT = module_of("09_multi_node_image_lab")
IDS = st.sampled_from([1, 2, 3, 9, 10, 11, 12, 300])


def read_products(exercise):
    """Lists of one image, of images that are there twice; with a line break at the end, none and many."""
    photo = st.tuples(
        st.integers(1, 99), st.integers(1, 9), IDS, st.sampled_from(["a/b.JPG", "c_final/10.JPG", "c_final/9.png"])
    )
    rows = st.lists(photo, min_size=1)
    end = st.sampled_from(["", "\n", "\n\n\n"])
    asked = st.sampled_from(["paths", "all"])
    order = st.none() | st.permutations([1, 2, 3, 9, 10, 11, 12, 300]).map(list)

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
        total = int(sum(exercise.right(**known)[0].values()))
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


GENERATORS = SEEDS.map(np.random.default_rng)


def prepared_images(exercise):
    """One node and more, of one rank and more; images on all of them, on some and on none."""

    def case(drawn):
        rng, per_node, ready = drawn
        two, one, already = exercise.levels
        p = per_node * len(ready)
        known = {"per_node": per_node, "ready": np.repeat(ready, per_node).tolist()}
        known["images"] = np.repeat([rng.integers(0, 256, 4) for _ in ready], per_node, axis=0)
        level = already if any(ready) else one if len(ready) == 1 else two
        says = f"{per_node} ranks on each node; the images are there: {ready}"
        return on_ranks(level, p, "ready[r] images[r]", known, says, ranks_per_node=per_node)

    shapes = st.sampled_from([(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (4, 1)])
    return shapes.flatmap(
        lambda shape: st.tuples(
            GENERATORS, st.just(shape[1]), st.lists(st.booleans(), min_size=shape[0], max_size=shape[0])
        )
    ).map(case)


def epoch_batches(exercise):
    """Shares of ten images and more, so that no order is by chance that of the list; some are less than a minibatch."""

    def case(drawn):
        rng, p, share, rest, batch = drawn
        n = share * p + rest % p
        level = list(exercise.levels)[n % p > 0]
        found = exercise.case(rng, level, p, ((n, batch),), f"{p} ranks; ", np.sort)
        return replace(found, arguments=(found.known["asked"], int(rng.integers(1, 1000))))

    sizes = st.integers(10, 24), st.integers(0, 3), st.sampled_from([1, 2, 3, 4, 5, 7, 10, 11, 30])
    return st.tuples(GENERATORS, st.integers(1, 4), *sizes).map(case)


def go_on(exercise):
    """A checkpoint from before the first step, one rank, and weights of any shape."""

    def case(drawn):
        rng, p, per_node, epochs, steps, (inputs, outputs) = drawn

        def draw(*shape):
            return rng.normal(size=shape).astype(np.float32)

        level = list(exercise.levels)[epochs is not None]
        known = {"kernel": draw(p, inputs, outputs), "offset": draw(p, outputs), "saved": None}
        if epochs is not None:
            known["saved"] = (epochs, draw(inputs, outputs), draw(outputs), steps, draw(inputs, outputs))
        known |= {"steps": (3 + rng.permutation(p)).tolist(), "momentum": draw(p, inputs, outputs)}
        known["checkpoint"] = [known["saved"], *[None] * (p - 1)]
        known["adam"] = bool(rng.integers(2))
        names, says = "kernel[r] offset[r] steps[r] momentum[r] checkpoint[r] adam", f"{epochs} epochs, {steps} steps"
        return on_ranks(level, p, names, known, says, rtol=1e-6, atol=1e-7, ranks_per_node=per_node)

    places = st.sampled_from([(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 3), (4, 2)])
    sizes = st.tuples(st.integers(1, 3), st.integers(1, 3))
    epochs = st.none() | st.sampled_from([0, 1, 7, 2**20])
    return places.flatmap(
        lambda place: st.tuples(
            GENERATORS, st.just(place[0]), st.just(place[1]), epochs, st.sampled_from([0, 1, 500, 2**31]), sizes
        )
    ).map(case)


INPUTS = {
    "read_products": read_products,
    "network_bytes": network_bytes,
    "training_memory": training_memory,
    "prepared_images": prepared_images,
    "epoch_batches": epoch_batches,
    "go_on": go_on,
}
