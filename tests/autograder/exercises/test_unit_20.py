"""Unit 20: what is called right is what the relay counts, what torch's meshes have, and what trying everything finds."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.exercise import RankRun, Run, rng_for
from autograder.exercises.readings import budgets, meshes
from autograder.registry import all_exercises, find, module_of
from labkit.relay.threads import ThreadedRanks
from labkit.scale import nodes, order_1f1b, run_step, run_with_failures

MODULE = module_of("20_ten_thousand")
UNIT = [exercise for exercise in all_exercises() if exercise.unit == "20_ten_thousand"]
ODD = [None, 3, "text", [], [1, 2, 3], {}, {"data": 1}, np.zeros(3), (1.5, math.nan, 2), [[1], 2], [None] * 3, True]


def cases_of(name: str):
    exercise = find(name)
    return exercise.cases(rng_for(exercise))


def of_torch(shape):
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    names = tuple("abc"[: len(shape)])
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    return [list(mesh.get_coordinate()), [dist.get_process_group_ranks(mesh.get_group(name)) for name in names]]


def test_coordinates_and_groups_are_those_of_a_device_mesh():
    shape = (2, 3, 2)
    for rank, outcome in enumerate(ThreadedRanks(12).run(of_torch, [(shape,)] * 12).ranks):
        place, found = outcome.value
        assert list(place) == MODULE.coordinates(rank, shape)
        assert all(list(group) in MODULE.groups(shape, axis) for axis, group in enumerate(found))


@pytest.mark.parametrize("case", cases_of("step_bytes"), ids=lambda case: case.says[:40])
def test_bytes_are_those_that_the_relay_counts(case):
    shape, work, per_node = (case.known[name] for name in ("shape", "work", "per_node"))
    if math.prod(shape) > 16:
        work = work | {"micro_batches": 2, "layers": 2}
    real = run_step(meshes.step_of(shape, work), nodes(per_node), order_1f1b)
    found = meshes.step_bytes(shape, work, per_node)
    for kind in ("inside", "between"):
        assert real.link_bytes.get(kind, 0) == pytest.approx(sum(kinds[kind] for kinds in found.values()))


def test_what_the_mistakes_begin_with_is_right():
    """Counted edge by edge, by the closed formulas: the same as by the simulator."""
    for case in cases_of("step_bytes"):
        by_simulator = meshes.step_bytes(**case.known)
        for axis, kinds in meshes.counted(**case.known).items():
            assert kinds == pytest.approx(by_simulator[axis])
    for case in cases_of("rank_memory"):
        worked = find("rank_memory").worked(case)
        assert meshes.held(worked) == pytest.approx(meshes.rank_memory(**case.known))
    for case in cases_of("pipeline_seconds"):
        formula = meshes.seconds_of(*(case.known[name] for name in ("p", "m", "v", "layers", "seconds")))
        assert formula == pytest.approx(case.known["replayed"], rel=0.003)


def test_the_best_number_of_steps_is_the_best():
    for case in cases_of("checkpoint_every"):
        step, save, mtbf, ranks = case.known.values()
        best, failure = meshes.best_of(**case.known), mtbf / ranks
        times = [meshes.stretched(n * step, save, failure) for n in range(1, 4 * best)]
        assert 1 + int(np.argmin(times)) == best


def test_the_expected_time_is_that_of_runs_with_failures():
    failure, save, useful = 3600.0, 300.0, 1000.0
    runs = [run_with_failures(3e6, 1, failure, save, useful, 0.0, seed) for seed in range(6)]
    mean = sum(1 / run.useful for run in runs) / len(runs)
    assert mean == pytest.approx(meshes.stretched(useful, save, failure), rel=0.03)


@pytest.mark.parametrize("exercise", [e for e in UNIT if e.runtime == "plain"], ids=lambda e: e.function)
def test_whatever_comes_is_read(exercise):
    for case in cases_of(exercise.function):
        for odd in ODD:
            found = exercise.facts(case, Run((RankRun(odd),)))
            assert found is None or (found if isinstance(found, str) else found.diagnosis) in exercise.diagnoses


def test_no_other_number_of_parameters_has_a_smaller_loss():
    for case in cases_of("compute_optimal"):
        known = SimpleNamespace(**case.known)
        parameters, tokens = budgets.allotted(known)
        assert 6 * parameters * tokens == pytest.approx(known.flops) and tokens <= known.available
        least = budgets.loss(known.law, parameters, tokens)
        for factor in (0.2, 0.9, 0.999, 1.001, 1.1, 5.0):
            if tokens / factor <= known.available:
                assert budgets.loss(known.law, parameters * factor, tokens / factor) > least


def test_days_are_those_of_runs_with_failures_at_random():
    cluster = {"gpus": 1000, "peak": 1e15, "utilisation": 0.5, "watts": 700.0, "pue": 1.1}
    cluster |= {"every": 1200.0, "save": 60.0, "restart": 300.0}
    work, mtbf = 100 * 86400.0, 7200.0 * 1000
    days, kwh = budgets.costs(SimpleNamespace(flops=work * 5e17, cluster=cluster, mtbf=mtbf))
    runs = [run_with_failures(work, 1000, mtbf, 60.0, 1200.0, 300.0, seed) for seed in range(20)]
    assert sum(run.elapsed for run in runs) / len(runs) / 86400 == pytest.approx(days, rel=0.01)
    assert kwh == pytest.approx(days * 24 * 1000 * 0.7 * 1.1)


def test_rounding_decides_nothing_in_the_plans_of_a_budget():
    for key in ("public", "another", "a third"):
        exercise = find("budget_plan")
        for case in exercise.cases(rng_for(exercise, key)):
            assert budgets.is_clear(**case.known) or is_exact(**case.known)


def is_exact(gpu_days, days, plans, law):
    """True if no order of multiplying and dividing rounds: days, GPUs and steps of a day are powers of two, or 7 times
    one."""
    numbers = [gpu_days, *([days] if days < math.inf else [])]
    numbers += [x for plan in plans for x in (plan["gpus"], budgets.DAY / plan["seconds"])]
    return all(math.log2(x / 7 ** (x % 7 == 0)).is_integer() for x in numbers)
