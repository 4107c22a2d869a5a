"""What an exercise asks for cannot be called from the course's own library, and is back afterwards."""

from __future__ import annotations

import pytest

from autograder.judging.bank import try_source
from autograder.registry import all_exercises, find
from labkit.cells.slicing import Chunk
from labkit.launch.rank_program import withheld

NAMES = ("labkit.scale.formula.bubble",)


def chunks(source: str) -> list[Chunk]:
    return [Chunk("cell 1", 1, source)]


def test_a_function_is_withheld_under_every_name_and_given_back():
    from labkit import scale
    from labkit.scale import formula

    ours = formula.bubble
    with withheld(NAMES, chunks("from labkit.scale import bubble")):
        for place in (formula, scale):
            with pytest.raises(RuntimeError, match=r"labkit.scale.formula.bubble is what this exercise asks for"):
                place.bubble(4, 8)
    assert formula.bubble is ours and getattr(scale, "bubble", ours) is ours


def test_code_that_does_not_reach_the_library_costs_no_import():
    from labkit.scale import formula

    with withheld(NAMES, chunks("def f(x):\n    return x")):
        assert formula.bubble(4, 8) == pytest.approx(3 / 11)


@pytest.mark.parametrize(
    "source",
    [
        "from labkit.scale.formula import bubble",
        "import labkit.scale.formula as f\ndef bubble(p, m, v=1):\n    return f.bubble(p, m, v)",
        "import importlib\ndef bubble(*given):\n    return importlib.import_module('lab' + 'kit.scale.formula').bubble(*given)",
    ],
)
def test_an_answer_that_calls_it_is_told_so(warm, source):
    result = try_source(find("bubble"), source, warm)
    assert result.score == 0 and result.verdict == "raised" and "write it yourself" in result.hint + repr(result.cases)


def test_all_that_is_named_is_there():
    for exercise in all_exercises():
        with withheld(exercise.withheld, chunks("import labkit")):
            pass
