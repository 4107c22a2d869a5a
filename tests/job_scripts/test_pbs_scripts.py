"""PBS: the job scripts on an emulated PBS of two hosts, and that each of them starts what its Slurm twin starts."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from labkit.jobs import pbs_lint
from labkit.jobs.pbs_script import SelectChunk, read_script, seconds

ROOT = Path(__file__).resolve().parents[2]
PBS, SLURM = ROOT / "job_scripts" / "pbs", ROOT / "job_scripts" / "slurm"
JOBS = sorted(path.stem for path in SLURM.glob("*.sh") if path.stem != "interactive")
sys.path.insert(0, str(ROOT / "tools"))

# Twins: what the launchers start --------------------------------------------------------------------------------------

# Stands in for every program of the job scripts. Launchers start their command as often as they would, with the host in
# NODE; all others write down what they are, where they run and with which variables.
STAND_IN = """#!{python} -ISE
import json, os, subprocess, sys, time
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]

def start(places, variables):
    tasks = [
        subprocess.Popen(words, env=dict(os.environ, NODE=host, **{{variable: str(rank) for variable in variables}}))
        for rank, host in enumerate(places)
    ]
    sys.exit(max(task.wait() for task in tasks))

def option(name, default=None):
    for number, word in enumerate(words):
        if word == name or word.startswith(name + "="):
            value = word.partition("=")[2] if "=" in word else words.pop(number + 1)
            words.pop(number)
            return value
    return default

if name == "srun":
    nodes = int(option("--nodes", os.environ["SLURM_JOB_NUM_NODES"]))
    ranks = int(option("--ntasks", os.environ["SLURM_NTASKS"]))
    each = int(option("--ntasks-per-node", os.environ["SLURM_NTASKS_PER_NODE"]))
    assert ranks <= nodes * each and not words[0].startswith("-"), words
    start([f"node{{rank // each}}" for rank in range(ranks)], ["SLURM_PROCID"])
