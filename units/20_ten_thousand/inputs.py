"""Inputs for unit 20."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from autograder.exercises.readings.budgets import BESIROGLU, HOFFMANN, is_clear
from autograder.exercises.readings.mesh_search import meshes, most_memory
from autograder.exercises.readings.meshes import timed_step
from autograder.inputs.common import SEEDS, SMALL, shapes
from autograder.inputs.generator import EdgeGenerator
from autograder.inputs.strategies import SHARES, plain_case, plain_cases


def mesh_coordinates(exercise):
    return plain_cases(exercise, rank=st.integers(-2, 90), shape=shapes() | st.just(()))


def axis_groups(exercise):
    return shapes().flatmap(
        lambda shape: plain_cases(exercise, shape=st.just(shape), axis=st.integers(0, len(shape) - 1))
    )


def step_bytes(exercise):
    work = st.fixed_dictionaries(
        {name: st.integers(1, 9) for name in ("micro_batches", "layers", "tensor_bytes", "hop_bytes", "gradient_bytes")}
    )
    return plain_cases(exercise, shape=shapes(axes=(3, 3)), work=work, per_node=st.integers(1, 9))


@st.composite
def _held(draw):
    data, pipeline, tensor = shape = draw(shapes(axes=(3, 3)))
    model = {"layers": pipeline * draw(st.integers(1, 3)), "width": tensor * draw(SMALL), "heads": tensor}
    model |= {"vocabulary": draw(SMALL), "sequence": draw(SMALL)}
    return {
        "model": model, "shape": shape, "stage": draw(st.integers(0, pipeline - 1)),
        "micro_batches": draw(SMALL), "zero": draw(st.integers(0, 3)),
    }  # fmt: skip


def rank_memory(exercise):
    level = next(iter(exercise.levels))
    return _held().map(lambda known: exercise._case(level, known))


def pipeline_seconds(exercise):
    """Layers that take long beside the messages between the stages, which the text leaves out."""
    level = next(iter(exercise.levels))

    @st.composite
    def of_steps(draw):
        p, v = draw(st.sampled_from([(1, 1), (2, 1), (3, 1), (4, 1), (8, 1), (2, 2), (4, 2), (4, 3), (8, 2)]))
        m = draw(SMALL) if v == 1 else p * draw(st.integers(1, 3))
        layers, head = draw(st.integers(1, 4)), 0.0 if v > 1 else draw(st.sampled_from([0.0, 1e-3, 2e-3, 5e-3]))
        forward = draw(st.sampled_from([9e-4, 1e-3, 4e-3]))
        backward = forward * draw(st.sampled_from([1.0, 2.0]))
        seconds, replayed = timed_step(p, m, v, layers, forward, backward, head, 1 << 20, 1 << 25)
        known = {"p": p, "m": m, "v": v, "layers": layers, "seconds": seconds, "replayed": replayed}
        return exercise._case(level, known, {"rtol": 0.01})

    return of_steps()


def mfu_and_hfu(exercise):
    model = st.fixed_dictionaries({name: SMALL for name in ("parameters", "layers", "width", "sequence")})
    rates = st.sampled_from([0.0, 1.0, 12345.5, 2e6])
    peaks, recompute = st.sampled_from([1.0, 312e12, 989.4e12]), st.sampled_from(["none", "full"])
    return plain_cases(
        exercise, tokens_per_second=rates, model=model, gpus=SMALL, peak=peaks, recompute=recompute
    )  # fmt: skip


def average_and_norm(exercise):
    """Meshes of two ranks and more."""
    level = next(iter(exercise.levels))
    rng = st.builds(EdgeGenerator, SEEDS, st.sampled_from(SHARES))
    some = shapes(most=3, axes=(3, 3)).filter(lambda shape: 2 <= math.prod(shape) <= 8)
    names = st.sampled_from([[], ["embedding"]])
    return st.builds(exercise._case, rng, st.just(level), some, names) | st.builds(
        exercise._case, rng, st.just(level), some
    )


def checkpoint_every(exercise):
    """A save takes at most a third of the time between two failures."""

    def within(all_together, save, step, ranks):
        known = {"step": step * all_together, "save": save * all_together, "mtbf": all_together * ranks, "ranks": ranks}
        return plain_cases(exercise, **{name: st.just(value) for name, value in known.items()})

    times, shares = st.sampled_from([60.0, 1200.0, 11124.0]), st.sampled_from([1e-3, 1e-2, 0.1, 0.3])
    steps = st.sampled_from([1e-4, 1e-3, 0.05, 0.3, 1.5])
    ranks = st.sampled_from([1, 2, 8192])
    return st.tuples(times, shares, steps, ranks).flatmap(lambda drawn: within(*drawn))


@st.composite
def _searched(draw):
    """A memory that one of the meshes takes to the byte, one byte more, one less, or what all of them can have."""
    width = 128 * draw(st.integers(1, 4))
    heads = draw(st.sampled_from([1, 2, 6, 8, 12, 20]))
    model = {"layers": draw(st.sampled_from([1, 2, 3, 6, 8, 18])), "width": heads * width, "heads": heads}
    model |= {"vocabulary": 51200, "sequence": 2048}
    known = {"model": model, "gpus": draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 24]))}
    known |= {
        "batch": draw(st.sampled_from([1, 2, 3, 12, 16, 24, 60])),
        "per_node": draw(st.sampled_from([1, 3, 4, 8])),
    }
    held = {most_memory(model, shape, known["batch"]) for shape in meshes(**known)}
    bounds = sorted({math.ceil(size) + more for size in held for more in (-1, 1)} | {1})
    return known | {"memory": float(draw(st.sampled_from(bounds)))}


def best_mesh(exercise):
    return _searched().map(lambda known: plain_case(exercise, known))


def _laws():
    """The two published ones, and others."""
    exponents = st.floats(0.25, 0.45)
    others = {"E": st.just(1.5), "A": st.floats(100, 1e3), "B": st.floats(100, 5e3)}
    others |= {"alpha": exponents, "beta": exponents}
    return st.sampled_from([HOFFMANN, BESIROGLU]) | st.fixed_dictionaries(others)


def compute_optimal(exercise):
    """As many tokens as wanted, a tenth of what is best somewhere, or all but none."""
    available = st.sampled_from([math.inf, 1e20, 1e14, 2e13, 1e12, 3e11, 1e10])
    flops = st.sampled_from([1e18, 1e21, 5.76e23, 3.8e25]) | st.floats(1e19, 1e27)
    return plain_cases(exercise, flops=flops, law=_laws(), available=available)


def days_and_energy(exercise):
    """An interval and its save take at most three times as long as it takes until the next failure."""

    @st.composite
    def of_clusters(draw):
        gpus = draw(st.sampled_from([1, 2, 8, 1000, 16384, 100_000]))
        every, save = draw(st.sampled_from([60.0, 900.0, 3600.0])), draw(st.sampled_from([0.0, 5.0, 120.0, 900.0]))
        cluster = {"gpus": gpus, "peak": draw(st.sampled_from([312e12, 989e12]))}
        cluster |= {"utilisation": draw(st.sampled_from([0.1, 0.4, 1.0]))}
        cluster |= {"watts": draw(st.sampled_from([250.0, 700.0]))}
        cluster |= {"pue": draw(st.sampled_from([1.0, 1.1, 2.0])), "every": every, "save": save}
        cluster |= {"restart": draw(st.sampled_from([0.0, 300.0, 5000.0]))}
        share = draw(st.sampled_from([1e-2, 0.1, 0.5, 1.0, 3.0]))
        mtbf = draw(st.sampled_from([math.inf, (every + save) / share * gpus]))
        return {"flops": draw(st.sampled_from([1e18, 3.8e25])), "cluster": cluster, "mtbf": mtbf}

    return of_clusters().map(lambda known: plain_case(exercise, known))


def budget_plan(exercise):
    """Plans in which no number of steps is close to a whole one, and one loss is the smallest."""

    @st.composite
    def of_budgets(draw):
        plan = {"parameters": st.floats(1e8, 1e12), "gpus": st.sampled_from([1, 8, 48, 512, 4096])}
        plan |= {"seconds": st.floats(0.1, 5000.0), "tokens": st.sampled_from([1 << 19, 1 << 22, 1 << 24])}
        budgets = st.sampled_from([0.7, 3.3, 100.1, 41_667.0, 1e6])
        return {
            "gpu_days": draw(budgets), "days": draw(st.sampled_from([math.inf, 0.03, 2.2, 30.3, 90.0])),
            "plans": draw(st.lists(st.fixed_dictionaries(plan), min_size=1, max_size=6)), "law": draw(_laws()),
        }  # fmt: skip

    return of_budgets().filter(lambda known: is_clear(**known)).map(lambda known: plain_case(exercise, known))


INPUTS = {
    "mesh_coordinates": mesh_coordinates,
    "axis_groups": axis_groups,
    "step_bytes": step_bytes,
    "rank_memory": rank_memory,
    "pipeline_seconds": pipeline_seconds,
    "mfu_and_hfu": mfu_and_hfu,
    "average_and_norm": average_and_norm,
    "checkpoint_every": checkpoint_every,
    "best_mesh": best_mesh,
    "compute_optimal": compute_optimal,
    "days_and_energy": days_and_energy,
    "budget_plan": budget_plan,
}
