"""A wrong answer of the bank is judged until its name is certain: nothing that comes later may change it."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.exercise import Case, Diagnosis, Exercise
from autograder.judging import bank, runners
from autograder.judging.judge import judge
from autograder.judging.naming import is_certain, keep_names_that_explain_all
from autograder.verdict import CaseResult, LevelResult, Result
from labkit.cells.slicing import Cell, slice_cells

NAMES = ("adds_one", "adds_two", "drops_it")


class Plus(Exercise):
    """Return n."""

    unit, function, signature, runtime = "99_test", "same", "same(n)", "plain"
    levels = {"small": 1, "large": 1, "largest": 1}
    diagnoses = {name: Diagnosis(name) for name in NAMES}

    def cases(self, rng):
        return [
            Case(level, 1, (n,), known={"n": n})
            for level, n in (("small", 1), ("small", 2), ("large", 30), ("largest", 400))
        ]

    def expected(self, case):
        return [case.known["n"]]

    def misconceptions(self, case):
        return {"adds_one": [case.known["n"] + 1], "adds_two": [case.known["n"] + 2], "drops_it": None}


def failed(diagnosis="adds_one", verdict="wrong", **more) -> CaseResult:
    return CaseResult("small", "", 1, verdict, diagnosis, **more)


PASSED = CaseResult("small", "", 1, "passed")
GUESS = failed(guess=True, fits=("adds_one",), hidden=())
FOUND = failed(found=True, fits=("adds_one",), hidden=())
UNRECOGNISED = failed("unrecognised", hidden=())


@pytest.mark.parametrize(
    ("results", "certain"),
    [
        ([PASSED], False),
        ([failed("deadlock", "hung")], True),
        ([PASSED, failed("ValueError", "raised")], True),
        ([failed("too_many_bytes", hidden=None)], True),  # right values, a broken rule
        ([failed("wrong_type", fits=("wrong_type",), hidden=())], True),
        ([GUESS], False),
        ([FOUND], False),
        ([failed("not_carried")], False),
        ([UNRECOGNISED], False),
        ([UNRECOGNISED, failed("deadlock", "hung")], True),
        ([GUESS, failed("deadlock", "hung")], False),
        ([failed("not_carried"), failed("deadlock", "hung")], False),
    ],
)
def test_a_name_is_certain_where_nothing_can_take_it_away(results, certain):
    assert is_certain(results) == certain


some_names = st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple)
results = st.one_of(
    st.just(PASSED),
    st.sampled_from(
        [failed("deadlock", "hung"), failed("too_slow", "too_slow"), failed("not_carried"), failed("adds_one")]
    ),
    st.builds(lambda fits, hidden: failed("unrecognised", fits=fits, hidden=hidden), some_names, some_names),
    st.builds(
        lambda name, fits, hidden, guess: failed(name, fits=(name, *fits), hidden=hidden, guess=guess, found=not guess),
        st.sampled_from(NAMES),
        some_names,
        some_names,
        st.booleans(),
    ),
)


def decided(results: list[CaseResult]) -> tuple[str, str]:
    results = deepcopy(results)
    keep_names_that_explain_all(Plus(), results)
    whole = Result("", "", "", 1, [LevelResult("small", 1, 0, "wrong", results)])
    return whole.verdict, whole.diagnosis


@settings(max_examples=500, deadline=None)
@given(st.lists(results, min_size=1, max_size=4), st.lists(results, max_size=4))
def test_what_is_certain_stays_whatever_comes(first, later):
    if is_certain(first):
        assert decided(first) == decided([*first, *later])


def judged(warm, body: str, **how) -> Result:
    chunks = slice_cells([Cell(f"def same(n):\n    {body}\n", "cell 1")], ["same"])
    return judge(Plus(), chunks, warm, **how)


@pytest.mark.parametrize(
    ("body", "diagnosis", "cases"),
    [
        ("return 1 / 0", "ZeroDivisionError", 1),
        ("return n + 1", "adds_one", 4),  # recognised by its values: all cases have a say
        ("return n + (1 if n < 9 else 2)", "unrecognised", 4),
        ("return n if n < 9 else str(n)", "wrong_type", 3),
        ("return n", "", 4),
    ],
)
def test_the_judging_ends_where_the_name_is_certain(warm, body, diagnosis, cases):
    whole, named = judged(warm, body), judged(warm, body, until_named=True)
    assert (named.verdict, named.diagnosis) == (whole.verdict, whole.diagnosis) == (whole.verdict, diagnosis)
    assert len(named.cases) == cases and named.max_score == whole.max_score
    assert [level.verdict for level in named.levels] == [level.verdict for level in whole.levels][: len(named.levels)]


def test_what_is_not_as_declared_is_judged_from_start_to_end(warm, monkeypatch, tmp_path):
    tries = []
    real = bank.judge_with

    def noted(*arguments, until_named, **named):
        tries.append(until_named)
        return real(*arguments, until_named=until_named, **named)

    monkeypatch.setattr(bank, "judge_with", noted)
    folder = tmp_path / "00_start_here" / "right_neighbour"
    folder.mkdir(parents=True)
    (folder / "wrong_raises.py").write_text(
        "# verdict: wrong, diagnosis: turns_left\ndef right_neighbour(*a):\n    return 1 / 0\n"
    )
    [one] = bank.run(warm, tmp_path, until_named=True)
    assert tries == [True, False] and not one.as_declared and one.result.diagnosis == "ZeroDivisionError"
    assert len(one.result.levels) == len(one.answer.exercise.levels)


def test_ranks_serve_one_answer_after_the_other_and_what_one_leaves_there_harms_no_other(warm, monkeypatch, tmp_path):
    folder = tmp_path / "00_start_here" / "right_neighbour"
    folder.mkdir(parents=True)
    right = "def right_neighbour(rank, world_size):\n    return divmod(rank + 1, world_size)[1]\n"
    leaves = "import builtins\nbuiltins.divmod = lambda a, b: (0, a)\n"
    for name, more in (("right_a", ""), ("right_b_leaves_something", leaves), ("right_c", ""), ("right_d", "")):
        text = right if not more else right.replace("divmod(rank + 1, world_size)[1]", "(rank + 1) % world_size")
        (folder / f"{name}.py").write_text(f"# verdict: passed\n{more}{text}")
    made = []

    class Counted(runners.RankSet):
        def __init__(self, *arguments, **named):
            made.append(self)
            super().__init__(*arguments, **named)

    monkeypatch.setattr(runners, "RankSet", Counted)
    tried = bank.run(warm, tmp_path, until_named=True)
    used = len(made)
    made.clear()
    bank.run(warm, tmp_path)
    assert [one.as_declared for one in tried] == [True] * 4
    assert used < len(made) == 4


def test_the_first_answer_and_every_so_many_th_are_tried():
    everything = list(bank.answers(unit="03_collectives", exercise="ring_all_reduce"))
    wrong = [answer.name for answer in everything if not answer.right]
    some = list(bank._some(iter(everything), 5))
    assert [answer.name for answer in some if not answer.right] == wrong[::5] != wrong
    assert [answer.name for answer in some if answer.right] == [answer.name for answer in everything if answer.right]
    right = [answer.name for answer in everything if answer.right]
    assert [one.name for one in bank._some(iter(everything), 5, 2) if one.right] == right[::2] != right
    assert list(bank._some(iter(everything), 1)) == everything
