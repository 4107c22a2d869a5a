"""Every diagnosis is shown: an answer of the bank declares it. What no answer reaches is untested prose."""

from __future__ import annotations

import pytest

from autograder.judging import bank
from autograder.registry import all_exercises

UNITS = sorted({exercise.unit for exercise in all_exercises()})


@pytest.fixture(scope="module")
def shown() -> set[tuple[str, str, str]]:
    """Name, why and how of every diagnosis that an answer of the bank declares, in any exercise that says it in these
    words.
    """
    texts = set()
    for answer in bank.answers():
        if text := answer.exercise.diagnoses.get(answer.diagnosis):
            texts.add((answer.diagnosis, text.why, text.how))
    return texts


@pytest.mark.parametrize("unit", UNITS)
def test_every_diagnosis_is_declared_by_an_answer_of_the_bank(unit, shown):
    unshown = [
        f"{exercise.function}: {name}"
        for exercise in all_exercises()
        if exercise.unit == unit
        for name, text in exercise.diagnoses.items()
        if (name, text.why, text.how) not in shown
    ]
    assert not unshown, "show it by an answer that a student would really give, or leave it out"