if name == "mpiexec":
    ranks = int(option("-n"))
    file = option("--hostfile")
    here = open(file).read().split() if file else [f"node{{k}}" for k in range(int(os.environ["SLURM_JOB_NUM_NODES"]))]
    hosts = list(dict.fromkeys(here))
    each = int(option("--map-by").split(":")[1])
    option("--bind-to")
    assert not words[0].startswith("-"), words
    start([hosts[rank // each] for rank in range(ranks)], ["OMPI_COMM_WORLD_RANK"])
if name == "pbs_tmrsh":
    host = words.pop(0)
    assert words[0].startswith("/"), words
    keep = {{variable: os.environ[variable] for variable in ("PBS_JOBID", "STARTED")}}
    sys.exit(subprocess.call(words, env=dict(keep, PATH="/usr/bin:/bin", NODE=host), cwd="/", stdout=subprocess.DEVNULL))
if name == "qstat":
    print("    Resource_List.walltime = 01:00:00")
    sys.exit()
if words and words[0].endswith("free_port.py"):
    print(23456)
if "--write" in words:
    sys.stdin.read()
if words and words[0].endswith("wait_for_engines.py"):
    deadline = time.monotonic() + 60
    while open(os.environ["STARTED"]).read().count('"ipengine"') < int(words[2]) and time.monotonic() < deadline:
        time.sleep(0.02)
shown = {{key: value for key, value in os.environ.items() if key.startswith(("HOROVOD", "OMP_", "COURSE_", "NCCL", "TF_", "IPYTHON"))}}
rank = next((int(os.environ[key]) for key in ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "RANK") if key in os.environ), None)
record = {{"host": os.environ.get("NODE"), "rank": rank, "folder": os.getcwd(), "command": [name, *words], "variables": shown}}
with open(os.environ["STARTED"], "a") as file:
    file.write(json.dumps(record) + "\\n")
"""
PROGRAMS = [
    "srun",
    "mpiexec",
    "pbs_tmrsh",
    "qstat",
    "python",
    "torchrun",
    "jupyter",
    "autograder",
    "ipcontroller",
    "ipengine",
    "labkit",
]
ARGUMENTS = {
    "pi": ["--strips", "1000"],
    "ddp": ["--epochs", "3", "--checkpoint", "a folder/checkpoint.pt"],
    "engines": ["lesson.ipynb"],
    "grade": ["03_collectives", "--course", "/srv/it's a course"],
    "scaling_sweep": ["my_port.py", "--epochs", "2"],
    "mesh_sweep": ["my_port.py", "--steps", "2"],
}


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory) -> Path:
    """An environment whose bin/ holds nothing but stand-ins."""
    folder = tmp_path_factory.mktemp("environment")
    (folder / "bin").mkdir()
    for name in PROGRAMS:
        program = folder / "bin" / name
        program.write_text(STAND_IN.format(python=sys.executable))
        program.chmod(0o755)
    return folder


def started_by(
    script: Path, folder: Path, stand_ins: Path, variables: dict[str, str], arguments: list[str]
) -> list[dict]:
    """What a job script starts, in an order that does not depend on who is faster; paths of `folder` are written as
    HERE."""
    for port in ("my_port.py", "train_products_hvd.py"):
        (folder / port).write_text("import horovod")
    (folder / "torch_port.py").write_text("import torch.distributed as dist")
    (folder / "lesson.ipynb").write_text("{}")
    environment = {
        "PATH": f"{stand_ins}/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "COURSE": str(ROOT),
        "COURSE_ENVIRONMENT": str(stand_ins),
        "STARTED": str(folder / "started"),
        "COURSE_TEST_SESSION": os.environ["COURSE_TEST_SESSION"],
        **variables,
    }
    job = subprocess.Popen(
        ["/bin/bash", str(script), *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = job.communicate(timeout=60)[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)  # what the script leaves running, an alarm clock, ends with the job
    printed = "".join(path.read_text() for path in folder.glob("jobs/*/output.txt"))
    assert job.returncode == 0, f"{output}\n{printed}"
    text = (folder / "started").read_text().replace(json.dumps(str(folder))[1:-1], "HERE")
    return sorted(
        map(json.loads, text.splitlines()),
        key=lambda record: json.dumps([record["command"], record["rank"], record["host"]]),
    )


def slurm_directives(script: Path) -> dict[str, str]:
    return dict(re.findall(r"^#SBATCH --([\w-]+)=(\S+)", script.read_text(), re.MULTILINE))


def as_slurm(name: str, folder: Path, nodes: int, each: int, cores: int) -> dict[str, str]:
    counts = {
        "JOB_NUM_NODES": nodes,
        "NTASKS": nodes * each,
        "NTASKS_PER_NODE": each,
        "CPUS_PER_TASK": cores,
        "JOB_ID": 77,
    }
    return {f"SLURM_{key}": str(value) for key, value in counts.items()} | {
        "SLURM_JOB_NAME": name,
        "SLURM_SUBMIT_DIR": str(folder),
    }


def as_pbs(name: str, folder: Path, nodes: int, each: int, cores: int, arguments: list[str]) -> dict[str, str]:
    (folder / "node_file").write_text("".join(f"node{node}\n" * each for node in range(nodes)))
    own = {
        "PBS_JOBID": "77.server",
        "PBS_JOBNAME": name,
        "PBS_NODEFILE": str(folder / "node_file"),
        "PBS_O_WORKDIR": str(folder),
    }
    return own | {"OMP_NUM_THREADS": str(cores), "NCPUS": str(cores), "ARGS": shlex.join(arguments)}


def test_each_slurm_script_has_a_twin():
    assert {path.name for path in SLURM.glob("*.sh")} <= {path.name for path in PBS.glob("*.sh")}
    assert set(JOBS) >= {
        "pi",
        "c10d",
        "ddp",
        "horovod_mnist",
        "resnet34_throughput",
        "scaling_sweep",
        "engines",
        "grade",
    }


@pytest.mark.parametrize("name", JOBS)
def test_twins_ask_for_the_same(name):
    slurm, pbs = slurm_directives(SLURM / f"{name}.sh"), read_script((PBS / f"{name}.sh").read_text())
    (chunk,) = pbs.chunks()
    assert chunk.count == int(slurm["nodes"])
    assert chunk.number("mpiprocs") == int(slurm["ntasks-per-node"])
    assert chunk.number("ompthreads") == int(slurm["cpus-per-task"])
    assert chunk.number("ncpus") == int(slurm["ntasks-per-node"]) * int(slurm["cpus-per-task"])
    assert pbs.request("place")[1] == "scatter"
    assert seconds(pbs.request("walltime")[1]) == seconds(slurm["time"])
    assert pbs.option("N").value == slurm["job-name"] == name
    assert ("--requeue" in (SLURM / f"{name}.sh").read_text()) == (
        pbs.option("r") is not None and pbs.option("r").value == "y"
    )


@pytest.mark.parametrize("name", JOBS)
def test_the_linter_finds_nothing_in_our_scripts(name):
    text = (PBS / f"{name}.sh").read_text()
    assert pbs_lint.lint(text) == []
    assert pbs_lint.lint(text, pbs_lint.Site.parse("2:ncpus=4")) == []


@pytest.mark.parametrize(
    ("name", "layout"),
    [(name, (2, 2, 2)) for name in JOBS]
    + [(name, (3, 1, 4)) for name in ("c10d", "scaling_sweep", "mesh_sweep")],  # nodes, ranks on each, cores
    ids=str,
)
def test_twins_start_the_same_processes(name, layout, tmp_path, stand_ins):
    arguments = ARGUMENTS.get(name, [])
    records = {}
    for system in ("slurm", "pbs"):
        folder = tmp_path / system
        folder.mkdir()
        variables = as_slurm(name, folder, *layout) if system == "slurm" else as_pbs(name, folder, *layout, arguments)
        records[system] = started_by(
            ROOT / "job_scripts" / system / f"{name}.sh",
            folder,
            stand_ins,
            variables,
            arguments if system == "slurm" else [],
        )
    assert records["pbs"] == records["slurm"]
    nodes, each, _ = layout
    ranks = [record for record in records["pbs"] if record["host"]]
    assert {record["host"] for record in ranks} == {f"node{node}" for node in range(nodes)}
    reported = [record for record in ranks if record["command"][1].endswith("report.py")]
    torchrun = any(record["command"][0] == "torchrun" for record in ranks)
    assert len(reported) == (nodes if torchrun else nodes * each)
    if arguments and name not in (
        "engines",
        "scaling_sweep",
        "mesh_sweep",
    ):  # these take their first argument for themselves
        assert any(record["command"][-len(arguments) :] == arguments for record in records["pbs"])


@pytest.mark.parametrize("system", ["slurm", "pbs"])
def test_the_sweep_starts_a_port_to_torch_distributed_by_torchrun(system, tmp_path, stand_ins):
    arguments, layout = ["torch_port.py", "--epochs", "2"], (2, 2, 2)
    of = as_slurm("scaling_sweep", tmp_path, *layout)
    variables = of if system == "slurm" else as_pbs("scaling_sweep", tmp_path, *layout, arguments)
    script = ROOT / "job_scripts" / system / "scaling_sweep.sh"
    started = started_by(script, tmp_path, stand_ins, variables, arguments if system == "slurm" else [])
    runs = [record for record in started if record["host"] and record["command"][0] == "torchrun"]
    assert len(runs) == 4, "on 1, 1 and 2 nodes"
    shapes = {tuple(record["command"][1:3]) for record in runs}
    assert shapes == {(f"--nnodes={n}", f"--nproc-per-node={each}") for n, each in ((1, 1), (1, 2), (2, 2))}
    for record in runs:
        program = record["command"].index("torch_port.py")
        assert record["command"][program + 1 :][-2:] == ["--epochs", "2"] and "--run-log" in record["command"]


# On an emulated PBS of two hosts --------------------------------------------------------------------------------------

PLACES = [("node1", 0), ("node1", 1), ("node2", 0), ("node2", 1)]  # host and local rank of ranks 0 to 3


@pytest.fixture(scope="module")
def pbs(tmp_path_factory):
    from emulated_pbs import EmulatedPBS
    from virtual_hosts import VirtualHosts

    folder = tmp_path_factory.mktemp("pbs")
    for part in (folder, *folder.parents):  # the tests' own folders are root's alone, and these jobs are a student's
        mode = part.stat().st_mode
        if mode & 0o011 != 0o011:
            part.chmod(mode | 0o011)
    with VirtualHosts(["node1", "node2"], folder=folder / "hosts", users=["student"]) as hosts:
        yield EmulatedPBS(hosts, folder / "spool", user="student")


def submit(pbs, name: str | Path, *options: str, arguments: str = "", **more):
    """A course script, submitted by the student from the home folder."""
    variables = {
        "COURSE": ROOT,
        "COURSE_ENVIRONMENT": sys.prefix,
        "PYTHONPATH": ROOT,
        "COURSE_SITE": "course",
        "ARGS": arguments,
    }
    variables |= more.pop("variables", {})
    variables = {key: str(value) for key, value in variables.items()}
    script = name if isinstance(name, Path) else PBS / f"{name}.sh"
    return pbs.qsub(script, *options, folder=Path("/home/student"), variables=variables, **more)


def told(job) -> str:
    """All that a job has printed, for when a test fails."""
    printed = job.run / "output.txt"
    return job.output + (printed.read_text() if printed.exists() else "")


def ranks_of(job, file: str = "result.json") -> list[tuple[str, int]]:
    """(host, local rank) by rank; every rank must know the world size."""
    ranks = json.loads((job.run / file).read_text())["ranks"]
    assert [(rank["rank"], rank["world_size"]) for rank in ranks] == [
        (number, len(ranks)) for number in range(len(ranks))
    ]
    return [(rank["host"], rank["local_rank"]) for rank in ranks]


def left(job) -> list[str]:
    """What of a job's own programs the script has left running: ranks, torchrun, engines (PBS ends them; ours should
    have ended)."""
    return [text for text in job.left_running if re.search(r"programs/|torchrun|ipengine", text)]


def test_the_layout_of_chunks():
    from emulated_pbs import layout

    nodes, chunk = ["a", "b"], SelectChunk(2, {"ncpus": "4", "mpiprocs": "2"})
    assert layout([chunk], True, nodes) == ["a", "a", "b", "b"]
    assert layout([chunk], False, nodes) == ["a", "a", "a", "a"]  # packed: what `labkit lint-pbs` warns of
    assert layout([SelectChunk(2, {"ncpus": "2"})], True, nodes) == ["a", "b"]
    with pytest.raises(ValueError, match="stays queued"):
        layout([SelectChunk(3, {"ncpus": "1"})], True, nodes)


def test_the_emulation_is_as_bare_as_pbs(pbs, tmp_path):
    script = tmp_path / "script.sh"
    script.write_text(
        "#PBS -l select=2:ncpus=6:mpiprocs=3:ompthreads=2,place=scatter -J 0-1\n"
        "pwd; hostname; cat $PBS_NODEFILE; echo $NCPUS $OMP_NUM_THREADS ${PBS_JOBID%%.*}; export SECRET=1; cd /tmp\n"
        "pbs_tmrsh node2 /bin/sh -c 'pwd; hostname; echo secret:$SECRET $GIVEN; wc -l < $PBS_NODEFILE; exit 3' > "
        "file; echo status $?\n"
        "pbs_tmrsh node2 hostname; echo status $?; pbs_tmrsh node2 torchrun; echo status $?\n"
        "pbs_tmrsh node3 /bin/hostname; echo status $?; pbs_tmrsh node2 /bin/sh -c 'kill -9 $$'; echo status $?; "
        "umask; cat file\n"
        "sleep 1000 &\n"
    )
    job = pbs.qsub(script, folder=Path("/home/student"), variables={"GIVEN": "by qsub -v"})
    number = job.number.split(".")[0]
    assert job.status == 0
    assert job.output.splitlines() == [
        *("/home/student", "node1", *["node1"] * 3, *["node2"] * 3, f"2 2 {number}"),
        *("/home/student", "node2", "secret: by qsub -v", "6", "status 3", "node2", "status 0"),
        *("pbs_tmrsh: tm_poll(obit): torchrun: no such file", "status 255"),
        *(f'pbs_tmrsh: host "node3" is not a node in job <{job.number}>', "status 255", "status 9", "0077"),
    ]
    assert job.output_name == f"script.sh.o{number}"
    with pytest.raises(ValueError, match="garbles"):
        pbs.qsub(script, folder=Path("/home/student"), variables={"ARGS": "'two words'"})
    assert job.left_running == ["sleep 1000"]


def test_a_checkpoint_within_an_epoch_wants_as_many_ranks(tmp_path, monkeypatch):
    """Its step number means other images with other ranks or batches: some would be left out, and nothing would be
    said."""
    spec = importlib.util.spec_from_file_location("ddp_program", ROOT / "job_scripts" / "programs" / "ddp.py")
    ddp = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ddp)
    monkeypatch.setattr(ddp.dist, "get_rank", lambda: 0)
    model = ddp.torch.nn.Linear(2, 1)
    optimizer = ddp.torch.optim.SGD(model.parameters(), lr=0.1)
    path = tmp_path / "checkpoint.pt"

    def written(step: int) -> None:
        monkeypatch.setattr(ddp.dist, "get_world_size", lambda: 2)
        ddp.save(path, model, optimizer, {"epoch": 2, "step": step, "sums": [0.0] * 3}, 64)

    def resumed(ranks: int, batch: int) -> int:
        monkeypatch.setattr(ddp.dist, "get_world_size", lambda: ranks)
        return ddp.resume(path, model, optimizer, batch)["step"]

    written(219)
    assert resumed(2, 64) == 219
    for ranks, batch in ((4, 64), (2, 32), (4, 32)):
        with pytest.raises(SystemExit, match="epoch 3, behind 219 steps of 2 ranks with 64 images each.*as many ranks"):
            resumed(ranks, batch)
    written(0)
    assert resumed(4, 32) == 0  # between two epochs


def test_pi(pbs):
    job = submit(pbs, "pi", arguments="--strips 1000000")
    assert job.status == 0, told(job)
    assert ranks_of(job) == ranks_of(job, "report.json") == PLACES
    assert json.loads((job.run / "result.json").read_text())["error"] < 1e-12
    assert (job.run / "exit_status").read_text() == "0\n"
    assert {host for host, _ in job.tasks} == {"node2"}  # Open MPI's daemon, a task of the job
    assert "output folder: /home/student/jobs/pi-" in job.output
    assert left(job) == []


def test_torchrun_on_both_hosts(pbs):
    job = submit(pbs, "c10d", arguments="--megabytes 0.1 --repeats 2")
    assert job.status == 0, told(job)
    assert ranks_of(job) == ranks_of(job, "report.json") == PLACES
    result = json.loads((job.run / "result.json").read_text())
    assert result["backend"] == "gloo" and len(result["send_seconds"]) == 3
    assert {host for host, _ in job.tasks} == {"node1", "node2"}
    assert left(job) == [] and not list((job.run / ".tasks").iterdir())


def test_a_rank_that_dies_ends_the_job(pbs):
    killed = []

    def kill_one(run):
        """SIGKILL to the last rank, on the second host, when the first epoch is done."""
        while not (run.job.run / "checkpoint.pt").exists() and run.job.status is None:
            time.sleep(0.05)
        for process in run.processes("RANK=3", "WORLD_SIZE=4"):
            with contextlib.suppress(psutil.NoSuchProcess):  # a helper of the rank's that has ended meanwhile
                process.kill()
                killed.append(process.pid)

    job = submit(pbs, "ddp", arguments="--images 640 --epochs 1000 --pause 0.05", on_start=kill_one)
    assert killed
    assert job.status == 1, told(job)
    assert (job.run / "exit_status").read_text() == "1\n"
    assert "Signal 9 (SIGKILL)" in told(job) or "exitcode  : -9" in told(job)
    assert not (job.run / "result.json").exists()


def test_a_job_that_is_warned_leaves_a_checkpoint_and_the_next_one_ends_as_if_never_interrupted(pbs):
    training = "--images 1024 --epochs 2"
    whole = submit(pbs, "ddp", arguments=training)
    assert whole.status == 0, told(whole)
    assert ranks_of(whole) == PLACES

    # the alarm clock rings 120 s before the end, which is after a second
    stopped = submit(pbs, "ddp", "-l", "walltime=00:02:01", arguments=f"{training} --pause 0.1")
    assert stopped.status == 75, told(stopped)
    assert (stopped.run / "stop").exists() and not (stopped.run / "result.json").exists()
    assert f"--checkpoint /home/student/jobs/{stopped.run.name}/checkpoint.pt" in told(stopped)

    resumed = submit(pbs, "ddp", arguments=f"{training} --checkpoint jobs/{stopped.run.name}/checkpoint.pt")
    assert resumed.status == 0, told(resumed)
    assert "goes on from" in told(resumed)
    digests = [json.loads((job.run / "result.json").read_text())["parameters_sha256"] for job in (whole, resumed)]
    assert digests[0] == digests[1]


def test_horovod_over_mpi_on_both_hosts(pbs):
    job = submit(pbs, "horovod_mnist", arguments="--images 512 --epochs 1")
    assert job.status == 0, told(job)
    assert ranks_of(job, "report.json") == PLACES
    assert (job.run / "run_4.jsonl").exists() and (job.run / "result.json").exists()
    assert left(job) == []


def test_sigterm_is_heard_and_noted(pbs, tmp_path):
    """What qdel and the end of the walltime send first, to every process of the job."""
    script = tmp_path / "waits.sh"
    script.write_text(
        "#PBS -N waits\n#PBS -l select=2:ncpus=1,place=scatter\nset -euo pipefail\n"
        'source "$COURSE/job_scripts/job.sh"\nsource "$COURSE/job_scripts/pbs/launch.sh"\n'
        "start every_node /bin/sh -c 'touch $COURSE_RUN/up_$RANK; exec sleep 1000'\n"
    )

    def qdel(run):
        while len(list(run.job.run.glob("up_*"))) < 2 and run.job.status is None:
            time.sleep(0.05)
        run.qdel()

    job = submit(pbs, script, on_start=qdel)
    assert job.status not in (0, None), told(job)
    assert (job.run / "stop").exists()
    assert (job.run / "exit_status").read_text() == f"{job.status}\n"


def test_ranks_of_a_notebook_are_spread_over_the_hosts(pbs):
    import nbformat

    cell = nbformat.v4.new_code_cell
    notebook = nbformat.v4.new_notebook(
        cells=[
            cell("from labkit import ranks\nranks.start(4)"),
            cell("%%ranks\nimport os\nprint(os.uname().nodename)"),
            cell("ranks.stop()"),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    home = Path(pbs.hosts.mounts["/home/student"])
    nbformat.write(notebook, home / "spread.ipynb")
    (home / "spread.ipynb").chmod(0o644)
    job = submit(pbs, "engines", arguments="spread.ipynb")
    assert job.status == 0, told(job)
    executed = (job.run / "spread.ipynb").read_text()
    assert executed.count("node1") == executed.count("node2") == 2, executed
