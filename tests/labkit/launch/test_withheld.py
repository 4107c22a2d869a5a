"""What an exercise asks for cannot be called from the course's own library, and is back afterwards."""

from __future__ import annotations

import gc
from types import CodeType

import pytest

from autograder.judging.bank import try_source
from autograder.registry import all_exercises, find
from labkit.launch.rank_program import withheld

NAMES = ("labkit.scale.formula.bubble",)


def test_a_function_is_withheld_under_every_name_and_given_back():
    from labkit import scale
    from labkit.scale import formula

    ours = formula.bubble
    with withheld(NAMES):
        for function in (formula.bubble, scale.bubble, ours):
            with pytest.raises(RuntimeError, match=r"labkit.scale.formula.bubble is what this exercise asks for"):
                function(4, 8)
    assert formula.bubble is ours and ours(4, 8) == pytest.approx(3 / 11) and ours(p=4, m=8, v=2) < 3 / 11


def test_a_method_is_withheld():
    from labkit.scale import Mesh

    with withheld(["labkit.scale.mesh.Mesh.coordinates"]), pytest.raises(RuntimeError, match="write it yourself"):
        Mesh(data=2).coordinates(1)
    assert Mesh(data=2).coordinates(1)["data"] == 1


def test_nothing_in_memory_still_has_the_code_of_a_function_that_is_withheld():
    from labkit.scale import formula

    with withheld(NAMES):
        gc.collect()
        held = [one for holder in gc.get_objects() for one in gc.get_referents(holder) if isinstance(one, CodeType)]
        assert not [one for one in held if one.co_qualname == "bubble" and one.co_filename == formula.__file__]


@pytest.mark.parametrize(
    "source",
    [
        "from labkit.scale.formula import bubble",
        "import labkit.scale.formula as f\ndef bubble(p, m, v=1):\n    return f.bubble(p, m, v)",
        "import importlib\ndef bubble(*given):\n"
        "    return importlib._bootstrap._gcd_import('lab' + 'kit.scale.formula').bubble(*given)",
        "import importlib\ndef bubble(*given):\n    return importlib.import_module('lab' + 'kit.scale.formula').bubble(*given)",
    ],
)
def test_an_answer_that_calls_it_is_told_so(warm, source):
    result = try_source(find("bubble"), source, warm)
    assert result.score == 0 and result.verdict == "raised" and "write it yourself" in result.hint + repr(result.cases)


def test_all_that_is_named_is_there():
    for exercise in all_exercises():
        with withheld(exercise.withheld):
            pass
