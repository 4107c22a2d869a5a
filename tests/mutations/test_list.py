"""The list of mutations cannot rot silently: each can be made in the tree as it is, and names tests that are there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mutants import BadMutation, Mutation, mutations

ROOT = Path(__file__).resolve().parents[2]
MUTATIONS = mutations()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_can_be_made_and_its_tests_are_there(mutation):
    path = mutation.file(ROOT)
    right = path.read_text(encoding="utf-8")
    wrong = right.replace(mutation.old, mutation.new)
    assert wrong != right
    compile(wrong, str(path), "exec")
    for test in (*mutation.tests, *mutation.cluster):
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text(encoding="utf-8"), test


def test_there_are_forty_and_no_two_are_called_alike():
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 40
    assert all(mutation.says and mutation.tests for mutation in MUTATIONS)


def test_a_text_that_is_gone_or_stands_twice_is_refused():
    for old in ("no such text anywhere", "import os"):
        lost = Mutation("lost", "It is gone.", "labkit/launch", old, "", ())
        with pytest.raises(BadMutation, match="not once"):
            lost.file(ROOT)
