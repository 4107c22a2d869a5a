"""A cell that uses a function which is not written yet gets one calm line, and so do the cells that miss what it would
have made.
"""

from __future__ import annotations

import pytest

from autograder.course import CODE_STUB
from labkit.ranks import unwritten

IN_RANKS = """rank 0 raised NotImplementedError: write this function
  cell 32, line 10, in one_call_each: average_gradients(narrow_resnet())
  cell 12, line 9, in average_gradients: raise NotImplementedError("write this function")"""


@pytest.fixture(autouse=True)
def nothing_missing(monkeypatch):
    monkeypatch.setattr(unwritten, "_missing", {})


def told(kind, text, function="", source=""):
    message = unwritten.explained(kind, text, function, source)
    return message and message.title


def test_the_function_is_named():
    assert f'NotImplementedError("{unwritten.STUB}")' in CODE_STUB
    assert (
        told("NotImplementedError", unwritten.STUB, "train_step")
        == "This cell uses train_step, which is not written yet."
    )
    assert told("RuntimeError", IN_RANKS) == "This cell uses average_gradients, which is not written yet."


def test_a_name_that_such_a_cell_would_have_made_leads_to_the_function():
    assert told("NameError", "name 'losses' is not defined") is None
    told("NotImplementedError", unwritten.STUB, "train_step", "losses = train_step()\ntotal = sum(losses)")
    why = "from a cell above that uses train_step, which is not written yet."
    assert (
        told("NameError", "name 'losses' is not defined", source="curve = losses") == f"This cell needs losses, {why}"
    )
    assert told("NameError", "rank 0 has no total") == f"This cell needs total, {why}"
    # what misses a name makes none
    assert told("NameError", "name 'curve' is not defined") == f"This cell needs curve, {why}"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("NotImplementedError", "a student's own"),
        ("NotImplementedError", ""),
        ("NameError", "name 'lsses' is not defined"),
        ("RuntimeError", "rank 0 raised ValueError: write this function"),
        ("TypeError", unwritten.STUB),
    ],
)
def test_other_exceptions_are_shown_as_they_are(kind, text):
    told("NotImplementedError", unwritten.STUB, "train_step", "losses = train_step()")
    assert told(kind, text, "f") is None
