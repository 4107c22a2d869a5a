"""Backends of torch.distributed: the behavioural suite on gloo, mpi and the relay, and what only the mpi backend
promises.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import process_group_suite
import pytest

from labkit import environment
from labkit.watch.events import Event

SUITE = Path(process_group_suite.__file__)
WORLD_SIZES = (2, 3, 4)


@pytest.fixture(scope="module")
def folder():
    """A folder with a short path: MPI keeps sockets below it."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def run(command: list[str], folder: Path, seconds: float = 120, **variables: str) -> subprocess.CompletedProcess:
    """Run a command, its temporary files in `folder`. Fails the test when it takes too long, and then ends all of its
    ranks.
    """
    environ = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONUNBUFFERED": "", "TMPDIR": str(folder), **variables}
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)  # mpiexec takes its ranks along
        out, err = process.communicate(timeout=20)
        pytest.fail(f"{command} was not done after {seconds} s\n{out}\n{err}")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def mpi(ranks: int, program: list[str], folder: Path, **more) -> subprocess.CompletedProcess:
    command = [*environment.mpiexec(), "-n", str(ranks), sys.executable, *program]
    return run(command, folder, **{**environment.mpi_environment(ranks), **more})


# --- the suite: how each backend gets its ranks


def suite_on_gloo(folder: Path, world_size: int) -> None:
    if not (folder / "2-0.json").exists():  # one process serves all world sizes
        run([sys.executable, str(SUITE), "gloo", str(folder), *map(str, WORLD_SIZES)], folder, seconds=180)


def suite_on_mpi(folder: Path, world_size: int) -> None:
    mpi(world_size, [str(SUITE), "mpi", str(folder)], folder, seconds=180)


def suite_on_relay(folder: Path, world_size: int) -> None:
    from labkit.cells.slicing import Chunk
    from labkit.launch.launcher import Limits, make_jobs, shared

    program = (
        f"import sys\nsys.path.insert(0, {str(SUITE.parent)!r})\n"
        "def run(folder):\n"
        "    from pathlib import Path\n"
        "    import process_group_suite\n"
        "    process_group_suite.run_rank('relay', Path(folder))\n"
    )
    jobs = make_jobs([Chunk("suite", 1, program)], "run", [(str(folder),)] * world_size)
    outcome, _ = shared().run(jobs, limits=Limits(cpu_seconds=60, deadline=60))
    assert outcome.hang is None, str(outcome.hang)
    assert [rank.state for rank in outcome.ranks] == ["returned"] * world_size, outcome


RUNNERS: dict[str, Callable[[Path, int], None]] = {"gloo": suite_on_gloo, "mpi": suite_on_mpi, "relay": suite_on_relay}


@pytest.fixture(scope="module")
def results(folder, warm):
    """results(backend, world_size) -> for each rank {case: {"value": ...} or {"error": traceback}}. Every suite runs
    once.
    """
    known: dict[tuple[str, int], list[dict]] = {}

    def results_of(backend: str, world_size: int) -> list[dict]:
        if (backend, world_size) not in known:
            place = folder / backend
            place.mkdir(exist_ok=True)
            RUNNERS[backend](place, world_size)
            files = [place / f"{world_size}-{rank}.json" for rank in range(world_size)]
            known[backend, world_size] = [json.loads(file.read_text()) if file.exists() else {} for file in files]
        return known[backend, world_size]

    return results_of


@pytest.mark.parametrize("world_size", WORLD_SIZES)
@pytest.mark.parametrize("backend", RUNNERS)
def test_behaviour(results, backend, world_size):
    expected = list(process_group_suite.cases(backend))
    for rank, result in enumerate(results(backend, world_size)):
        failures = [f"{name}:\n{case['error']}" for name, case in result.items() if "error" in case]
        assert not failures, f"rank {rank} of {world_size}\n" + "\n".join(failures)
        assert list(result) == expected, f"rank {rank} of {world_size} came as far as {list(result)[-1:]}"


@pytest.mark.parametrize("world_size", WORLD_SIZES)
@pytest.mark.parametrize("backend", ["mpi", "relay"])
def test_twenty_ddp_steps_end_where_gloo_ends(results, backend, world_size):
    reference = results("gloo", world_size)[0]["case_ddp"]["value"]
    parameters = results(backend, world_size)[0]["case_ddp"]["value"]
    assert len(parameters) == len(reference) == 499
    assert max(abs(a - b) for a, b in zip(parameters, reference, strict=True)) < 1e-12


# --- what only the mpi backend promises

