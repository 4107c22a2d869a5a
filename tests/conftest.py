"""What holds for every test: it leaves nothing behind, it knows nothing of the user's settings, and in CI it is not
skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
import leaks
import machine

ROOT = Path(__file__).resolve().parents[1]
# With pytest-xdist a file's tests run one after the other in one process; the files of a group here share a Slurm, or
# the jail's users.
GROUPS = {
    "slurm": (
        "job_scripts/test_slurm_scripts.py",
        "tools/test_slurm_cluster.py",
        "labkit/ranks/test_ranks_in_allocation.py",
    ),
    "users": ("autograder/grading/test_attacks.py", "autograder/grading/test_isolation.py"),
}
BY_UNIT = ("lessons/test_notebooks.py", "autograder/exercises/test_exercises.py")  # these are divided by unit
# What takes long must not come last: groups that begin first, in this order.
LONG = (
    *("slurm", "tools/test_hub", "autograder/homework/test_mesh.py", "users"),
    *(f"autograder/exercises/test_exercises.py {unit}" for unit in ("07", "05", "06", "03")),
    *("lessons/test_notebooks.py", "autograder/exercises/test_exercises.py", "job_scripts/", "autograder/", "tools/"),
)
SCRATCH = "t-"  # how the folder of one test process begins
SHARED_WORK = "PYTEST_XDIST_WORKER" in os.environ
IN_CI = os.environ.get("CI", "").lower() in ("1", "true")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--tier",
        choices=machine.TIERS,
        help="the tests of `make test` or `make test-cluster` (tests/support/machine.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """A temporary folder and configuration folders of our own, and a marker in the environment by which descendants are
    known.

    The folder's path is short: sockets in it may have 108 characters.
    """
    config.addinivalue_line(
        "markers", "needs(*words): what a test needs that a machine may lack (tests/support/machine.py)"
    )
    config.addinivalue_line("markers", "full: a test of `make test-all` alone")
    config.course_elsewhere = Counter()
    config.course_scratch = tempfile.mkdtemp(prefix=SCRATCH)
    scratch = Path(config.course_scratch)
    (scratch / "tmp").mkdir()
    os.environ[leaks.MARKER] = uuid.uuid4().hex
    os.environ["TMPDIR"] = tempfile.tempdir = str(scratch / "tmp")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[name] = str(scratch / name.lower())
    os.environ["MPLCONFIGDIR"] = str(ROOT / ".cache" / "matplotlib")  # its list of fonts takes seconds to make: kept
    # made on import of torch's compiler, by any optimizer
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(scratch / "torchinductor")
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    config.course_before = leaks.Snapshot.now(machine=not SHARED_WORK)


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.course_scratch, ignore_errors=True)
    tempfile.tempdir = None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out what tests a unit that the course leaves out (`frameworks = false` in course.toml), and in the tier of
    the cluster the files without a test of it.
    """
    test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    elsewhere = test and config.getoption("tier") == "cluster" and not machine.may_need_a_cluster(collection_path)
    return True if elsewhere or machine.is_of_a_unit_left_out(collection_path) else None


def group_of(nodeid: str) -> str:
    """The group of tests that one of pytest-xdist's processes runs: of `GROUPS`, or those of one file, or of one unit
    in it.
    """
    path, _, test = nodeid.partition("::")
    name = os.path.relpath(path, "tests")
    unit = re.search(r"[\[-](\d\d)[-_]", test) if name in BY_UNIT else None
    return next(
        (group for group, paths in GROUPS.items() if name.startswith(paths)), f"{name} {unit[1] if unit else ''}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests of the chosen tier, the long groups first. TensorFlow takes seconds to import: only where it is needed,
    and first.
    """
    chosen, config.course_elsewhere = machine.choose(items, config.getoption("tier"), IN_CI)
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    for item in chosen:
        if "warm" in item.fixturenames:
            wanted = [f"warm_{name}" for name in ("horovod", "tensorflow") if name in machine.needs_of(item)]
            item.fixturenames = [*wanted, *item.fixturenames]  # a list of its own: this one is that of all parameters
    items[:] = sorted(chosen, key=lambda item: place_of(group_of(item.nodeid))) if SHARED_WORK else chosen


def place_of(group: str) -> int:
    """When a group begins: its place in `LONG`, and what is not in there last."""
    return next((place for place, long in enumerate(LONG) if group.startswith(long)), len(LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    """pytest-xdist's processes have collected: what they say of the tests elsewhere is the same from each."""
    node.config.course_elsewhere = Counter(getattr(node, "workeroutput", {}).get("elsewhere", {}))


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    for where, count in config.course_elsewhere.most_common():
        terminalreporter.write_line(f"not run here: {count} ({where})")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config) -> int:
    """`-n auto`: one process more than there are cores, as tests wait a lot for what they have started, but at least
    4 GB of memory for each.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(len(os.sched_getaffinity(0)) + 1, memory >> 32))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Whole groups go to one process. (pytest-xdist's own marker for groups does nothing under pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False
    return ByGroup(config, log)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """What the machine is left with where several processes shared the work: theirs see each other's."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["elsewhere"] = dict(session.config.course_elsewhere)
    if SHARED_WORK or not getattr(session.config.option, "numprocesses", None):
        return
    for scratch in Path(session.config.course_scratch, "tmp").glob(
        SCRATCH + "*"
    ):  # of processes ended before they could
        shutil.rmtree(scratch, ignore_errors=True)
    if found := leaks.leaks_since(session.config.course_before):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        sys.stderr.write("\nERROR left behind at the end of all tests:\n  " + "\n  ".join(found) + "\n")


