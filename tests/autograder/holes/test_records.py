"""The records of the course: each has a reason, and each mutant can still be made."""

from __future__ import annotations

import pytest

from autograder import content
from autograder.holes import records
from autograder.holes.operators import OPERATORS
from autograder.registry import all_exercises

UNITS = sorted({exercise.unit for exercise in all_exercises()})


@pytest.mark.parametrize("unit", UNITS)
def test_every_record_has_a_reason_and_a_mutant(unit):
    assert records.without_reason(unit) == []
    assert records.stale(unit) == []


def test_files_are_those_of_units_and_operators_those_there_are():
    folders = {path.parent.name for path in content.root().glob("units/*/holes.toml")}
    assert folders <= {*UNITS, *content.course().left_out}
    accepted = records.accepted()
    assert set(accepted) <= set(OPERATORS) and all(reason.endswith(".") for reason in accepted.values())


def test_a_file_that_says_something_else_is_refused(tmp_path):
    entry = '[[equivalent]]\nanswer = "f/right_a.py"\nreason = "So."\n'
    for text, says in [
        ("[[equal]]\n", "and nothing else"),
        (entry, "an entry has"),
        (entry + 'mutants = [["one more", "a"]]\n', "a mutant is"),
        ("[", "90_toy.toml"),
    ]:
        (tmp_path / "90_toy.toml").write_text(text)
        with pytest.raises(records.BadRecord, match=says):
            records.equivalents("90_toy", tmp_path)


def test_what_is_written_is_read_back(tmp_path):
    kept = [
        records.Equivalent("f/right_a.py", 'Says "so" é.', (("one more", "a\nb", "c", 0), ("one less", "a", "b", 2)))
    ]
    records.write("90_toy", kept, tmp_path)
    assert records.equivalents("90_toy", tmp_path) == kept
    records.write("90_toy", [], tmp_path)
    assert not (tmp_path / "90_toy.toml").exists()