PLAIN = """
import torch
import torch.distributed as dist

for attempt in range(2):  # a notebook's cell is run again, too
    dist.init_process_group("mpi")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    tensor = torch.tensor([rank + 1.0])
    dist.all_reduce(tensor)
    assert tensor.item() == world_size * (world_size + 1) / 2
    assert dist.get_backend() == "mpi" and dist.is_mpi_available()
    try:
        dist.all_gather_single(torch.empty(1), torch.empty(5))
    except ValueError as error:  # a caught exception ends nothing
        assert "times" in str(error)
    if attempt == 0:
        beside = dist.new_group(backend="gloo")
        dist.all_reduce(tensor, group=beside)
        assert tensor.item() == world_size * world_size * (world_size + 1) / 2
    dist.destroy_process_group()
print(f"rank {rank} of {world_size} is done")
"""


def script(folder: Path, text: str) -> str:
    path = folder / f"script_{abs(hash(text)) % 10**6}.py"
    path.write_text(text.lstrip())
    return str(path)


def test_a_plain_script_needs_torch_only(folder):
    done = mpi(3, [script(folder, PLAIN)], folder)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", *[f"rank {rank} of 3 is done" for rank in range(3)]]


def test_a_plain_python_is_a_world_of_one(folder):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_"))}
    command = [
        "env",
        "-i",
        *[f"{name}={value}" for name, value in environ.items()],
        sys.executable,
        script(folder, PLAIN),
    ]
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "rank 0 of 1 is done\n"
    assert done.stderr == ""


