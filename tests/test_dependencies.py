"""The packages that the course uses: each with its reason in pyproject.toml, and no pin in the lock file that none of
them needs.
"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from labkit.environment import FRAMEWORKS_PYTHON

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
GROUPS = tomllib.loads(TEXT)["dependency-groups"]
HAS_FRAMEWORKS = sys.version_info[:2] == FRAMEWORKS_PYTHON
FRAMEWORKS = "horovod"  # the group of what only Python 3.11 has
CODE = ("labkit", "autograder", "probes", "tools", "benchmarks", "images", "job_scripts", "solutions")
OURS = {"horovod", "tensorflow", "keras"} if not HAS_FRAMEWORKS else {"horovod"}  # compiled here, or not there
PLAIN = {"numpy", "torch", "mpi4py", "jupyterhub", "nbgrader", "sphinx", "tensorflow-cpu"}  # the course is about these
PLAIN |= {"pytest", "pytest-timeout", "pytest-xdist", "ruff", "import-linter", "sphinx-book-theme"}  # known by name


def direct() -> set[str]:
    """The names of the packages that this Python gets because the course itself uses them."""
    groups = [entries for group, entries in GROUPS.items() if group != FRAMEWORKS or HAS_FRAMEWORKS]
    return {canonicalize_name(entry) for entries in groups for entry in entries if isinstance(entry, str)}


def locked() -> set[str]:
    """The names in the lock file of this Python."""
    minor = "" if sys.version_info[:2] == (3, 11) else f".{sys.version_info[0]}.{sys.version_info[1]}"
    lines = (ROOT / f"requirements.lock{minor}.txt").read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}


def needed_by(names: set[str]) -> set[str]:
    """These packages and all that they need, as the installed ones say, with the extras that are asked for."""
    todo, seen = [(name, "") for name in names], set()
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            required = map(Requirement, importlib.metadata.requires(name) or [])
        except importlib.metadata.PackageNotFoundError:
            continue
        for one in required:
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                todo += [(canonicalize_name(one.name), asked) for asked in {"", *one.extras}]
    return {name for name, _ in seen}


def imported(path: Path) -> set[str]:
    """The top-level names of the modules that a file imports, standard library left out."""
    tree, found = ast.parse(re.sub(r"(?m)^[%!].*", "", path.read_text(encoding="utf-8"))), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names


def test_every_package_has_its_reason():
    section = TEXT.partition("\n[dependency-groups]\n")[2].partition("\n[")[0]
    lines = [line.strip() for line in section.splitlines() if line.strip().startswith('"')]
    without = {re.match(r'"([^"]+)"', line)[1] for line in lines if "#" not in line}
    assert without == PLAIN


def test_the_lock_file_has_them_all_and_nothing_that_none_of_them_needs():
    assert direct() <= locked()
    assert locked() - needed_by(direct()) == set()


@pytest.mark.parametrize("folder", CODE)
def test_what_the_code_imports_is_among_them(folder):
    packages, names = importlib.metadata.packages_distributions(), direct()
    for path in (ROOT / folder).rglob("*.py"):
        for module in imported(path) - OURS:
            owners = {canonicalize_name(name) for name in packages.get(module, [])}
            ours = not owners or owners == {"distributed-deep-learning-course"}
            assert ours or owners & names, f"{path.relative_to(ROOT)} imports {module}, of {owners}"
