"""`%%ranks` in a Slurm allocation of two nodes: what works on one machine works there, and is told as well."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pytest
from machine import needs, some

from autograder.judging import bank
from autograder.judging.bank import BankAnswer

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tests" / "support" / "notebooks_in_job.py"
HOSTS = ("login", "node1", "node2")
TWO_NODES = ["--nodelist=node1,node2", "--ntasks-per-node=2"]
START = "from labkit import ranks\nranks.start()"
START_OF_KERNEL = "import os\nfrom labkit.environment import set_up_singleton\nset_up_singleton()"  # as Lab's do
WHERE = "%%ranks\nimport os\nprint(os.uname().nodename, rank, comm.allreduce(rank))"
HANGS = "%%ranks --deadline 1\nif rank == 0:\n    comm.recv(source=1)\nif rank == 3:\n    while True: pass"
DIES = "%%ranks\nimport os\nif rank == 3: os.kill(os.getpid(), 9)\ncomm.barrier()"
RAISES = "%%ranks\nif rank == 1: 1 / 0\ncomm.barrier()"
MESSAGE = "%%ranks\nif rank == 0: comm.send('x', dest=3)\nif rank == 3: comm.recv(source=0)"
TEMPORARY = (
    "%%ranks\nimport os, tempfile\nprint(os.path.isdir(tempfile.gettempdir()), 'labkit' in tempfile.gettempdir())"
)
SEEN = "[(e.rank, e.kind, e.peer, e.match) for e in sorted(ranks.events(), key=lambda e: e.rank)]"
IN_ORDER = "[e.posted >= 0 and e.ended >= e.posted and e.ended < 30 for e in ranks.events()]"


def submitted(slurm, folder: Path, command: str, limit: float, user: str | None = None) -> str:
    """Run a command as a job on two nodes to its end; what it printed."""
    words = ["sbatch", "--parsable", *TWO_NODES, f"--output={folder}/out.txt", f"--wrap={command}"]
    environment = {"PYTHONPATH": str(ROOT), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = slurm.run(words, user=user, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    job = slurm.wait(done.stdout.strip(), limit)
    printed = slurm.run(["cat", f"{folder}/out.txt"]).stdout
    assert job["JobState"] == "COMPLETED", f"{job}\n{printed}"
    return printed


@pytest.fixture
def left_on_the_nodes(slurm):
    """Call it after the job: {host: what is new in its /tmp and /dev/shm, and which processes of jobs}; {} when there
    is nothing, soon.
    """
    before = {host: set(seen_on(slurm, host)) for host in HOSTS}

    def left() -> dict[str, list[str]]:
        deadline = time.monotonic() + 10
        while True:
            new = {host: [thing for thing in seen_on(slurm, host) if thing not in before[host]] for host in HOSTS}
            new = {host: things for host, things in new.items() if things}
            if not new or time.monotonic() > deadline:
                return new
            time.sleep(0.1)

    return left


def seen_on(slurm, host: str) -> list[str]:
    """Files, but for those of a /tmp that all share (the course and the tests' folder, where they lie there), and
    processes of jobs.
    """
    files = slurm.run(["ls", "/tmp", "/dev/shm"], host=host).stdout.split()
    processes = slurm.run(["ps", "-eo", "pid,args"], host=host).stdout.splitlines()
    shared = {path.name for path in Path("/tmp").iterdir()}
    seen = [name for name in files if name not in {"/tmp:", "/dev/shm:", *shared}]
    return seen + [
        line for line in processes if re.search(r"labkit|ipyparallel|ipykernel|mpiexec|orted|slurmstepd", line)
    ]


def read_cells(found: Path) -> list[str]:
    results = json.loads(found.read_text())
    assert [error for _, error in results if error] == []
    return [re.sub(r" {2,}", "  ", text) for text, _ in results]


def test_ranks_on_two_nodes_report_like_ranks_here(slurm, left_on_the_nodes, tmp_path):
    cells = [START, WHERE, TEMPORARY, MESSAGE, SEEN, IN_ORDER, HANGS, DIES, RAISES, WHERE, "ranks.stop()"]
    (tmp_path / "cells.json").write_text(json.dumps(cells))
    submitted(slurm, tmp_path, f"{sys.executable} {PROGRAM} cells cells.json found.json", 170)
    started, where, temporary, _, seen, in_order, hangs, dies, raises, again, _ = read_cells(tmp_path / "found.json")
    assert started.strip() == "4 ranks ready (MPI, 2 nodes)"
    everywhere = [f"rank {k}  node{1 + k // 2} {k} 6" for k in range(4)]
    assert where.split("\n") == again.split("\n") == everywhere
    assert temporary == "ranks 0-3  True True"
    assert eval(seen) == [(0, "send", 3, 1), (3, "recv", 0, 1)]
    assert eval(in_order) == [True, True]
    assert "Ranks 0, 3 did not come to an end within 1 s." in hangs
    assert "rank 0  recv from 1  cell 7, line 3" in hangs and "rank 1  has returned" in hangs
    assert "rank 3  is running  cell 7, line 5" in hangs, hangs
    assert dies.startswith("Rank 3 died.") and "rank 3  is dead (SIGKILL)" in dies, dies
    assert "rank 2  barrier  cell 8, line 4" in dies and "Rank 3 is dead, while ranks 0, 1 and 2 wait." in dies, dies
    assert raises.startswith("Rank 1 raised ZeroDivisionError: division by zero") and "cell 9, line 2" in raises
    assert all(f"rank {k}  barrier  cell 9, line 3" in raises for k in (0, 2, 3)), raises
    assert left_on_the_nodes() == {}


def test_a_user_s_notebook_on_the_login_host_has_its_ranks_on_the_nodes(slurm, left_on_the_nodes):
    """As in `salloc`: no rank runs where the notebook does."""
    cells, home = [START, WHERE, SEEN, DIES, WHERE, "ranks.stop()"], Path("/home/student")
    write = f"import json; json.dump({cells!r}, open('cells.json', 'w'))"
    assert slurm.run([sys.executable, "-c", write], user="student").returncode == 0
    words = ["salloc", "--quiet", *TWO_NODES, sys.executable, str(PROGRAM), "cells", "cells.json", "found.json"]
    done = slurm.run(words, user="student", timeout=120, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    found = slurm.folder / "home" / "student" / "found.json"
    _, where, seen, dies, again, _ = read_cells(found)
    assert where.split("\n") == again.split("\n") == [f"rank {k}  node{1 + k // 2} {k} 6" for k in range(4)]
    (group,) = {match for _, _, _, match in eval(seen)}
    assert eval(seen) == [(k, "allreduce", None, group) for k in range(4)]
    assert "rank 2  barrier  cell 4, line 4" in dies and "rank 3  is dead (SIGKILL)" in dies, dies
    assert left_on_the_nodes() == {}
    slurm.run(["rm", "-r", f"{home}/cells.json", f"{home}/found.json"])


def first_of_each_runtime() -> dict[str, BankAnswer]:
    """runtime -> a right answer to the course's first exercise that is judged by it."""
    found: dict[str, BankAnswer] = {}
    for answer in bank.answers():
        if answer.right:
            found.setdefault(answer.exercise.runtime, answer)
    return found


@needs("horovod")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("launcher", ["", "the scripts' way for PBS"])
def test_checks_in_a_job_of_two_nodes_run_on_the_notebook_s_own(slurm, tmp_path, launcher):
    """Also where the job's own programs are to start on all nodes, by a host file."""
    answers = first_of_each_runtime()
    assert set(answers) == {"plain", "torch", "mpi4py", "tensorflow", "horovod"}
    told = {}
    if launcher:
        (tmp_path / "hosts").write_text("node1 slots=2\nnode2 slots=2\n")
        told = {"OMPI_MCA_orte_default_hostfile": f"{tmp_path}/hosts", "OMPI_MCA_plm_rsh_agent": "/bin/false"}
    cells = [f"{START_OF_KERNEL}\nos.environ.update({told!r})\nfrom autograder import check"]
    for answer in answers.values():
        cells += [answer.source, f"check({answer.exercise.function})"]
    (tmp_path / "cells.json").write_text(json.dumps(cells))
    submitted(slurm, tmp_path, f"{sys.executable} {PROGRAM} cells cells.json found.json", 380)
    shown = read_cells(tmp_path / "found.json")[2::2]
    assert ["passed" in card for card in shown] == [True] * len(answers), shown


@pytest.mark.timeout(400)
def test_units_with_ranks_run_on_two_nodes(slurm, tmp_path):
    units = some(["02_point_to_point", "03_collectives"], 2)
    submitted(slurm, tmp_path, f"{sys.executable} {PROGRAM} units found.json {' '.join(units)}", 380)
    for unit, found in json.loads((tmp_path / "found.json").read_text()).items():
        assert found["failures"] == [], unit
        shown = "\n".join(found["cells"])
        assert "4 ranks ready (MPI, 2 nodes)" in shown, unit
        assert "passed" in shown and "The ranks are gone" not in shown, unit