@pytest.fixture(autouse=True)
def nothing_left_behind(request, pytestconfig):
    """Fails a test that leaves a process, a file, a mount or a network interface. What a module's or the session's
    fixtures hold was there before the test and may stay until they end.
    """
    before = leaks.Snapshot.now(machine=not SHARED_WORK)
    yield
    found = leaks.leaks_since(before)
    if found:
        leaks.end_leaked_processes(before)
        pytestconfig.course_before |= leaks.Snapshot.now(machine=not SHARED_WORK)  # told once is enough
        pytest.fail("left behind:\n  " + "\n  ".join(found), pytrace=False)


@pytest.fixture(autouse=True, scope="module")
def environment_of_its_own():
    """A class's settings name its overlay in the environment, for good: the tests of other modules must not see it."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(autouse=True, scope="session")
def nothing_left_behind_at_the_end(pytestconfig):
    """The same for what the fixtures of modules and of the session hold; and, where nobody edits meanwhile, for the
    working tree.
    """
    tree = working_tree()
    yield
    found = leaks.leaks_since(pytestconfig.course_before)
    if IN_CI:
        found += [f"changed or new in the repository: {line}" for line in sorted(working_tree() - tree)]
    if found:
        leaks.end_leaked_processes(pytestconfig.course_before)
        pytest.fail("left behind at the end:\n  " + "\n  ".join(found), pytrace=False)


@pytest.fixture(scope="session")
def warm(nothing_left_behind_at_the_end):
    """The warm launcher, one for all tests that judge or simulate."""
    from labkit.launch import launcher

    shared = launcher.shared()
    shared.wait_until_ready()
    yield shared
    launcher.close_shared()


@pytest.fixture(scope="session")
def warm_horovod(warm):
    """The launcher beside it that has imported TensorFlow and Horovod, for exercises of runtime "horovod"."""
    from labkit.launch import horovod_rendezvous

    beside = warm.with_frameworks(horovod_rendezvous.FRAMEWORKS)
    beside.wait_until_ready()
    return beside


@pytest.fixture(scope="session")
def warm_tensorflow(warm):
    """The same for exercises of runtime "tensorflow", which do without Horovod where it is not compiled."""
    from labkit.launch import horovod_rendezvous

    beside = warm.with_frameworks(horovod_rendezvous.frameworks())
    beside.wait_until_ready()
    return beside


@pytest.fixture(scope="session")
def slurm(tmp_path_factory, nothing_left_behind_at_the_end):
    """A real Slurm of 4 nodes with 4 slots and 2 pretended GPUs each, one for all tests; "student" and "classmate" are
    users of it.
    """
    from slurm_cluster import SlurmCluster

    folder = tmp_path_factory.mktemp("slurm")
    with SlurmCluster(nodes=4, cpus=4, folder=folder, gpus=2, users=["student", "classmate"]) as cluster:
        yield cluster


def working_tree() -> set[str]:
    """What git says of files that are not as committed."""
    command = ["git", "-c", f"safe.directory={ROOT}", "status", "--porcelain", "--untracked-files=all"]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    fail_if_skipped_in_ci(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    outcome = yield
    fail_if_skipped_in_ci(outcome.get_result())


def fail_if_skipped_in_ci(report) -> None:
    """A test that did not run proves nothing: where CI=true, skipping is failing. An expected failure (xfail) did run."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason} (in CI a skipped test is a failed test)"
