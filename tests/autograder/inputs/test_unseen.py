"""Inputs that no check has: an answer that is a table of its cases is found out, and so is one that knows some levels'."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from autograder.exercise import PUBLIC_KEY, drawn, drawn_further, rng_for
from autograder.inputs.strategies import takes_nothing
from autograder.inputs.unseen import COUNT, unseen
from autograder.judging.judge import Runners, chunks_of_file, judge_with
from autograder.judging.runners import OnMpi
from autograder.registry import all_exercises, find

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

import exercise_texts as texts

SMALL = ("axis_groups", "bubble", "device_batches", "dynamic_scale", "hyperband_brackets", "wall_time")


PLAIN = [one for one in all_exercises() if one.runtime == "plain" and not takes_nothing(one)]
KINDS = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,), "list": (list,)}


def kinds_of(exercise):
    """Argument -> the types of which its text says that it is one, where that is a simple one."""
    text = texts.text_of(exercise)
    found = re.findall(r"^([\w*, ]+): (int|float|str|bool|list)(?=[,; ]|$)", text.docstring, re.MULTILINE)
    kinds = {name.strip(): KINDS[kind] for names, kind in found for name in names.split(",")}
    return [kinds.get(name) for name in text.parameters]


def fits(value, kind):
    return value is None or isinstance(value, kind) and isinstance(value, bool) == (kind == (bool,))


def arguments_of(cases):
    return [case.arguments_of(r) for case in cases for r in range(case.world_size)]


@pytest.mark.parametrize("exercise", PLAIN, ids=lambda one: f"{one.unit[:2]}-{one.function}")
def test_inputs_are_what_the_text_says_that_they_are(exercise):
    """A right answer may lean on it: `Fraction(total, gpu_bytes)` takes integers alone. Where the exercise's own cases
    are something else, its harness makes the function's argument of it."""
    own = arguments_of(drawn(exercise))
    inputs = arguments_of([*unseen(exercise, "one"), *unseen(exercise, "another"), *drawn_further(exercise, "one")])
    for place, kind in enumerate(kinds_of(exercise)):
        if kind is not None and all(fits(given[place], kind) for given in own if place < len(given)):
            assert [given for given in inputs if place < len(given) and not fits(given[place], kind)] == []


def table(exercise, keys=40):
    """Arguments as text -> what is right, for all cases under so many keys."""
    held = {}
    for key in range(keys):
        for case in exercise.cases(rng_for(exercise, f"key {key}")):
            held[repr(list(case.arguments))] = exercise.expected(case)[0]
    return held


def answer_of(exercise, held):
    """An answer that looks into the table; what is not there is 0."""
    lines = [f"T = {held!r}", f"def {exercise.function}(*given):", "    found = T.get(repr(list(given)), 0)"]
    if exercise.function == "hyperband_brackets":
        lines += [
            "    if found and found['raises'] == 'ValueError':",
            "        raise ValueError",
            "    found = found['value']",
        ]
    return "\n".join([*lines, "    return found"])


@pytest.mark.parametrize("name", SMALL)
def test_a_table_of_the_cases_passes_no_level(warm, name):
    exercise = find(name)
    held = {text: value for text, value in table(exercise).items() if "anything" not in repr(value)}
    chunks = chunks_of_file(answer_of(exercise, held), name, "table")
    with Runners(warm) as runners:
        result = judge_with(runners, exercise, chunks, key="a class", unseen=unseen(exercise, "a class"))
    passed = [level.name for level in result.levels if level.score]
    assert set(passed) <= {"R = 81, eta = 3"}  # one input, by its name


def test_who_fails_an_unseen_input_or_two_keeps_the_points_and_a_table_loses_all(warm):
    """A grade does not hang on one rare input. The cases are those of the public key: a table of them is right."""
    exercise = find("strided_share")
    inputs = unseen(exercise, "a class")
    assert len(inputs) == COUNT and unseen(exercise, PUBLIC_KEY) == ()
    fixed = sorted({case.arguments for case in drawn(exercise)})
    (n, p), others = inputs[-1].arguments, {case.arguments for case in inputs[:-1]}
    source = "def strided_share(n, rank, world_size):\n    {}\n    return list(range(rank, n, world_size))"
    rare = f"if (n, world_size) == {(n, p)} and {(n, p) not in others}: return 0"
    known = f"if (n, world_size) not in {fixed}: return 0"
    with Runners(warm) as runners:
        results = [
            judge_with(runners, exercise, chunks_of_file(source.format(line), "strided_share", "it"), unseen=inputs)
            for line in (rare, known)
        ]
    assert [result.score for result in results] == [exercise.points, 0]
    assert results[1].diagnosis == "knows_its_cases" and {level.verdict for level in results[1].levels} == {"wrong"}


def test_unseen_inputs_are_the_keys_alone_and_no_cases():
    exercise = find("bubble")
    again = unseen.__wrapped__(exercise, "one")
    assert [case.arguments for case in again] == [case.arguments for case in unseen(exercise, "one")]
    assert [case.arguments for case in again] != [case.arguments for case in unseen(exercise, "another")]
    assert not {case.arguments for case in again} & {case.arguments for case in drawn(exercise)}
    assert drawn_further(exercise) == () and drawn_further(exercise, "one")


def test_an_mpi_job_has_ranks_for_a_case_larger_than_the_published_ones(monkeypatch):
    """Drawn inputs may have more ranks than any of the exercise's own cases."""
    from types import SimpleNamespace

    started = []

    class Job:
        def __init__(self, most, limits, isolation):
            self.most = most
            started.append(most)

        def run(self, jobs):
            return len(jobs), []

        def close(self):
            pass

    monkeypatch.setattr("autograder.judging.runners.MpiRunner", Job)
    exercise = find("sum_counts")
    most = max(case.world_size for case in drawn(exercise))
    runner = OnMpi(SimpleNamespace(launcher=SimpleNamespace(isolation=None)))
    for size in (2, most + 3, 2):
        asked = SimpleNamespace(exercise=exercise, case=SimpleNamespace(world_size=size), limits=None, jobs=[0] * size)
        assert runner.run(asked) == (size, [])
    assert started == [most, most + 3]
