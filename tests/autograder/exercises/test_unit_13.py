"""Unit 13 where Horovod is not compiled: TensorFlow is enough for its exercises."""

from __future__ import annotations

import importlib.util

import pytest
from machine import needs

from autograder.judging import bank
from autograder.registry import all_exercises
from labkit.launch import horovod_rendezvous
from labkit.launch.launcher import Launcher


@pytest.fixture
def without_horovod(monkeypatch):
    """Horovod is not found here, and a launcher that has not imported it."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "horovod" else find(name, *more)
    )
    with Launcher(horovod_rendezvous.frameworks()) as launcher:
        yield launcher


@needs("tensorflow")
@pytest.mark.parametrize("exercise", ["mirrored_gradients", "port"])
def test_its_exercises_are_judged_without_horovod(exercise, without_horovod):
    assert "horovod" not in without_horovod.frameworks
    chosen = list(bank.answers(unit="13", exercise=exercise))
    right, wrong = (next(answer for answer in chosen if answer.right is wanted) for wanted in (True, False))
    for answer in (right, wrong):
        result = bank.try_source(answer.exercise, answer.source, without_horovod)
        assert bank.Tried(answer, result).as_declared, result


def test_only_units_07_and_09_want_horovod():
    wanting = {e.unit[:2]: e.runtime for e in all_exercises() if e.needs_frameworks}
    assert wanting == {"07": "horovod", "09": "horovod", "13": "tensorflow"}
