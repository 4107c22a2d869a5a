"""Arguments that an answer has changed: the card names them, whatever the harness makes of what a case holds."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.exercise import Case, Exercise, Tensor
from autograder.judging.judge import judge
from labkit.cells.slicing import Cell, slice_cells

pytestmark = pytest.mark.usefixtures("warm")
HARNESS = """
def harness(f, values):
    import torch

    return f({"a": torch.tensor(values)}, list(values))
"""


class Kept(Exercise):
    """Return 0."""

    unit, function, signature, runtime = "99_test", "kept", "kept(x, rows)", "plain"
    levels = {"level": 1}

    def cases(self, rng):
        return [Case("level", 1, (Tensor(np.arange(3.0)), [3, 1, 2]))]

    def expected(self, case):
        return [0]


class InHarness(Kept):
    """The same where the function is called with what the harness has made."""

    harness = HARNESS

    def cases(self, rng):
        return [Case("level", 1, ([3.0, 1.0],))]


class MayChange(InHarness):
    """The same where the text allows the state to be changed."""

    signature = "kept(x, rows)"
    inputs = ("x",)


def said(exercise: Exercise, body: str, launcher):
    source = f"def kept(x, rows):\n    {body}\n    return 0\n"
    return judge(exercise, slice_cells([Cell(source, "cell 1")], ["kept"]), launcher)


@pytest.fixture
def launcher(warm):
    return warm


@pytest.mark.parametrize(
    ("exercise", "body", "sentence", "how"),
    [
        (Kept(), "x[0] = 7", "its argument `x`: its values.", "`x.clone()`"),
        (Kept(), "x.requires_grad_()", "its argument `x`: its `requires_grad`, which is True now.", "detach().clone()"),
        (Kept(), "rows.sort()", "its argument `rows`: its order.", "`sorted(rows)`"),
        (InHarness(), "x['a'] += 1", "its argument `x['a']`: its values.", "`x['a'].clone()`"),
        (InHarness(), "x['a'] = x['a'].clone()", "its argument `x`: its value under 'a'.", "`dict(x)`"),
        (InHarness(), "rows.pop()", "its argument `rows`: its length, which is 1 now and was 2.", "`list(rows)`"),
        (MayChange(), "x.clear(); rows.pop()", "its argument `rows`", "`list(rows)`"),
    ],
)
def test_the_card_names_the_argument_and_what_has_changed(exercise, body, sentence, how, launcher):
    result = said(exercise, body, launcher)
    assert (result.verdict, result.diagnosis) == ("wrong", "modifies_input")
    assert sentence in result.decisive.why and how in result.decisive.how


@pytest.mark.parametrize(("exercise", "body"), [(MayChange(), "x.clear()"), (Kept(), "x = x + 1; rows = sorted(rows)")])
def test_what_is_allowed_and_what_is_a_copy_pass(exercise, body, launcher):
    assert said(exercise, body, launcher).verdict == "passed"


def test_lines_show_what_a_case_held_before_and_after(launcher):
    result = said(Kept(), "rows.sort()", launcher)
    assert result.decisive.differs == ["the argument was [3, 1, 2]", "      and now is [1, 2, 3]"]
