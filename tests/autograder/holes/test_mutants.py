"""What each operator makes of a line, and how mutants are named."""

from __future__ import annotations

import ast

import pytest

from autograder.holes.mutants import mutants
from autograder.holes.operators import OPERATORS

MADE = [
    ("comparison turned", "return a < b <= c", ["return a <= b <= c", "return a < b < c"]),
    ("comparison turned", "return a == b", ["return a != b"]),
    ("comparison turned", "return a is not None", ["return a is None"]),
    ("branch always taken", "return a if b else c", ["return a if True else c"]),
    ("branch always taken", "return [n for n in a if n]", ["return [n for n in a if True]"]),
    ("branch never taken", "while a: a = b", ["while False: a = b"]),
    ("and for or", "return a and b", ["return (a or b)"]),
    ("part of a condition dropped", "return a or b == c", ["return (b == c)", "return a"]),
    ("part of a condition dropped", "return a < b < c", ["return a < b", "return b < c"]),
    ("not dropped", "return not a", ["return a"]),
    ("not dropped", "return -a", ["return a"]),
    ("one more", "return a[0]", ["return a[1]"]),
    ("one less", "return a[0]", ["return a[-1]"]),
    ("one less", "return a + 3", ["return a + 2"]),
    ("index one further", "return a[b]", ["return a[b + 1]"]),
    ("range one shorter", "return range(a, b)", ["return range(a, b - 1)", "return range(a + 1, b)"]),
    ("true for false", "return f(a, b=True)", ["return f(a, b=False)"]),
    ("term dropped", "return a + b * c", ["return a", "return (b * c)"]),
    ("term dropped", "return a - b", ["return a"]),
    ("factor dropped", "return (a + b) * c", ["return (a + b)", "return c"]),
    ("factor dropped", "return a % b", ["return a"]),
    ("minus for plus", "return a + b", ["return a - b"]),
    ("// for /", "return a // b", ["return a / b"]),
    ("min for max", "return max(a, b)", ["return min(a, b)"]),
    ("min for max", "return a.isinf().any()", ["return a.isinf().all()", "return a.isnan().any()"]),
    ("min for max", "return dist.ReduceOp.SUM", ["return dist.ReduceOp.MAX"]),
    ("narrower type", "return torch.zeros(a, dtype=torch.float64)", ["return torch.zeros(a, dtype=torch.float32)"]),
    ("narrower type", "return a.double()", ["return a.float()"]),
    ("call around dropped", "return sorted(a)", ["return a"]),
    ("call around dropped", "return int(a)", ["return a"]),
    ("method dropped", "return a.clone()", ["return a"]),
    ("method dropped", "return a.contiguous()", ["return a"]),
    ("len for numel", "return a.numel()", ["return len(a)"]),
    ("len for numel", "return a.size", ["return len(a)"]),
    ("argument dropped", "return f(a, b=1, c=2)", ["return f(a, c=2)", "return f(a, b=1)"]),
    ("end of a slice dropped", "return a[b:c]", ["return a[:c]", "return a[b:]"]),
    ("slice from the end", "return a[len(a) - b:]", ["return a[-b:]"]),
    ("statement dropped", "a.wait()", ["pass"]),
    ("statement dropped", "a[0] = b", ["pass"]),
    ("statement dropped", "a = a + b", ["pass"]),
    ("not raised", "raise ValueError(a)", ["pass"]),
    ("break for continue", "for b in a: break", ["for b in a: continue", "for b in a: pass"]),
    ("in place", "a = a + b", ["a += b"]),
    ("returned as a list", "return a", ["return list(a)"]),
    ("returned as a tuple", "return a", ["return tuple(a)"]),
    ("returned as an array", "return a", ['return __import__("numpy").asarray(a)']),
    ("returned as a numpy scalar", "return a", ['return __import__("numpy").float64(a)']),
    ("returned as a tensor", "return a", ['return __import__("torch").as_tensor(a)']),
    ("returned as a 0-d tensor", "return a", ['return __import__("torch").tensor(float(a))']),
]


def of(source: str, operator: str) -> list:
    return [mutant for mutant in mutants(source, "f") if mutant.operator == operator]


@pytest.mark.parametrize(("operator", "line", "made"), MADE)
def test_an_operator_changes_one_place(operator, line, made):
    found = of(f"def f(a, b, c):\n    {line}\n", operator)
    assert sorted(mutant.new for mutant in found) == sorted(made)
    assert {mutant.old for mutant in found} == {line} and {mutant.line for mutant in found} == {2}


def test_a_default_is_removed():
    found = of("def f(a, b=1, c=2, *, d=3, e):\n    return a + b + c\n", "default removed")
    assert [m.new for m in found] == ["def f(a, b=1, c=2, *, d, e):", "def f(a, b, c=2, *, d=3, e):"][::-1]


def test_every_operator_is_shown_here():
    assert {operator for operator, _, _ in MADE} | {"default removed"} == set(OPERATORS)


SOURCE = '''# verdict: passed
import numpy as np


def f(values, limit):
    """Not 1 but 2: a docstring is no code."""
    größe = f"{1 + 2} é"
    above = [v for v in values if v > limit]  # a comment stays
    return (
        len(above)
        + 1
    )
'''


def test_everything_else_stays_as_it_is_written():
    made = mutants(SOURCE, "f")
    assert len(made) >= 10 and len({m.source for m in made}) == len(made)
    for mutant in made:
        before, after = SOURCE.splitlines(), mutant.source.splitlines()
        assert after[:7] == before[:7] and after[-1] == before[-1], mutant
        assert "# a comment stays" in mutant.source


def test_names_and_identities_are_unique_and_in_order():
    source = "def f(a):\n    if a > 0 and a > 0:\n        return 1 + 1\n    if a > 0 and a > 0:\n        return 1 + 1\n"
    made = mutants(source, "f")
    assert len({m.identity for m in made}) == len(made)
    assert [(m.line, m.column) for m in made] == sorted((m.line, m.column) for m in made)
    assert [m.name for m in made] == [m.name for m in mutants(source, "f")]
    again = {m.identity for m in mutants("import os\n\n\n" + source, "f")}
    assert again == {m.identity for m in made}, "an edit elsewhere changes no identity"


def test_the_same_program_is_made_once():
    source = "def f(a):\n    return a[0] * 1\n"
    programs = [ast.dump(ast.parse(m.source)) for m in mutants(source, "f")]
    assert len(set(programs)) == len(programs) and ast.dump(ast.parse(source)) not in programs
