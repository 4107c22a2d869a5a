"""A mistake is named only if it explains every failing case of the run."""

from __future__ import annotations

import pytest

from autograder.exercise import Case, Diagnosis, Exercise
from autograder.judging.judge import judge
from labkit.cells.slicing import Chunk

pytestmark = pytest.mark.usefixtures("warm")


class SumOfTwo(Exercise):
    """n + p"""

    unit, function, signature, runtime = "00_pretend", "sum_of_two", "sum_of_two(n, p) -> int", "plain"
    levels = {"first": 1, "second": 1}
    diagnoses = {
        "product": Diagnosis("Multiplied."),
        "squared": Diagnosis("Squared."),
        "even": Diagnosis("Rounded to an even number."),
    }
    asked = {"first": [(3, 3), (4, 2)], "second": [(5, 2), (6, 1)]}

    def cases(self, rng):
        return [Case(level, 1, pair, f"n, p = {pair}") for level in self.levels for pair in self.asked[level]]

    def expected(self, case):
        return [sum(case.arguments)]

    def misconceptions(self, case):
        n, p = case.arguments
        return {
            "product": [n * p],
            "squared": [n * n] if n != p else None,
            "even": [n + p + 1] if (n + p) % 2 else None,
        }


def names(answer: str, warm) -> list[str]:
    result = judge(SumOfTwo(), [Chunk("cell 1", 1, f"def sum_of_two(n, p):\n    return {answer}\n")], warm)
    return [result.diagnosis, *(case.diagnosis for case in result.cases if case.verdict != "passed")]


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("n * p", "product"),
        ("n + p + (n + p) % 2", "even"),
        ("9 if n == 3 else -1", "unrecognised"),  # looks like `product` in one case
        ("n * p if n < 6 else 0", "unrecognised"),  # in all but one
    ],
)
def test_a_name_explains_every_failing_case(answer, name, warm):
    assert set(names(answer, warm)) == {name}


def test_a_case_in_which_a_mistake_cannot_show_needs_two_that_confirm_it(warm):
    assert names("n * n", warm) == ["squared", "unrecognised", "squared", "squared", "squared"]
    assert set(names("n * n if n < 5 else 0", warm)) == {"unrecognised"}


def test_what_happened_is_said_beside_a_name_that_was_taken_back(warm):
    """An exception is no guess: it keeps its own words."""
    assert names("n * p if n < 6 else 1 // 0", warm)[1:] == ["product", "product", "product", "ZeroDivisionError"]


class ReadFromFacts(SumOfTwo):
    """n + p, where facts name mistakes"""

    levels = {"first": 1, "second": 1, "third": 1}
    asked = {"first": [(4, 3)], "second": [(5, 2)], "third": [(6, 3)]}

    def facts(self, case, run):
        if case.level == "first":
            return "product" if run.ranks[0].value < 0 else None
        return "negative" if run.ranks[0].value in (-1, -2) else None

    diagnoses = {**SumOfTwo.diagnoses, "negative": Diagnosis("Negative.")}


def test_what_facts_say_gives_way_where_another_case_shows_that_it_cannot_be(warm):
    def said(answer):
        result = judge(ReadFromFacts(), [Chunk("cell 1", 1, f"def sum_of_two(n, p):\n    return {answer}\n")], warm)
        return [case.diagnosis for case in result.cases]

    assert said("-1 if n == 4 else n * p") == ["product", "product", "product"]  # the other cases confirm it
    assert said("-1 if n == 4 else 100") == ["unrecognised"] * 3  # a product of 5 and 2 is 10
    assert said("-1") == ["product", "negative", "negative"]  # facts are said where they were found
    # nothing speaks against it
    assert said("n + p if n == 4 else -1 if n == 5 else 100") == ["", "negative", "unrecognised"]


def test_a_level_ends_where_the_reason_is_no_guess(warm):
    """Its points are lost, and nothing more is to be learned."""
    result = judge(SumOfTwo(), [Chunk("cell 1", 1, "def sum_of_two(n, p):\n    return 1 // 0\n")], warm)
    assert [(case.level, case.diagnosis) for case in result.cases] == [
        ("first", "ZeroDivisionError"),
        ("second", "ZeroDivisionError"),
    ]
