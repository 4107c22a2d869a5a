"""Exercises of a page: the archive that a browser gets judges them where neither numpy nor torch can be imported, as
the course does here."""

import json
import os
import subprocess
import sys
import zipfile

import pytest
from playable import declared, needs_packages

from autograder.browser.names import EXERCISES, PUZZLES
from autograder.exercise import drawn
from autograder.judging import bank
from autograder.registry import find
from tools.site.play import bundle

# Runs in a process that sees the archive and Python's own library, nothing else.
PROGRAM = """
import json, sys

sys.modules["numpy"] = sys.modules["torch"] = None
sys.path[:0] = [sys.argv[1]]
from autograder.browser import session

assert sys.modules["numpy"] is None and not [path for path in sys.path if "site-packages" in path]
from autograder.exercise import drawn
from autograder.registry import find


def verdict(function, source):
    result = session.judged(function, source)
    return None if result is None else [
        result.verdict, result.diagnosis, [level.verdict == "passed" for level in result.levels]
    ]


for kind, *asked in map(json.loads, sys.stdin):
    if kind == "judge":
        print(json.dumps(verdict(*asked)))
    elif kind == "tell":
        print(session.told(*asked))
    else:
        print(json.dumps(repr([case.arguments for case in drawn(find(asked[0]))])))
"""


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    """Asks the archive's own code many things at once: [["judge", function, source], ...] -> what it says."""
    folder = tmp_path_factory.mktemp("browser")
    bundle.bundle(folder / bundle.NAME)
    with zipfile.ZipFile(folder / bundle.NAME) as archive:
        archive.extractall(folder / "course")

    def ask(asked: list[list]) -> list:
        lines = "".join(json.dumps(one) + "\n" for one in asked)
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(folder / "course")]
        ran = subprocess.run(command, input=lines, capture_output=True, text=True, env={**os.environ, "COURSE": ""})
        assert ran.returncode == 0, ran.stderr
        return list(map(json.loads, ran.stdout.splitlines()))

    return ask


def some_answers(function: str) -> list[bank.BankAnswer]:
    """Of a puzzle all; of another exercise two right and two wrong ones, and all that need numpy."""
    every = list(bank.answers(exercise=function))
    if function in PUZZLES:
        return every
    plain = [answer for answer in every if not needs_packages(answer)]
    right, wrong = ([one for one in plain if one.right is kind] for kind in (True, False))
    few = right[: 0 if function == "best_mesh" else 2]  # a right best_mesh takes seconds
    return [*few, *wrong[:2], *(one for one in every if one not in plain)]


def test_the_bank_is_judged_without_numpy_as_it_is_with_it(inside):
    answers = [answer for function in PUZZLES + EXERCISES for answer in some_answers(function)]
    found = inside([["judge", answer.exercise.function, answer.source] for answer in answers])
    assert len(found) == len(answers) > 100
    for answer, said in zip(answers, found, strict=True):
        if needs_packages(answer):
            assert said is None, answer.file
            continue
        wanted = declared(answer)
        assert said[:2] == wanted[:2], answer.file
        assert wanted[2] is None or said[2] == wanted[2], answer.file


def test_cases_are_the_same(inside):
    functions = PUZZLES + EXERCISES
    wanted = [repr([case.arguments for case in drawn(find(function))]) for function in functions]
    assert inside([["cases", function] for function in functions]) == wanted


def test_what_a_reader_is_told(inside):
    in_turn = 'def two_alive():\n    return [" ".join(f"F{k} B{k}" for k in range(8))] * 4\n'
    told = inside(
        [
            ["tell", "two_alive", in_turn],
            ["tell", "two_alive", "def two_alive(:\n"],
            ["tell", "two_alive", "import numpy\ndef two_alive():\n    return numpy.array(3)\n"],
            ["tell", "bubble", "def bubble(p, m, v=1):\n    return bubble(p, m, v)\n"],
        ]
    )
    slow, broken, other, deep = told
    assert slow["verdict"] == "wrong" and slow["picture"].startswith("<svg") and "0 of 2" in slow["card"]
    assert slow["numbers"].startswith("96 slots, 88 % above the bound of 51; most alive on ranks 0 to 3: 1, 1, 1, 1")
    assert broken["verdict"] == "missing" and "Line 1 is no valid Python" in broken["card"]
    assert other["verdict"] == "not_judged" and "numpy" in other["said"] and "may well be right" in other["card"]
    assert "RecursionError" in deep["said"] and not deep["picture"]
