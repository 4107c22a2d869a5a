"""The house: who may import whom (contracts in pyproject.toml), and what lessons and job programs may know of labkit."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted(
    path
    for folder in ("solutions", "homework", "job_scripts/programs")
    for path in (ROOT / folder).rglob("*.py")
    if ".ipynb_checkpoints" not in path.parts
)
WINGS_OF_LESSONS = {"ranks"}  # besides the files in labkit itself


def test_contracts_of_imports_are_kept():
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    ran = subprocess.run([sys.executable, "-c", program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert " 0 broken" in ran.stdout


def modules_of_labkit(path: Path) -> set[str]:
    """The first name below labkit of everything that this file imports."""
    found = set()
    for node in ast.walk(ast.parse(re.sub(r"^([ \t]*)[%!]", r"\1# ", path.read_text(encoding="utf-8"), flags=re.M))):
        if isinstance(node, ast.ImportFrom) and node.module == "labkit":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labkit."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("labkit.")}
    return found


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: str(path.relative_to(ROOT)))
def test_lessons_import_what_lies_in_labkit_itself(path):
    names = {file.stem for file in (ROOT / "labkit").glob("*.py")} | WINGS_OF_LESSONS
    assert modules_of_labkit(path) <= names


def test_modules_that_attacks_name_are_there():
    """An attack on a module that has another name now would fail for that reason, and prove nothing."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "attacks").rglob("*.py"))
    names = set(re.findall(r"[\"']((?:labkit|autograder|probes)(?:\.[a-z_]+)+)[\"']", text))
    assert names
    for name in names:
        import_module(name)