def test_torchrun_gets_no_worlds_of_one(folder):
    """torchrun's processes are no ranks of MPI's: each would be rank 0 of 1, and nothing would be said."""
    started = {"TORCHELASTIC_RUN_ID": "none", "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}
    done = run([sys.executable, script(folder, PLAIN)], folder, **started)
    assert done.returncode == 1 and done.stdout == ""
    assert "torchrun has started 2 processes" in done.stderr and "`mpiexec -n 2 python program.py`" in done.stderr


UNEQUAL = """
import torch
import torch.distributed as dist

dist.init_process_group("mpi")
rank = dist.get_rank()
dist.all_reduce(torch.ones(3))
dist.all_reduce(torch.ones(4 if rank == 0 else 5))
print("wrong", rank)
"""


def test_unequal_lengths_are_an_error_on_every_rank(folder):
    path = script(folder, UNEQUAL)
    done = mpi(3, [path], folder)
    assert done.returncode != 0 and done.stdout == ""
    line = f"at {Path(path).name}, line 7"
    assert "RuntimeError: the ranks do not agree on operation 2 of all ranks, so nothing was moved:" in done.stderr
    assert f"  rank 0 called all_reduce: SUM of 4 float32, {line}" in done.stderr
    assert f"  ranks 1 and 2 called all_reduce: SUM of 5 float32, {line}" in done.stderr


def test_importing_torch_starts_no_mpi(folder):
    check = "import sys, torch; print(sorted(m for m in sys.modules if m.split('.')[0] in ('mpi4py', 'labkit')))"
    assert run([sys.executable, "-c", check], folder).stdout == "['labkit', 'labkit.mpi', 'labkit.mpi.autoload']\n"


STUCK = """
from datetime import timedelta
import torch
import torch.distributed as dist

dist.init_process_group("mpi", timeout=timedelta(seconds=2))
rank = dist.get_rank()
pair = dist.new_group([1, 2])
dist.barrier()
print("before", rank)
if rank == 0:
    dist.recv(torch.zeros(3), 1, tag=7)
if rank == 1:
    dist.all_reduce(torch.zeros(2, 2, dtype=torch.float64), async_op=True).wait()
if rank == 2:
    dist.broadcast(torch.zeros(4), 1, group=pair)
    dist.send(torch.ones(100_000), 1, tag=5, group=pair)
"""


def test_the_deadline_names_what_each_rank_is_stuck_in(folder):
    path = script(folder, STUCK)
    name = Path(path).name
    done = mpi(3, [path], folder)
    assert done.returncode != 0
    assert sorted(done.stdout.split()) == ["0", "1", "2", "before", "before", "before"]  # what was printed is not lost
    reports = dict(re.findall(r"\[rank (\d)\] stuck for \d\.\d s \(timeout 2 s\) in (.*)", done.stderr))
    assert reports == {
        "0": f"recv from rank 1, tag 7, float32[3] (12 B): operation 2 of all ranks, called at {name}, line 11",
        "1": f"all_reduce, float64[2, 2] (32 B): operation 2 of all ranks, called at {name}, line 13",
        "2": (
            f"broadcast with root 1, float32[4] (16 B): operation 1 of the group of ranks 1 and 2, called at {name}, "
            "line 15"
        ),
    }


RAISES = """
import torch.distributed as dist

dist.init_process_group("mpi")
if dist.get_rank() == 1:
    raise ValueError("the data has run out")
dist.barrier()
"""


def test_an_uncaught_exception_ends_the_job(folder):
    done = mpi(2, [script(folder, RAISES)], folder)
    assert done.returncode != 0
    assert done.stderr.count("Traceback (most recent call last)") == 1
    assert done.stderr.count("ValueError: the data has run out") == 1
    assert "[rank1]" in done.stderr


FORGOTTEN = """
import time
import torch
import torch.distributed as dist

dist.init_process_group("mpi")


def callback(future):
    time.sleep(0.3)  # by then the program has come to its end
    tensor = torch.ones(1)
    dist.all_reduce(tensor, async_op=True).get_future().then(lambda future: print("sum", tensor.item()))


dist.all_reduce(torch.ones(1), async_op=True).get_future().then(callback)
dist.all_reduce(torch.ones(1), async_op=True).get_future().add_done_callback(lambda future: 1 / 0)
"""


def test_what_was_started_is_finished_though_nobody_waits(folder):
    """Callbacks and what they start; the error of one that nobody can ask for it is printed."""
    done = mpi(2, [script(folder, FORGOTTEN)], folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "sum 2.0\n" * 2
    assert done.stderr.count("An error in a callback of all_reduce, float32[1] (4 B): operation ") == 2
    assert done.stderr.count("ZeroDivisionError: division by zero\n") == 2


HELD_UP = """
import time
from datetime import timedelta
import torch
import torch.distributed as dist

dist.init_process_group("mpi", timeout=timedelta(seconds=1))
dist.all_reduce(torch.ones(1), async_op=True).get_future().then(lambda future: time.sleep(1.5)).wait()
print("nothing waited")
dist.barrier()
dist.all_reduce(torch.ones(3), async_op=True).get_future().then(lambda future: time.sleep(60))
dist.barrier()
"""


def test_the_deadline_names_a_callback_that_holds_up_the_others(folder):
    path = script(folder, HELD_UP)
    done = mpi(2, [path], folder)
    assert done.returncode != 0 and done.stdout == "nothing waited\n" * 2
    said = f"in a callback of all_reduce, float32[3] (12 B): operation 3 of all ranks, called at {Path(path).name}, line 10"
    assert done.stderr.count(said) == 2


RECORDED = """
import sys
import torch
import torch.distributed as dist
from labkit.watch import recorder

dist.init_process_group("mpi")
rank = dist.get_rank()
recorder.open(sys.argv[1], rank, 3)
pair = dist.new_group([1, 2])
if rank == 1:
    dist.isend(torch.zeros(6, dtype=torch.int32), 2, group=pair, tag=4).wait()
if rank == 2:
    dist.recv(torch.zeros(6, dtype=torch.int32), group=pair, tag=4)
if rank > 0:
    dist.broadcast(torch.zeros(5), 2, group=pair)
dist.all_reduce(torch.zeros(2, 2), async_op=True).wait()
"""


def test_the_flight_recorder_knows_every_operation(folder):
    from labkit.watch import recorder

    path = script(folder, RECORDED)
    done = mpi(3, [path, str(folder / "flight")], folder)
    assert done.returncode == 0, done.stderr

    def facts(event: Event):
        return (event.rank, event.kind, event.peer, event.tag, event.nbytes, event.group, event.line.split(" ")[-1])

    events = recorder.events(folder / "flight")
    assert {facts(event) for event in events if event.kind != "new_group"} == {
        (1, "send", 2, 4, 24, (1, 2), "11"),
        (2, "recv", 1, 4, 24, (1, 2), "13"),  # from any source: known once it has come
        (1, "broadcast", 2, 0, 20, (1, 2), "15"),
        (2, "broadcast", 2, 0, 20, (1, 2), "15"),
        *[(rank, "all_reduce", None, 0, 16, None, "16") for rank in range(3)],
    }
    assert all(event.ended is not None for event in events)


# --- the environment in which MPI is started


def test_ranks_that_need_each_others_cores_yield(monkeypatch):
    monkeypatch.setattr(environment, "cores", lambda: 4)
    assert environment.mpi_environment(3)["OMPI_MCA_mpi_yield_when_idle"] == "1"  # two threads each
    assert environment.mpi_environment(None)["OMPI_MCA_mpi_yield_when_idle"] == "1"
    assert "OMPI_MCA_mpi_yield_when_idle" not in environment.mpi_environment(2)


def test_shared_memory_only_on_one_machine(monkeypatch, tmp_path):
    for name in ("SLURM_JOB_NUM_NODES", "PBS_NODEFILE"):
        monkeypatch.delenv(name, raising=False)
    assert environment.mpi_environment(4)["OMPI_MCA_btl"] == "self,vader"
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    assert "OMPI_MCA_btl" not in environment.mpi_environment(4)
    monkeypatch.delenv("SLURM_JOB_NUM_NODES")
    (tmp_path / "nodes").write_text("node1\nnode1\nnode2\n")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    assert environment.hosts() == 2


def test_only_root_asks_to_run_as_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not [name for name in environment.mpi_environment(2) if "ROOT" in name]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert environment.mpi_environment(2)["OMPI_ALLOW_RUN_AS_ROOT"] == "1"


def test_mpiexec_is_the_environments_own():
    assert Path(environment.mpiexec()[0]).parent == Path(sys.executable).parent
