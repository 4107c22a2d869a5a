"""The tests' own guards: what leaks is found and named, what is skipped in CI fails. Tried on small test suites of
their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import leaks
import psutil
import pytest

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def suite(tmp_path):
    """Runs a test file under this suite's conftest in a pytest of its own; returns (exit status, output)."""
    (tmp_path / "support").mkdir()
    for name in ("conftest.py", "support/leaks.py", "support/machine.py"):
        shutil.copy(TESTS / name, tmp_path / name)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(text: str, *options: str, where: str = "test_it.py", **variables: str) -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(text)
        environment = {**os.environ, "CI": "", "COURSE_TEST_ALL": "", **variables}
        environment.pop("PYTEST_XDIST_WORKER", None)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, where]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        return ran.returncode, ran.stdout + ran.stderr

    return run


LEAKS = """
import leaks, os, subprocess, sys, tempfile

leaks.GRACE_S = 0
leaks.another_session = lambda: False  # other tests may run on this machine: not the question here

def test_detached_grandchild():
    sleeper = "import subprocess; subprocess.Popen(['sleep', '987'], start_new_session=True)"
    subprocess.run([sys.executable, "-c", sleeper])

def test_child_without_environment():
    subprocess.Popen(["sleep", "986"], env={})

def test_temporary_file():
    tempfile.mkdtemp(prefix="forgotten-folder-")

def test_shared_memory():
    open(f"/dev/shm/forgotten-segment-{os.getpid()}", "w").close()

def test_tidy():
    with tempfile.TemporaryDirectory():
        subprocess.run(["true"])
"""


def test_every_kind_of_leak_is_named_and_processes_are_ended(suite):
    try:
        status, output = suite(LEAKS)
        assert status == 1
        assert "5 passed, 4 errors" in output
        for culprit in ("sleep 987", "sleep 986", "forgotten-folder-", "/dev/shm/forgotten-segment-"):
            assert culprit in output
        assert "ERROR test_it.py::test_tidy" not in output
        assert not [
            p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] in (["sleep", "987"], ["sleep", "986"])
        ]
    finally:
        for path in Path("/dev/shm").glob("forgotten-segment-*"):
            path.unlink()


SKIPS = """
import pytest

def test_skipped():
    pytest.skip("no such thing here")

@pytest.mark.xfail(strict=True)
def test_known_to_fail():
    assert False
"""


def test_a_skipped_test_fails_in_ci_and_only_there(suite):
    status, output = suite(SKIPS, CI="true")
    assert status == 1 and "1 failed, 1 xfailed" in output and "no such thing here" in output
    status, output = suite(SKIPS)
    assert status == 0 and "1 skipped, 1 xfailed" in output


NEEDS = """
import machine

machine._LACKING = {"root": lambda: "", "browser": lambda: "no browser", "horovod": lambda: "no compiler", "jail": lambda: ""}

def test_anywhere():
    pass

@machine.needs("jail")
def test_in_a_jail():
    pass

@machine.needs("horovod")
def test_with_horovod():
    assert False, "cannot run here"

@machine.needs("root", "jail")
def test_as_root():
    pass

@machine.needs("browser")
def test_in_a_browser():
    assert False, "cannot run here"

@machine.full
def test_for_hours():
    pass
"""


HIDDEN = """
import machine

@machine.needs(*["bro" + "wser"])
def test_in_a_browser():
    pass
"""


def test_the_tier_of_the_cluster_imports_only_files_that_name_what_it_has(suite):
    status, output = suite("import machine\n\nassert False, 'imported'\n", "--tier=cluster", where=".")
    assert status == pytest.ExitCode.NO_TESTS_COLLECTED and "imported" not in output
    status, output = suite(HIDDEN, "--tier=test")
    assert status == pytest.ExitCode.USAGE_ERROR and "name it in that file" in output


def test_each_tier_has_its_tests_and_says_where_the_others_are(suite):
    status, output = suite(NEEDS, "--tier=test")
    assert status == 0 and "2 passed, 4 deselected" in output and "skipped" not in output
    for line in ("2 (make test-cluster)", "1 (no compiler)", "1 (make test-all)"):
        assert f"not run here: {line}" in output
    status, output = suite(NEEDS, "--tier=test", CI="true")
    assert status == 1 and "2 passed" in output and "1 error" in output and "no compiler" in output
    status, output = suite(NEEDS, "--tier=cluster")
    assert (
        status == 0 and "1 passed, 1 skipped" in output and "not run here: 3 (make test, in the same files)" in output
    )
    status, output = suite(NEEDS, COURSE_TEST_ALL="1")
    assert status == 0 and "4 passed, 2 skipped" in output and "deselected" not in output


def test_a_module_that_skips_itself_fails_in_ci(suite):
    status, output = suite("import pytest\npytest.importorskip('no_such_module')\n", CI="true")
    assert status != 0 and "no_such_module" in output


def test_a_file_in_shared_memory_that_others_use_is_not_ours(monkeypatch):
    monkeypatch.setattr(leaks, "another_session", lambda: False)
    path = Path(f"/dev/shm/used-by-others-{os.getpid()}")
    path.write_text("x")
    try:
        with subprocess.Popen(["sleep", "60"], stdin=path.open()) as other:
            try:
                assert leaks.used_from_outside(str(path), {})
                assert not leaks.used_from_outside(str(path), leaks.our_processes())
            finally:
                other.kill()
    finally:
        path.unlink()
