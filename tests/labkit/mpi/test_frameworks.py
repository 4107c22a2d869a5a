"""torch's own parallelism on gloo, mpi and the relay: a table of what was tried, every value against the sequential run.

The programs are in tests/support/framework_programs.py. What a backend refuses it refuses by an error at the call, on
every rank, and goes on.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import framework_programs
import pytest

PROGRAMS = Path(framework_programs.__file__)
RANKS = framework_programs.RANKS


def ranks_of_their_own(backend: str, folder: Path) -> None:
    """One process that has the imports, and 4 ranks forked from it, which it ends after a while."""
    command, environ = [sys.executable, str(PROGRAMS), backend, str(folder)], {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def ranks_on_the_relay(backend: str, folder: Path) -> None:
    from labkit.cells.slicing import Chunk
    from labkit.launch.launcher import Limits, make_jobs, shared

    program = (
        f"import sys\nsys.path.insert(0, {str(PROGRAMS.parent)!r})\n"
        "def run(folder):\n"
        "    import framework_programs\n"
        "    framework_programs.run_rank('relay', folder)\n"
    )
    jobs = make_jobs([Chunk("programs", 1, program)], "run", [(str(folder),)] * RANKS)
    outcome, _ = shared().run(jobs, limits=Limits(cpu_seconds=120, deadline=150, patience=60))
    assert outcome.hang is None, str(outcome.hang)
    assert [rank.state for rank in outcome.ranks] == ["returned"] * RANKS, outcome


RUNNERS: dict[str, Callable[[str, Path], None]] = {
    "gloo": ranks_of_their_own,
    "mpi": ranks_of_their_own,
    "relay": ranks_on_the_relay,
}


@pytest.fixture(scope="module")
def results(warm):
    """results(backend) -> for each rank {program: {"seconds": ...} or {"error": ...}}. Every backend runs once."""
    known: dict[str, list[dict]] = {}

    def results_of(backend: str) -> list[dict]:
        if backend not in known:
            known[backend] = []
            with tempfile.TemporaryDirectory() as folder:
                RUNNERS[backend](backend, Path(folder))
                files = [Path(folder, f"{backend}-{rank}.json") for rank in range(RANKS)]
                known[backend] += [json.loads(file.read_text()) if file.exists() else {} for file in files]
        return known[backend]

    return results_of


@pytest.mark.parametrize("program", framework_programs.PROGRAMS)
@pytest.mark.parametrize("backend", framework_programs.BACKENDS)
def test_what_runs_and_what_is_refused(results, backend, program):
    refused = framework_programs.REFUSED.get((program, backend))
    came = [of_rank.get(program) for of_rank in results(backend)]
    assert len(came) == RANKS and None not in came, (
        f"the ranks came as far as {[list(r)[-1:] for r in results(backend)]}"
    )
    for rank, one in enumerate(came):
        if refused is None:
            assert "error" not in one, f"rank {rank}\n{one.get('traceback')}"
        else:
            assert re.search(refused, one.get("error", "it ran")), f"rank {rank}: {one}"
