"""The core of a unit needs no stretch exercise: what a core cell runs is written by a student who left the stretch out."""

from __future__ import annotations

import re
import symtable
import sys
from collections.abc import Iterator
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_notebooks as builder  # noqa: E402
import lesson_time  # noqa: E402

RUN_AT_ONCE = {"listcomp", "setcomp", "dictcomp", "genexpr"}  # scopes, not definitions
# Cells that ask first: {(unit, exercise): why}
ASKS = {
    ("03_collectives", "tree_all_reduce"): "its row is left out of the table where it is not written",
    ("18_networks", "halved"): "its rows are left out of the table where it is not written",
}


def cells(unit: str) -> Iterator[tuple[bool, str]]:
    """(stretch, source) of each code cell of a unit's page."""
    level = 0
    for cell in jupytext.read(builder.source_of(ROOT, unit), fmt="py:percent").cells:
        if cell.cell_type == "code":
            yield level > 0, re.sub(r"^[%!].*$", "", cell.source, flags=re.MULTILINE)
            continue
        title = re.search(
            r"^(#+) (.*)$", re.sub(r"^```.*?^```$", "", cell.source, flags=re.DOTALL | re.MULTILINE), re.M
        )
        if title:
            level = 0 if level and len(title[1]) <= level else level
            level = len(title[1]) if not level and lesson_time.STRETCH.search(title[2]) else level


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from scopes(child)


def needs(table: symtable.SymbolTable) -> set[str]:
    """The global names that a scope, and what is in it, refers to."""
    top = table.get_type() == "module"
    names = {one.get_name() for one in table.get_symbols() if one.is_referenced() and (top or one.is_global())}
    inside = [child for child in table.get_children() if not top or child.get_name() in RUN_AT_ONCE]
    return names.union(*map(needs, inside))


def program(source: str) -> symtable.SymbolTable | None:
    try:
        return symtable.symtable(source, "cell", "exec")
    except SyntaxError:  # another language under %%writefile or %%bash
        return None


def needs_stretch(unit: str) -> set[str]:
    """What core cells run of stretch exercises, directly or through the page's own functions."""
    read = [(stretch, source, table) for stretch, source in cells(unit) if (table := program(source))]
    definitions = [child for _, _, table in read for child in table.get_children() if child.get_type() != "annotation"]
    missing = {
        child.get_name()
        for stretch, source, table in read
        if stretch and "### BEGIN SOLUTION" in source
        for child in table.get_children()
    }
    size = -1
    while size != len(missing):
        size = len(missing)
        missing |= {one.get_name() for one in definitions if missing & needs(one)}
    return {name for stretch, _, table in read if not stretch for name in missing & needs(table)}


@pytest.mark.parametrize("unit", builder.units(ROOT))
def test_a_core_cell_runs_no_stretch_exercise(unit):
    asks = {name for of, name in ASKS if of == unit}
    assert needs_stretch(unit) == asks


def test_what_a_core_cell_needs_is_found(monkeypatch):
    page = [
        (True, "def hard(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION"),
        (False, "def given(hard):\n    return hard\n\n\ndef through(x):\n    return [hard(one) for one in x]"),
        (False, "given(1)"),
    ]
    monkeypatch.setattr(sys.modules[__name__], "cells", lambda unit: iter(page))
    assert needs_stretch("unit") == set()
    page.append((True, "print(hard(1))"))
    assert needs_stretch("unit") == set()
    page.append((False, "print(through([1]))"))
    assert needs_stretch("unit") == {"through"}
    page.append((False, "print([hard(1) for _ in range(2)])"))
    assert needs_stretch("unit") == {"through", "hard"}
