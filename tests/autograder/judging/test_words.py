"""What a card says of a mistake in any exercise."""

from __future__ import annotations

import pytest

from autograder.case import Case, RankRun, Run
from autograder.judging.diagnoses import (
    as_shown,
    diagnosis_of,
    how_to_mend,
    of_exception,
    what_to_compare,
    without_sources,
)
from autograder.judging.wrong import wrong_in
from autograder.registry import find


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        ("returned 3.5", "Compare the two numbers above, for"),
        ("rank 2 returned -1e-07", "Compare the two numbers above, for"),
        ("rank 1 returned [1, 2]", "Compare the two lines above, element by element, for"),
        ("returned {'a': [1, 2]}", "Compare the two lines above, element by element, for"),
        ("returned 'left'", "Compare the two lines above, for"),
    ],
)
def test_what_is_compared_is_named_for_what_it_is(shown, says):
    assert what_to_compare([shown, "expected something"]).startswith(says)


def _kind(exercise, expected, value) -> str:
    exercise.expected, exercise.misconceptions = lambda case: [expected], lambda case: {}
    return wrong_in(exercise, Case("level", 1, ()), Run((RankRun(value),))).name


def test_nothing_is_a_whole_result():
    whole = type(find("sum_over_ranks"))()
    assert _kind(whole, 1.0, None) == "returns_nothing"
    assert _kind(whole, (1.0, 2.0), (1.0, None)) == "wrong_type"
    refusing = type(find("log_grid"))()
    assert _kind(refusing, [1.0, 2.0], None) == "returns_nothing"
    assert _kind(refusing, [1.0, 2.0], [1.0, None]) == "wrong_type"


def test_where_no_ranks_are_none_are_spoken_of():
    assert "rank" not in diagnosis_of(find("log_grid"), "returns_nothing").how
    assert "rank" in diagnosis_of(find("sum_over_ranks"), "returns_nothing").how


@pytest.mark.parametrize(
    ("kind", "text", "row", "word"),
    [
        (
            "RuntimeError",
            "element 0 of tensors does not require grad and does not have a grad_fn",
            "l.backward()",
            "leaf",
        ),
        ("AttributeError", "'NoneType' object has no attribute 'clone'", "return w.grad.clone()", "`.grad` is None"),
        (
            "TypeError",
            "unsupported operand type(s) for *: 'float' and 'NoneType'",
            "w -= lr * w.grad",
            "`.grad` is None",
        ),
        ("AttributeError", "'NoneType' object has no attribute 'clone'", "return gradient.clone()", "before the dot"),
        ("RuntimeError", "input tensor has to be contiguous", "dist.send(x.t(), 1)", "`x.contiguous()`"),
    ],
)
def test_what_torch_says_in_a_riddle_is_explained(kind, text, row, word):
    assert word in how_to_mend(kind, text, row)


def test_what_is_raised_instead_of_a_value_error_is_told_by_its_type():
    exercise = find("log_grid")
    says = {
        kind: of_exception(exercise, "not_a_value_error", kind).how
        for kind in ("AssertionError", "ZeroDivisionError", "KeyError")
    }
    assert "assert" in says["AssertionError"] and "which divisor" in says["ZeroDivisionError"]
    assert says["KeyError"].startswith("`raise ValueError(...)`") and "assert" not in says["KeyError"]


def test_no_place_in_the_sources_of_torch_is_shown():
    said = (
        "its .grad is None. (Triggered internally at /__w/pytorch/pytorch/build/aten/src/ATen/core/TensorBody.h:493.)"
    )
    assert without_sources(said) == "its .grad is None."
    assert without_sources("[/__w/pytorch/pytorch/third_party/gloo/tcp/pair.cc:537] Read error") == "Read error"
    assert without_sources("see (Triggered) and [1, 2]") == "see (Triggered) and [1, 2]"


def test_a_card_names_no_folder_of_an_environment():
    place = "/srv/course/.venv/lib/python3.11/site-packages/torch/distributed/c10d_logger.py"
    warned = [
        (0, f"{place}:83: FutureWarning: `all_gather_into_tensor` is deprecated."),
        (1, "mine"),
        (0, "  return func(*args, **kwargs)"),
        (1, "  mine, indented"),
        (0, "  and so is this"),
    ]
    assert as_shown(warned) == [
        (0, "FutureWarning: `all_gather_into_tensor` is deprecated."),
        (1, "mine"),
        (1, "  mine, indented"),
        (0, "  and so is this"),
    ]
    assert without_sources(f"cannot open '{place}'") == "cannot open 'torch/distributed/c10d_logger.py'"
    assert without_sources("/home/me/data.csv: UserWarning: odd") == "/home/me/data.csv: UserWarning: odd"
