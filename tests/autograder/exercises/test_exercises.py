"""Every exercise of the course: its own consistency (a diagnosis is never a guess) and its bank."""

from __future__ import annotations

import ast
import itertools
import json

import numpy as np
import pytest
from machine import EVERY, EVERY_RIGHT, FULL, needs

from autograder import values
from autograder.compare import same
from autograder.exercise import ANYTHING, Exercise, drawn, names_of, rng_for
from autograder.judging import bank
from autograder.judging.diagnoses import BUILT_IN
from autograder.registry import UnknownExercise, all_exercises, find
from labkit.relay import wire
from labkit.watch import hang

EXERCISES = all_exercises()
KEYS = ["public", *(f"key {k}" for k in range(12))]
UNSEEN = [f"a key nobody has seen {k}" for k in range(19 if FULL else 1)]
PUZZLES = ("two_alive", "three_alive", "slow_stage", "slow_links", "three_parts", "heavy_head", "two_chunks")
NOTHING_DRAWN = ("right_neighbour", "who_am_i", *PUZZLES)  # they are given nothing but, perhaps, a rank's number


def each(exercises: list[Exercise], judged: bool = False):
    """judged: by answers, which need what the exercise needs; cases are drawn and values compared without Horovod, too."""
    marks = [[needs(e.runtime)] if judged and e.needs_frameworks else [] for e in exercises]
    chosen = [pytest.param(e, id=f"{e.unit[:2]}-{e.function}", marks=m) for e, m in zip(exercises, marks, strict=True)]
    return pytest.mark.parametrize("exercise", chosen)


every_exercise = each(EXERCISES)


def cases_of(exercise: Exercise, key: str):
    return exercise.cases(rng_for(exercise, key))


def arguments_of_harness(exercise: Exercise) -> list[str]:
    """The arguments of an exercise's harness behind the function; [] where it has none."""
    functions = [node for node in ast.parse(exercise.harness).body if isinstance(node, ast.FunctionDef)]
    return [argument.arg for node in functions if node.name == "harness" for argument in node.args.args[1:]]


def told_apart(a: list, b: list, case) -> bool:
    return any(
        x is not ANYTHING and y is not ANYTHING and not same(x, y, case.rtol, case.atol)
        for x, y in zip(a, b, strict=True)
    )


@every_exercise
def test_right_and_every_misconception_are_pairwise_distinct(exercise):
    seen = set()
    for key in KEYS if FULL else KEYS[:5]:
        for case in cases_of(exercise, key):
            answers = {"expected": exercise.expected(case)}
            answers |= {name: value for name, value in exercise.misconceptions(case).items() if value is not None}
            assert all(len(value) == case.world_size for value in answers.values()), case
            own = type(exercise).misconceptions is not Exercise.misconceptions  # which leaves out what looks the same
            for (a, one), (b, other) in itertools.combinations(answers.items(), 2) if own or key == KEYS[0] else ():
                assert told_apart(one, other, case), (
                    f"{exercise.function}, {case.level} ({case.says}), key {key}: {a} and {b} look the same"
                )
            seen |= set(answers)
    declared = set(exercise.misconceptions(cases_of(exercise, "public")[0]))
    assert declared <= seen, f"never shows: {declared - seen}"


@every_exercise
def test_a_detour_through_another_type_shows(exercise):
    """float64 through float32, int64 through int32 or a float, int32 promoted: see `autograder.values`."""
    first = None
    for key in KEYS[:4]:
        unseen = values.unseen_detours(exercise, cases_of(exercise, key))
        first = unseen if first is None else first
        assert unseen == first, f"key {key}: whether a detour shows must not depend on the key"
        for detour, hidden in unseen.items():
            excused = values.is_excused(detour, exercise.may_lose)
            assert not hidden or excused, (
                f"{exercise.function}: no case shows {detour}. Draw its numbers with autograder.values or "
                "contributions.sum_case, leave "
                "rtol and atol to the type, hand out integers of 32 and of 64 bits; or say in `may_lose` why it does "
                "not matter."
            )
    for name, reason in exercise.may_lose.items():
        covered = [detour for detour in first if values.is_excused(detour, {name: reason})]
        assert reason and any(first[detour] for detour in covered), (
            f"{exercise.function}: `may_lose` need not name {name}"
        )


