"""The house: who may import whom (contracts in pyproject.toml), what lessons know of labkit, how long things may be."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from autograder import content

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted(
    path
    for folder in ("units", "homework", "job_scripts/programs")
    for path in (ROOT / folder).rglob("*.py")
    if not {".ipynb_checkpoints", *content.GRADERS} & set(path.parts)
)
WINGS_OF_LESSONS = {"lessons", "meshrun", "plots", "ranks", "scale", "schedules"}  # besides the files in labkit itself


def test_contracts_of_imports_are_kept():
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
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


def imported_modules(name: str, path: Path) -> set[str]:
    """What a file names in its imports, wherever they stand. `from package import name` names the package, too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = name.split(".")[: -node.level] if node.level else []
            package = ".".join([*base, *filter(None, [node.module])])
            found |= {package, *(f"{package}.{alias.name}" for alias in node.names)}
    return found - {name}


def test_no_module_imports_itself_in_a_circle():
    """Packages count as modules: a module that imports a sibling through its own package waits for that package."""
    files = {}
    for path in (file for package in ("labkit", "autograder", "probes") for file in (ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {name: imported_modules(name, path) & files.keys() for name, path in files.items()}
    sorter = graphlib.TopologicalSorter(graph)
    sorter.prepare()  # raises CycleError, with the circle


def test_modules_that_attacks_name_are_there():
    """An attack on a module that has another name now would fail for that reason, and prove nothing."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "attacks").rglob("*.py"))
    names = set(re.findall(r"[\"']((?:labkit|autograder|probes)(?:\.[a-z_]+)+)[\"']", text))
    assert names
    for name in names:
        import_module(name)


# --- budgets: a reader's patience -------------------------------------------------------------------------------------

LONGEST_FILE, LONGEST_FUNCTION = 600, 40  # lines
ROOT_FILES, ROOT_LINES = 20, 4500  # of labkit itself, which students read
REASON = re.compile(r"\blong,? because\b", re.IGNORECASE)  # a docstring that says so may be of something longer
EXERCISES = ROOT / "autograder" / "exercises"  # kinds and readings, which exercises share
PARTS = [
    path
    for part in ("labkit", "probes", "autograder", "tools")
    for path in sorted((ROOT / part).rglob("*.py"))
    if EXERCISES not in path.parents
]


def too_long(path: Path) -> list[str]:
    """The file, and the functions in it, that are longer than they may be and give no reason."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    found = []
    if text.count("\n") > LONGEST_FILE and not REASON.search(ast.get_docstring(tree) or ""):
        found.append(f"{path.relative_to(ROOT)} has {text.count(chr(10))} lines")
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = node.end_lineno - node.lineno + 1
            if lines > LONGEST_FUNCTION and not REASON.search(ast.get_docstring(node) or ""):
                found.append(f"{path.relative_to(ROOT)}: {node.name} has {lines} lines")
    return found


def test_no_file_and_no_function_is_long_without_a_reason():
    found = [said for path in PARTS for said in too_long(path)]
    assert not found, "\n".join(found)


QUESTION_WORDS = ("How", "Of", "What", "Where", "Whether", "Which", "Who")


def first_words(path: Path) -> list[tuple[str, str]]:
    """(place, first word) of each docstring of a file, but those of exercises: there the first line is a title."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text and not (isinstance(node, ast.ClassDef) and path.parent == EXERCISES):
                found.append((f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", text.split()[0]))
    return found


def test_a_docstring_begins_with_what_is_returned_or_done():
    """A noun or an imperative: "The number of ranks", not "How many ranks there are"."""
    folders = ("labkit", "probes", "autograder", "tools", "benchmarks", "images", "job_scripts")
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert [place for path in paths for place, word in first_words(path) if word in QUESTION_WORDS] == []


def test_the_root_of_labkit_stays_small():
    files = sorted((ROOT / "labkit").glob("*.py"))
    assert len(files) <= ROOT_FILES
    assert sum(path.read_text(encoding="utf-8").count("\n") for path in files) <= ROOT_LINES


def test_a_function_that_grows_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text("def long():\n" + "    x = 1\n" * 40)
    assert too_long(path) == ["module.py: long has 41 lines"]
    path.write_text('def long():\n    """Long because it is a table."""\n' + "    x = 1\n" * 600)
    assert too_long(path) == ["module.py has 602 lines"]
