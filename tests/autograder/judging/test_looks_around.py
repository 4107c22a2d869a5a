"""Answers that look into what calls them, or replace what others call, are shown to a person; others never are."""

import pytest

from autograder.answers import BANK, of_exercise
from autograder.judging.looks_around import looks_around
from autograder.registry import all_exercises

FRAME = "import sys\n\n\ndef answer(x):\n    return sys._getframe(1).f_back.f_locals['right']\n"


@pytest.mark.parametrize(
    "source, found",
    [
        (FRAME, ["f_locals", "f_back", "_getframe"]),
        ("def answer(told):\n    return getattr(told, '__closure__')", ["__closure__"]),
        ("from sys import _getframe as look", ["_getframe"]),
        ("from labkit.relay import charging", ["labkit.relay.charging"]),
        ("import labkit.launch.launcher\nfrom labkit import watch", ["labkit.launch.launcher", "labkit.watch"]),
        ("from labkit import data, models\nfrom labkit.relayed import x", []),
        ("import inspect\ninspect.stack()", ["inspect.stack"]),
        ("import tarfile\ntarfile.open = mine", ["tarfile.open = ..."]),
        ("import torch as t\nt.cuda.synchronize = lambda: None", ["t.cuda.synchronize = ..."]),
        ("import numpy as np\nsetattr(np, 'dot', mine)", ["setattr(np, ...)"]),
        ("import torch\ntorch.stack([x])\ntorch.backends.cudnn.deterministic = True", []),
        ("model.forward = lambda x: x\nself.hook = hook", []),
        ("x = (", []),
    ],
)
def test_names_by_which_an_answer_looks_around(source, found):
    assert sorted(looks_around([source])) == sorted(found)


def test_an_import_in_another_cell_counts():
    assert looks_around(["import itertools", "itertools.islice = mine"]) == ["itertools.islice = ..."]


def test_no_right_answer_of_the_bank_looks_around():
    right = [one for e in all_exercises() for one in of_exercise(BANK, e.unit, e.function) if one.right]
    assert len(right) > 500
    assert not {one.name: found for one in right if (found := looks_around([one.text]))}
