"""`make mutants`: whether the tests notice when our own code is wrong.

    python tests/mutations/mutants.py [NAME ...] [--tree DIR] [--list FILE] [--check]

`mutations.toml` lists mutations, each a wrong piece of code in the place of a right one, with the tests that should notice
it. Each is put into a copy of the tree (of DIR, where one is given), never into the tree itself, and its tests are run
until the first fails: as root, by an ordinary user, so that what fails there fails in `make test`; where they all pass,
those that need more of a machine (`cluster`). At the end every test that failed is run on the copy as it was: it counts
only if it passes there. The table says which test noticed which mutation. Exit status: how many were not noticed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutations.toml")
SECONDS = 240  # for the tests of one mutation: what hangs has been noticed
UID = 61233  # tests/support/ordinary_user.py
TEST, CLUSTER = "make test", "test-cluster"


class BadMutation(ValueError):
    """A mutation that cannot be made in this tree, or whose tests are not there."""


@dataclass(frozen=True)
class Mutation:
    """One wrong piece of code. where: the file or folder in which `old` stands once. tests, cluster: pytest's names of
    tests that should fail, those that an ordinary user can run and those that need root, Slurm or a browser. only: as
    pytest's -k, which of `tests`."""

    name: str
    says: str
    where: str
    old: str
    new: str
    tests: tuple[str, ...]
    cluster: tuple[str, ...] = ()
    only: str = ""

    def file(self, tree: Path) -> Path:
        """The one file below `where` in which `old` stands, once. Raises BadMutation."""
        place = tree / self.where
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        counts = {path: path.read_text(encoding="utf-8").count(self.old) for path in files}
        if sum(counts.values()) != 1:
            raise BadMutation(f"{self.name}: its text stands {sum(counts.values())} times in {self.where}, not once")
        return next(path for path, count in counts.items() if count)


def mutations(path: Path = LIST) -> list[Mutation]:
    """The list, in its order."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutation"]
    return [Mutation(**{**entry, **{k: tuple(entry.get(k, ())) for k in ("tests", "cluster")}}) for entry in entries]


@dataclass
class Tried:
    """What came of a mutation. by: the test that noticed it, "" for none; tier: where that test runs."""

    mutation: Mutation
    by: str = ""
    tier: str = ""
    seconds: float = 0.0
    proven: bool = True  # that the test passes without the mutation


def copy_of(tree: Path, scratch: Path) -> Path:
    """A copy of what git has or would add, owned by whoever runs its tests."""
    named = subprocess.run(
        ["git", "-c", f"safe.directory={tree}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=tree,
        check=True,
        capture_output=True,
    )
    copy = scratch / "tree"
    for name in named.stdout.decode().split("\0"):
        if name and (tree / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, copy / name)
    if (tree / ".cache" / "matplotlib").is_dir():
        shutil.copytree(tree / ".cache" / "matplotlib", copy / ".cache" / "matplotlib")
    scratch.chmod(0o755)
    if os.geteuid() == 0:
        (scratch / "home").mkdir()
        subprocess.run(["chown", "-R", f"{UID}:{UID}", str(copy), str(scratch / "home")], check=True)
    return copy


def run_tests(copy: Path, tests: tuple[str, ...], ordinary: bool, *options: str) -> tuple[int, list[str]]:
    """(pytest's exit status, names of the tests that failed); 124 and the first test, where their time was up."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", "--no-header", *options, *tests]
    if ordinary and os.geteuid() == 0:
        home = copy.parent / "home"  # in the place of ordinary_user's, which lies where the jail shows nothing anyway
        become = [sys.executable, str(copy / "tests" / "support" / "ordinary_user.py"), str(UID)]
        command = [*become, shutil.which("env"), f"HOME={home}", *command]
    settings = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "300"}
    environment = {name: text for name, text in os.environ.items() if name != "CI"} | settings
    # ordinary_user enters "/": pytest is told where it is
    tiers = "--tier" in (copy / "tests" / "conftest.py").read_text(encoding="utf-8")
    command += [f"--tier={'test' if ordinary else 'cluster'}"] if tiers else []
    command += [f"--rootdir={copy}", "-c", str(copy / "pyproject.toml")]
    command = [str(copy / part) if part in tests else part for part in command]
    process = subprocess.Popen(
        command, cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        said = process.communicate(timeout=SECONDS)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return 124, [tests[0]]
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+::\S.*?)(?: - .*)?$", said, re.MULTILINE)
    if process.returncode not in (0, 1) or (process.returncode == 1 and not failed):
        raise BadMutation(f"pytest ended with {process.returncode}:\n{said[-2500:]}")
    return process.returncode, [name[name.find("tests/") :] for name in failed]


def tried(mutation: Mutation, copy: Path) -> Tried:
    """Make the mutation, run its tests, undo it."""
    path = mutation.file(copy)
    right = path.read_text(encoding="utf-8")
    found, start = Tried(mutation), time.monotonic()
    path.write_text(right.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        for tier, tests in ((TEST, mutation.tests), (CLUSTER, mutation.cluster)):
            chosen = ["-k", mutation.only] if mutation.only and tier == TEST else []
            status, failed = run_tests(copy, tests, tier == TEST, "-x", *chosen) if tests else (0, [])
            if status:
                found.by, found.tier = failed[0], tier
                break
    finally:
        path.write_text(right, encoding="utf-8")
    found.seconds = time.monotonic() - start
    return found


def prove(all_tried: list[Tried], copy: Path) -> None:
    """Run what has failed without any mutation: a test that fails there has noticed nothing."""
    for tier in (TEST, CLUSTER):
        names = tuple({one.by: None for one in all_tried if one.tier == tier})
        if names:
            _, failed = run_tests(copy, names, tier == TEST)
            for one in all_tried:
                one.proven = one.proven and one.by not in failed


def tell(all_tried: list[Tried]) -> None:
    """The table, and the counts."""
    table = Table("mutation", "noticed in", "by", "s", title="Our own code, made wrong")
    for one in all_tried:
        tier = f"{one.tier}{'' if one.proven else ' (fails without it, too)'}" or "not noticed"
        table.add_row(one.mutation.name, tier, escape(one.by.removeprefix("tests/")), f"{one.seconds:.0f}")
    Console(width=170).print(table)
    proven = [one for one in all_tried if one.proven]
    counts = [f"{sum(one.tier == tier for one in proven)} in {tier}" for tier in (TEST, CLUSTER)]
    print(f"{len(all_tried)} mutations: noticed {', '.join(counts)}; not noticed {missed(all_tried)}")


def missed(all_tried: list[Tried]) -> int:
    return sum(not (one.tier and one.proven) for one in all_tried)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--list", type=Path, default=LIST)
    parser.add_argument("--check", action="store_true", help="only whether each mutation can be made")
    options = parser.parse_args()
    chosen = [one for one in mutations(options.list) if not options.names or one.name in options.names]
    try:
        for one in chosen:
            one.file(options.tree)
        if options.check:
            return
        with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as scratch:
            copy = copy_of(options.tree.resolve(), Path(scratch))
            found = []
            for one in chosen:
                found.append(tried(one, copy))
                print(f"{one.name}: {found[-1].by or 'NOT NOTICED'} ({found[-1].seconds:.0f} s)", flush=True)
            prove(found, copy)
    except BadMutation as error:
        raise SystemExit(str(error)) from None
    tell(found)
    raise SystemExit(missed(found))


if __name__ == "__main__":
    main()
