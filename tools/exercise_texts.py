"""Hold the texts of the exercises to one form: purpose, arguments, result, rules, example.

    python tools/exercise_texts.py         what is out of form, in all units
    python tools/exercise_texts.py 17      in unit 17

The text of an exercise is the docstring of the function that a student writes:

    def partition(costs: list[int], p: int) -> list[int]:
        \"\"\"Partition a model into p stages so that the slowest is as fast as possible.

        costs: list of ints, at least 0, the cost of each layer
        p: int, number of stages, at least 1
        Returns: list of p ints, the number of layers of each stage, in order

        - the slowest stage is as fast as possible: a stage is one or more consecutive layers; the
          largest sum of costs in a stage is as small as possible.
        - more stages than layers: raise ValueError.

        Example: partition([1, 1, 4, 2, 4, 5], 3) == [3, 2, 1]
        \"\"\"

1. The purpose: one sentence.
2. Each argument in the order of the signature, with its type, shape and unit; then "Returns:", or "Changes:" for a
   function that returns None. An int is held against the class's signature, or the text says what else will do.
3. The rules, as a list: one for each level of the card, which it names, in the card's order; then those for all levels
   ("- messages: ...").
4. An example with numbers. Where it is an equation between Python expressions it is computed, with the reference.

An exercise without a docstring (a script, a class) has its rules as a list in the text above its cell.
"""

from __future__ import annotations

import argparse
import ast
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import build_notebooks as builder  # noqa: E402
import jupytext  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

from autograder import answers, content  # noqa: E402
from autograder.exercise import Exercise  # noqa: E402
from autograder.registry import all_exercises, find  # noqa: E402

_ITEM = re.compile(r"^([\w*, ]+): (.+)$", re.DOTALL)
_EXAMPLE = "Example: "


@dataclass(frozen=True)
class DescribedCell:
    """The cell above, the docstring, its parameters' names, and how the list of these may end."""

    above: str
    docstring: str
    parameters: tuple[str, ...]
    ends: tuple[str, ...]


def text_of(exercise: Exercise, root: Path | None = None) -> DescribedCell | None:
    """The text of an exercise on its unit's page, or None where the page does not define its function. root: the
    course's folder (default: the one that is served)."""
    cells = jupytext.read(builder.source_of(root or content.root(), exercise.unit), fmt="py:percent").cells
    for above, cell in zip([None, *cells], cells, strict=False):
        if cell.cell_type == "code" and "### BEGIN SOLUTION" in cell.source:
            found = _definition(cell.source, exercise.function)
            if found is not None:
                prose = above.source if above is not None and above.cell_type == "markdown" else ""
                return DescribedCell(prose, ast.get_docstring(found) or "", *_signature(found))
    return None


def _definition(source: str, name: str) -> ast.FunctionDef | ast.ClassDef | None:
    code = re.sub(r"^[%!].*$", "", source, flags=re.MULTILINE)
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return None
    return next((one for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef) and one.name == name), None)


def _signature(found: ast.FunctionDef | ast.ClassDef) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parameters' names, and "Returns" or "Changes", as the annotation says; both where there is none."""
    if isinstance(found, ast.ClassDef):
        return (), ()
    arguments = [*found.args.posonlyargs, *found.args.args, *found.args.kwonlyargs]
    nothing = isinstance(found.returns, ast.Constant) and found.returns.value is None
    ends = ("Returns", "Changes") if found.returns is None else ("Changes",) if nothing else ("Returns",)
    return tuple(argument.arg for argument in arguments), ends


def out_of_form(exercise: Exercise, root: Path | None = None) -> list[str]:
    """A sentence for each part of the form that the text of an exercise lacks; none: it is in form."""
    text = text_of(exercise, root)
    if text is None or not text.docstring:
        return _rules(exercise, re.split(r"\n(?=- )", text.above if text else ""))
    paragraphs = text.docstring.split("\n\n")
    rules = [part for part in paragraphs if part.startswith("- ")]
    items = [part for part in paragraphs[1:] if _ITEM.match(part) and not part.startswith(("- ", _EXAMPLE))]
    return [
        *_purpose(paragraphs[0]),
        *_arguments(text, items[0] if items else ""),
        *_whole_numbers(exercise, items[0] if items else ""),
        *_rules(exercise, re.split(r"\n(?=- )", "\n".join(rules))),
        *_example(exercise, paragraphs[-1]),
    ]


def _purpose(paragraph: str) -> list[str]:
    sentences = re.findall(r"[.!?](?=\s|$)", re.sub(r"\b(e\.g|i\.e|cf)\.", "", paragraph))
    return [] if len(sentences) == 1 and paragraph.endswith(".") else ["begin with one sentence that says the purpose"]


def _arguments(text: DescribedCell, paragraph: str) -> list[str]:
    """Items begin at the margin, their further lines are indented."""
    items = [_ITEM.match(item) for item in re.split(r"\n(?=\S)", paragraph)]
    heads = [head.strip() for item in items if item for head in item[1].split(",")]
    if None not in items and any(heads == [*text.parameters, last] for last in text.ends):
        return []
    return [f"name in this order, each with a colon: {', '.join([*text.parameters, ' or '.join(text.ends)])}"]


def _whole_numbers(exercise: Exercise, paragraph: str) -> list[str]:
    """A sentence where the text asks for an int and an answer that returns something else would pass."""
    said = set(re.findall(r"\w+", paragraph.partition("Returns: ")[2]))
    looked_at = "int" in re.findall(r"\w+", exercise.returns)
    if looked_at or not said & {"int", "ints"} or said & {"float", "tensor", "array"}:
        return []
    return ["the text returns an int: name it in the signature of the class, or say here what else will do"]


def _rules(exercise: Exercise, bullets: list[str]) -> list[str]:
    named = [level for bullet in bullets for level in exercise.levels if bullet.startswith(f"- {level}: ")]
    if named == list(exercise.levels):
        return []
    return [f"a rule for each level, which begins with its name: {'; '.join(exercise.levels)}"]


def _example(exercise: Exercise, paragraph: str) -> list[str]:
    if not paragraph.startswith(_EXAMPLE):
        return ['end with "Example: ", with numbers']
    equation = " ".join(paragraph.removeprefix(_EXAMPLE).rstrip(".").split())
    if " == " not in equation or exercise.runtime != "plain":
        return []
    return [] if _holds(exercise, equation) else [f"the reference says otherwise: {equation}"]


def _holds(exercise: Exercise, equation: str) -> bool:
    names = {"math": math, "np": np, "torch": torch}
    for function in (*exercise.uses, exercise.function):
        exec(_right_answer(find(function)), names)
    left, right = (eval(side, names) for side in equation.split(" == "))
    return _alike(left, right)


def _alike(left: object, right: object) -> bool:
    """True for a result that an example names to three digits, a tuple for a list included."""
    if isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_alike, left, right))
    return math.isclose(left, right, rel_tol=0.001) if isinstance(right, float) else left == right


def _right_answer(exercise: Exercise) -> str:
    sources = answers.sources(exercise.unit, exercise.function)
    return next(source for name, source in sources.items() if name.startswith("right"))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("unit", nargs="?", default="", help="a unit's number")
    unit = parser.parse_args(arguments).unit
    count = 0
    for exercise in all_exercises():
        if exercise.unit.startswith(unit):
            for lack in out_of_form(exercise):
                print(f"{exercise.unit[:2]}/{exercise.function}: {lack}")
                count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
