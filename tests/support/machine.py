"""What a machine may lack that some tests need, and which of the three tiers a test belongs to for it. Everything about
tiers is here.

    make test           what any Linux gives an ordinary user, without root, ssh, a browser or a compiler
    make test-cluster   what needs one of `CLUSTER`: root, a Slurm, hosts of one's own, ssh, a browser, Debian
    make test-all       both, each with many more random cases (`FULL`), and what is marked `full`

A test says what it needs by `@needs("browser")`, by `pytest.param(..., marks=needs("root"))`, or by a fixture of
`FIXTURES`. What its tier has, but this machine lacks (Horovod needs a compiler once, a jail needs user namespaces), is
left out of `make test` and counted in its last lines; elsewhere it is skipped with a sentence. With CI=true it fails.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
TIERS = ("test", "cluster")
FULL = bool(os.environ.get("COURSE_TEST_ALL"))
FRAMEWORKS = {"tensorflow", "horovod", "frameworks"}
CLUSTER = {"root", "slurm", "hosts", "hub", "ssh", "sshd", "browser", "debian", "npm"}
FIXTURES = {
    "slurm": ["slurm"],
    "pbs": ["hosts"],
    "hub": ["hub", "browser"],
    "warm_horovod": ["horovod"],
    "came_out": ["jail"],
}
EVERY, EVERY_RIGHT = (1, 1) if FULL else (8, 3)  # so many-th wrong answer of an exercise is judged, and right one
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs, full = pytest.mark.needs, pytest.mark.full


def some(things: list, every: int, first: int = 0) -> list:
    """Every so many-th, beginning with number `first`; all in `make test-all`."""
    return list(things) if FULL else list(things)[first::every]


def cannot_enforce(missing: Iterable) -> str:
    """Which protections of the grader's jail (`isolation.Protection`) do not hold here, and what would make them."""
    missing = tuple(missing)
    remedies = dict.fromkeys(item.remedy for item in missing if item.remedy)
    return " ".join([f"this machine cannot enforce: {', '.join(item.name for item in missing)}.", *remedies])


def _without(program: str, package: str) -> str:
    return "" if shutil.which(program) else f"no {program} on this machine (Debian: apt install {package})"


def _jail() -> str:
    missing = import_module("autograder.grading.isolation").probe().missing
    return cannot_enforce(missing) if missing else ""


def _frameworks(compiled: bool) -> str:
    environment = import_module("labkit.environment")
    tensorflow = sys.version_info[:2] == environment.FRAMEWORKS_PYTHON
    return "" if tensorflow and not compiled else environment.without_frameworks()


_LACKING = {
    "root": lambda: "" if os.geteuid() == 0 else "only root can do what is tried here",
    "slurm": lambda: import_module("slurm_cluster").missing(),
    "hosts": lambda: import_module("virtual_hosts").missing(),
    "hub": lambda: import_module("hub").missing("slurm"),
    "ssh": lambda: _without("ssh", "openssh-client"),
    "sshd": lambda: _without("/usr/sbin/sshd", "openssh-server"),
    "debian": lambda: _without("apt-cache", "apt"),
    "browser": lambda: "" if CHROMIUM else _without("chromium", "chromium"),
    "npm": lambda: _without("npm", "npm"),
    "jail": _jail,
    "frameworks": lambda: "",  # the course's, of whatever Python: what is said of them, and of the units about them
    "tensorflow": lambda: _frameworks(compiled=False),
    "horovod": lambda: _frameworks(compiled=True),
}


@functools.cache
def lacking(need: str) -> str:
    """Why a test that needs this cannot run here, and what to do about it; "" where it can."""
    return _LACKING[need]()


def needs_of(item: pytest.Item) -> set[str]:
    """What a test needs beyond any Linux."""
    marked = [need for mark in item.iter_markers("needs") for need in mark.args]
    return {*marked, *(need for fixture in getattr(item, "fixturenames", ()) for need in FIXTURES.get(fixture, ()))}


@functools.cache
def may_need_a_cluster(path: Path) -> bool:
    """True where the file of a test names what only `make test-cluster` has; the other files it need not import."""
    fixtures = [fixture for fixture, wanted in FIXTURES.items() if CLUSTER.intersection(wanted)]
    named = "|".join([*(f'"{need}"' for need in sorted(CLUSTER)), *(rf"\b{fixture}\b" for fixture in fixtures)])
    return re.search(named, path.read_text(encoding="utf-8")) is not None


def is_of_a_unit_left_out(path: Path) -> bool:
    """True for the file of the tests of a unit that this course leaves out: it imports what is not there."""
    return path.stem in {f"test_unit_{unit[:2]}" for unit in left_out()}


def left_out() -> tuple[str, ...]:
    """The units that this course leaves out, with the frameworks that they are about."""
    return import_module("autograder.content").course().left_out


def choose(items: list[pytest.Item], tier: str | None, in_ci: bool) -> tuple[list[pytest.Item], Counter[str]]:
    """The tests of a tier (None: of both), those that cannot run here marked as skipped; and of the others how many
    there are, by what is to be done to run them. In a course without frameworks no test of theirs is chosen, in any
    tier, and none of a unit that is left out with them."""
    chosen, elsewhere = [], Counter()
    without = not import_module("autograder.content").course().frameworks
    for item in items:
        wanted = needs_of(item)
        if without and (wanted & FRAMEWORKS or any(unit in item.nodeid for unit in left_out())):
            elsewhere["frameworks = true in course.toml"] += 1
            continue
        of_cluster = bool(wanted & CLUSTER)
        if of_cluster and not may_need_a_cluster(item.path):
            raise pytest.UsageError(f"{item.nodeid} needs {wanted & CLUSTER}: name it in that file, in quotes")
        reason = next(filter(None, map(lacking, sorted(wanted))), "") if tier != "test" or not of_cluster else ""
        if item.get_closest_marker("full") and not FULL:
            elsewhere["make test-all"] += 1
        elif tier == "test" and of_cluster:
            elsewhere["make test-cluster"] += 1
        elif tier == "cluster" and not of_cluster:
            elsewhere["make test, in the same files"] += 1
        elif tier == "test" and reason and not in_ci:
            elsewhere[reason] += 1
        else:
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))
            chosen.append(item)
    return chosen, elsewhere