@every_exercise
def test_the_structure_is_public_and_the_values_are_not(exercise):
    def structure(case):
        return case.level, case.world_size, case.late, case.ranks_per_node

    public, secret = cases_of(exercise, "public"), cases_of(exercise, "another key")
    assert [structure(c) for c in public] == [structure(c) for c in secret]
    encoded = [[wire.encode(list(c.arguments_of(r))) for r in range(c.world_size)] for c in public]
    again = [[wire.encode(list(c.arguments_of(r))) for r in range(c.world_size)] for c in cases_of(exercise, "public")]
    assert encoded == again, "the same key must give the same values"
    hidden = [[wire.encode(list(c.arguments_of(r))) for r in range(c.world_size)] for c in secret]
    assert (encoded != hidden) == (exercise.function not in NOTHING_DRAWN), "another key must give other values"


@every_exercise
def test_nothing_of_a_case_is_changed_by_what_is_computed_from_it(exercise):
    """Cases are drawn once for all answers under a key (`drawn`), and what is computed from one is kept with it."""
    for case, fresh in zip(drawn(exercise), exercise.cases(rng_for(exercise)), strict=True):
        kept = exercise.expected(case), exercise.misconceptions(case)
        assert exercise.expected(case) is kept[0] and exercise.misconceptions(case) is kept[1]
        for r in range(case.world_size):
            assert wire.encode(list(case.arguments_of(r))) == wire.encode(list(fresh.arguments_of(r)))
        assert repr(kept[0]) == repr(exercise.expected(fresh))


@every_exercise
def test_declarations_hold_together(exercise):
    cases = cases_of(exercise, "public")
    assert {c.level for c in cases} == set(exercise.levels), "every level has a case, every case a level"
    assert exercise.signature.startswith(exercise.function + "(")
    assert exercise.runtime in ("plain", "torch", "mpi4py", "horovod", "tensorflow")
    names = exercise.inputs if isinstance(exercise.inputs, tuple) else ()
    given = {*names_of(exercise.signature), *arguments_of_harness(exercise)}
    assert set(names) <= given if names else exercise.inputs in ("kept", "free", "result")
    if exercise.runtime == "plain":
        assert all(c.world_size == 1 for c in cases)
    for name in exercise.misconceptions(cases[0]):
        assert name in exercise.diagnoses or name in BUILT_IN, f"{name} has no text"
    for name, text in exercise.diagnoses.items():
        assert text.why, name
    for used in exercise.uses:
        assert find(used).reference, f"{exercise.function} uses {used}, which has no reference"
    for name in hang.KINDS:
        assert name not in exercise.levels
    tolerances = [[t for t in (c.rtol, c.atol) if t is not None] for c in cases]
    assert all(np.isfinite([c.network.between.seconds(1), *t]).all() for c, t in zip(cases, tolerances, strict=True))


# Exercises on ranks without a case of one rank, and why. (Horovod's ranks are real processes: their cases are few.)
def test_answers_are_tried_on_one_rank_too():
    """Whoever divides by p - 1, or returns at once where nobody else is there, is seen."""
    on_ranks = [exercise for exercise in EXERCISES if exercise.runtime in ("torch", "mpi4py")]
    never = {e.function for e in on_ranks if all(case.world_size > 1 for case in cases_of(e, "public"))}
    declared = {e.function for e in EXERCISES if e.never_alone}
    assert never == declared, never ^ declared


def test_every_exercise_has_its_answers():
    assert bank.missing() == []


def test_no_two_units_use_the_same_name():
    """`check(f)` finds the exercise by the function's name alone."""
    names = [e.function for e in EXERCISES]
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)


def test_unknown_exercises_are_named_with_what_there_is():
    with pytest.raises(UnknownExercise, match="fair_share"):
        find("fair_shares", "01_mpi_pi")
    assert find("fair_share", "01") is find("fair_share")


@each(EXERCISES, judged=True)
@pytest.mark.parametrize("key", UNSEEN)
def test_the_bank(exercise, key, warm):
    """Verdict, diagnosis, and which levels are passed: those recorded under the public key. `make test` judges every
    third right answer, and every eighth wrong one with as many levels as it takes to know its name; `make test-all`
    (and `make bank`) all.
    """
    which = {"unit": exercise.unit, "exercise": exercise.function, "every": EVERY, "every_right": EVERY_RIGHT}
    tried = bank.run(warm, **which, key=key, until_named=not FULL)
    report = bank.summary(tried)
    assert report["short"] == [], json.dumps(report["short"], indent=2)
    for one in tried:
        if not one.answer.right:
            assert one.result.hint, f"{one.answer.name}: a wrong answer without a hint"
            assert one.result.score < max(one.result.max_score, 1)


@each([e for e in EXERCISES if e.reference], judged=True)
def test_a_reference_is_right(exercise, warm, tmp_path):
    (tmp_path / "reference.py").write_text(exercise.reference)
    assert bank.try_file(exercise, tmp_path / "reference.py", warm).verdict == "passed"
