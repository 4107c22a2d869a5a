"""The file of an exercise's answers: what is read is what was written, and an edit says at which place it changes what."""

from __future__ import annotations

import ast

import pytest

from autograder import answers
from autograder.answers import BadBank, Entry, edits

FILE = """\
# Right and wrong answers to `root`. In files of their own: autograder bank --write DIR
import math

# %% right_formula: passed
# differs: The library's root.
def root(x):
    if x < 0:
        return 0.0
    return math.sqrt(x)

# %% right_power: passed
def root(x):
    return x**0.5

# %% wrong_half (right_formula): wrong, halves, levels 1 0
-    return math.sqrt(x)
+    return x / 2

# %% wrong_numpy: wrong, lost_digits
import numpy as np


def root(x):
    return math.fsum([np.float32(x)]) ** 0.5
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "01_unit" / "root.py"
    path.parent.mkdir()
    path.write_text(FILE)
    return path


def test_an_answer_has_its_first_line_and_the_imports_whose_names_it_uses(file):
    formula, power, half, own = answers.read(file)
    assert formula.source == (
        "# verdict: passed\n# differs: The library's root.\nimport math\n\n\n"
        "def root(x):\n    if x < 0:\n        return 0.0\n    return math.sqrt(x)\n"
    )
    assert power.source == "# verdict: passed\ndef root(x):\n    return x**0.5\n"
    assert half.source == (
        "# verdict: wrong, diagnosis: halves\ndef root(x):\n    if x < 0:\n        return 0.0\n    return x / 2\n"
    )
    assert own.source.startswith("# verdict: wrong, diagnosis: lost_digits\nimport math\nimport numpy as np\n\n\ndef")
    assert [entry.levels for entry in (formula, half, own)] == [None, (True, False), None]
    assert formula.right and not half.right


def test_what_is_folded_is_the_file_again(file):
    assert answers.folded("root", answers.read(file)) == FILE


def test_files_of_their_own_come_back_and_what_has_not_changed_keeps_its_levels(file, tmp_path):
    own = tmp_path / "own"
    assert answers.unfold(file.parents[1], "01_unit", "root", own) == 4
    assert answers.exercises(own) == answers.exercises(file.parents[1]) == [("01_unit", "root")]
    assert answers.of_exercise(own, "01_unit", "root")[0].source == answers.read(file)[0].source
    assert answers.fold(own, "01_unit", "root", file.parents[1]) == 4 and file.read_text() == FILE
    changed = own / "01_unit" / "root" / "wrong_half.py"
    changed.write_text(changed.read_text().replace("x / 2", "x // 2"))
    answers.fold(own, "01_unit", "root", file.parents[1])
    assert "# %% wrong_half (right_formula): wrong, halves\n" in file.read_text(), "its levels are to be recorded again"


def test_levels_are_written_into_the_heads_of_wrong_answers_and_nothing_else_changes(file):
    answers.with_levels(file, {"wrong_numpy": (False, True), "right_power": (True, True), "wrong_gone": (True,)})
    assert file.read_text() == FILE.replace("lost_digits\n", "lost_digits, levels 0 1\n")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "# %% wrong_half (right_formula): wrong, halves, levels 1 0",
            "# %% wrong_half wrong",
            "root.py:15: a head is",
        ),
        ("right_power: passed", "right_formula: passed", "root.py:11: a head is"),
        ("(right_formula)", "(right_cube)", "root.py:15: right_cube, of which it is an edit, does not stand above it"),
        ("-    return math.sqrt(x)", "-    return sqrt(x)", "root.py:15: 0 places"),
        ("+    return x / 2", "    return x / 2", "root.py:15: 0 places"),
        ("+    return x / 2", "return x / 2", "begin with '-', '\\+' or a blank"),
        ("right_power: passed", "right_power: wrong, halves", "a right answer must pass"),
        ("wrong, lost_digits", "wrong", "must name its verdict and diagnosis"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(file, old, new, says):
    assert old in FILE
    file.write_text(FILE.replace(old, new))
    with pytest.raises(BadBank, match=says):
        answers.read(file)


def test_a_file_of_its_own_must_say_what_it_gets(tmp_path):
    place = tmp_path / "01_unit" / "root"
    place.mkdir(parents=True)
    for name, text in (("right_a.py", "def root(x): ...\n"), ("other.py", "# verdict: passed\n")):
        (place / name).write_text(text)
        with pytest.raises(BadBank, match=f"{name}: call it"):
            answers.of_exercise(tmp_path, "01_unit", "root")
        (place / name).unlink()


BASE = "def f(a):\n    b = 0\n    for k in a:\n        b += k\n\n    for k in a:\n        b += k\n    return b".split(
    "\n"
)


@pytest.mark.parametrize(
    "program",
    [
        [*BASE[:3], "        b += 1", *BASE[4:]],  # the line that goes stands at two places
        [*BASE[:3], *BASE[4:6], *BASE[7:]],
        ["x = 0", *BASE],
        [*BASE, "", "", "def g(): ..."],
        [*BASE[:4], "    b = 1", *BASE[4:]],
        [*BASE[:1], "    c = 0", *BASE[1:6], "        c += k", "        b -= k", *BASE[7:]],
    ],
)
def test_an_edit_makes_the_program_it_was_made_for(program):
    base = [*BASE, *(f"    # {k}" for k in range(12))]  # so that an edit is shorter than the whole
    program = [*program, *base[len(BASE) :]]
    name, lines = edits.shortest({"right_other": ["pass"], "right_one": base}, program)
    assert name == "right_one" and len(lines) < len(program)
    assert edits.edited(base, lines) == program


def test_what_is_no_shorter_as_an_edit_stays_whole():
    assert edits.shortest({"right_one": ["def f():", "    return 1"]}, ["def f():", "    return 2"])[0] is None


def test_the_whole_bank_is_as_it_would_be_written():
    """Its files look alike, whoever wrote them: `--record` writes them so."""
    other = []
    for unit, exercise in answers.exercises(answers.BANK):
        path = answers.file_of(answers.BANK, unit, exercise)
        entries = answers.read(path)
        other += [] if answers.folded(exercise, entries) == path.read_text() else [f"{unit}/{exercise}"]
        for entry in entries:
            if entry.right:
                ast.parse(entry.source)
    assert other == [], "autograder bank UNIT/EXERCISE --record"


def test_a_right_answer_stays_whole_even_if_it_is_nearly_another():
    one = Entry("right_a", "passed", "", "def f():\n    x = 1\n    y = 2\n    return x + y\n")
    two = Entry("right_b", "passed", "", "def f():\n    x = 1\n    y = 2\n    return y + x\n")
    assert answers.folded("f", [two, one]).count("def f():") == 2
