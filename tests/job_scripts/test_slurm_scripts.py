"""Every job script in job_scripts/slurm, submitted with sbatch to a real Slurm, on two nodes with two ranks each.

Jobs that need nobody's help are submitted together, and Slurm runs them two at a time; the tests wait for theirs.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import graded_class as small_class
import nbformat
import psutil
import pytest
from machine import needs

from labkit import placement, products, runlog

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "job_scripts" / "slurm"
PORT = ROOT / "solutions" / "scaling_mnist" / "tensorflow2_mnist_hvd.py"
LAB = ROOT / "solutions" / "09_multi_node_image_lab" / "train_products_hvd.py"
LIMIT = 600.0  # s for a job, most of which it may wait for the others
DDP = ("--epochs", "2", "--images", "1024", "--batch-size", "32")  # 8 steps in an epoch
HOROVOD = ("--epochs", "2", "--images", "1024", "--batch-size", "32")


handed_in_class, graded_class = small_class.handed_in_class, small_class.graded_class  # fixtures
pytestmark = [
    small_class.pytestmark,
    needs("horovod"),
    pytest.mark.timeout(LIMIT + 120),
]  # a test may wait for the jobs of others


@dataclass
class Job:
    """A submitted job. folder: what its script calls RUN."""

    cluster: object
    number: str
    name: str
    place: Path
    said: dict[str, str] = field(default_factory=dict)  # what Slurm says of it when it has ended

    @property
    def folder(self) -> Path:
        return self.place / "jobs" / f"{self.name}-{self.number}"

    def output(self) -> str:
        path = self.folder / "output.txt"
        return path.read_text() if path.exists() else ""

    def words(self) -> str:
        """What it has printed, and what Slurm has said about it: for the message of a failed test."""
        slurms_own = self.place / f"{self.name}-{self.number}.out"
        log = (self.cluster.folder / "log" / "slurmctld.log").read_text(errors="replace").splitlines()
        controller = "\n".join(line for line in log if self.number in line)
        return f"{self.said}\n{slurms_own.read_text() if slurms_own.exists() else ''}\n{self.output()}\n{controller}"

    def wait(self, timeout: float = LIMIT) -> str:
        """Its state in the end."""
        self.said = self.said or self.cluster.wait(self.number, timeout)
        return self.said["JobState"]

    def finished(self) -> Job:
        """The job, after it has come to a good end."""
        assert self.wait() == "COMPLETED", self.words()
        assert self.said["ExitCode"] == "0:0"
        return self

    def read(self, name: str) -> dict:
        return json.loads((self.folder / name).read_text())

    def until(self, happened: Callable[[], object], what: str) -> None:
        """Return when it has happened; fail where the job ends before."""
        deadline = time.monotonic() + LIMIT
        while not happened():
            state = self.cluster.job(self.number)["JobState"]
            assert state in ("PENDING", "RUNNING", "CONFIGURING"), f"{state} before {what}:\n{self.words()}"
            assert time.monotonic() < deadline, f"{what} has not come:\n{self.words()}"
            time.sleep(0.1)

    def until_back_in_the_queue(self) -> None:
        """Return when it waits for its second attempt and nothing of the first is left on a node: what the first still
        says at its end would be taken for the second's. On the way there Slurm shows it as completing or even as
        failed.
        """
        deadline = time.monotonic() + LIMIT
        while True:
            shown = self.cluster.job(self.number)
            if (shown["JobState"], shown["Restarts"]) == ("PENDING", "1") and not self.has_processes():
                return
            assert time.monotonic() < deadline, f"{shown['JobState']}, not in the queue again:\n{self.words()}"
            time.sleep(0.1)

    def leaves_nothing_running(self) -> bool:
        """Whether all its processes are gone soon after its end."""
        deadline = time.monotonic() + 10
        while self.has_processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        return not self.has_processes()

    def has_processes(self) -> bool:
        """Whether a process of this job runs, or one of Slurm's that looks after it."""
        for process in psutil.process_iter():
            try:
                if (
                    f"[{self.number}." in " ".join(process.cmdline())
                    or process.environ().get("SLURM_JOB_ID") == self.number
                ):
                    return True
            except psutil.Error:
                continue
        return False

    def process_of(self, rank: int, program: str) -> psutil.Process | None:
        """The process of a rank, or None if it is not there."""
        for process in psutil.process_iter():
            try:
                variables, command = process.environ(), process.cmdline()
            except psutil.Error:
                continue
            names = [name for name in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID") if name in variables]
            if names and variables.get("SLURM_JOB_ID") == self.number and variables[names[0]] == str(rank):
                if any(word.endswith(program) for word in command[1:3]) and "torchrun" not in " ".join(command[:2]):
                    return process
        return None

    def kill(self, rank: int, program: str) -> None:
        self.process_of(rank, program).send_signal(signal.SIGKILL)


@dataclass
class Desk:
    """Where jobs are submitted."""

    cluster: object
    place: Path

    def submit(self, name: str, *arguments: str | Path, options: tuple[str, ...] = (), **variables: str) -> Job:
        settings = {
            "COURSE": str(ROOT),
            "COURSE_ENVIRONMENT": str(Path(sys.executable).parents[1]),
            "PYTHONPATH": str(ROOT),
            "LABKIT_DATA": str(self.place / "data"),
            # what is fused is a matter of time, and decides in which order numbers are added up
            "HOROVOD_FUSION_THRESHOLD": "0",
            "PATH": os.environ["PATH"],
        }
        command = ["sbatch", "--parsable", *options, str(SCRIPTS / f"{name}.sh"), *map(str, arguments)]
        done = self.cluster.run(command, cwd=self.place, env=settings | variables)
        assert done.returncode == 0, done.stderr
        return Job(self.cluster, done.stdout.strip(), name, self.place)


@pytest.fixture(scope="module")
def desk(slurm, tmp_path_factory) -> Desk:
    place = tmp_path_factory.mktemp("submitted")
    os.environ["LABKIT_DATA"] = str(place / "data")
    from labkit import data

    data.load("digits", n=1), data.load("digits", train=False, n=1)  # once, before 16 ranks want them
    return Desk(slurm, place)


@pytest.fixture(scope="module")
def jobs(desk) -> dict[str, Job]:
    """All jobs that run by themselves. The one that Slurm will stop comes first: it mostly sleeps."""
    notebook = nbformat.v4.new_notebook()
    where = "%%ranks\nimport socket\nprint(f'rank {rank} of {world_size} on {socket.gethostname()}')"
    notebook.cells = [
        nbformat.v4.new_code_cell("from labkit import ranks\nranks.start(4)"),
        nbformat.v4.new_code_cell(where),
    ]
    nbformat.write(notebook, desk.place / "where.ipynb")
    products.draw(desk.place, products=(2, 1), photos=2)  # 48 photos to train on
    small = ("--image-size", "32", "--width", "4", "--batch-size", "2", "--num-steps", "2", "--warmup-steps", "1")
    submitted = {
        "too short": desk.submit("horovod_mnist", *HOROVOD, "--pause", "6", options=("--time=1",), REQUEUE="no"),
        "pi": desk.submit("pi", "--strips", "1000000"),
        "refused": desk.submit("horovod_mnist", ROOT / "homework" / "scaling_mnist" / "tensorflow2_mnist.py"),
        "c10d": desk.submit("c10d", "--megabytes", "1", "--repeats", "2"),
        "ddp": desk.submit("ddp", *DDP),
        "engines": desk.submit("engines", "where.ipynb"),
        "horovod_mnist": desk.submit("horovod_mnist", *HOROVOD),
        "own port": desk.submit("horovod_mnist", PORT, "--epochs", "2", "--images", "512"),
        "resnet34_throughput": desk.submit("resnet34_throughput", *small),
        "scaling_sweep": desk.submit("scaling_sweep", "--epochs", "2", "--images", "512"),
        "image_lab": desk.submit("image_lab", LAB, "--epochs", "1", "--batch-size", "6"),
    }
    yield submitted
    desk.cluster.run(["scancel", *(job.number for job in submitted.values())])  # where a test has failed


def places(nodes: list[str], ranks: list[dict]) -> list[tuple]:
    """(rank, world size, local rank, which of the nodes) of each."""
    return [(one["rank"], one["world_size"], one["local_rank"], nodes.index(one["host"])) for one in ranks]


FOUR = [(0, 4, 0, 0), (1, 4, 1, 0), (2, 4, 0, 1), (3, 4, 1, 1)]


def check_places(job: Job) -> None:
    """The report at the start tells every rank's place, and nothing but the job's folder went to Slurm's own file."""
    report = job.read("report.json")
    assert len(report["nodes"]) == 2 and places(report["nodes"], report["ranks"]) == FOUR
    assert (report["job"], report["name"], report["scheduler"]) == (job.number, job.name, "slurm")
    assert all(rank["cores"] and rank["threads"] == 1 and rank["gpus"] == [] for rank in report["ranks"])
    assert (job.place / f"{job.name}-{job.number}.out").read_text() == f"output folder: {job.folder}\n"
    assert f"{job.name}, job {job.number}, attempt 1: 4 ranks on 2 nodes, binding: none" in job.output()


@pytest.mark.parametrize(
    "name", ["pi", "c10d", "ddp", "engines", "horovod_mnist", "resnet34_throughput", "scaling_sweep", "image_lab"]
)
def test_a_script_reports_its_ranks_and_ends_well(jobs, name):
    job = jobs[name].finished()
    check_places(job)
    assert job.read("exit_status") == 0


@pytest.mark.parametrize("name", ["pi", "c10d", "ddp", "horovod_mnist"])
def test_the_ranks_themselves_see_the_same_places(jobs, name):
    job = jobs[name].finished()
    assert places(job.read("report.json")["nodes"], job.read("result.json")["ranks"]) == FOUR
    nodes = job.read("report.json")["nodes"]
    for rank, world_size, local_rank, node in FOUR:
        assert f"rank {rank} of {world_size}: local rank {local_rank} on {nodes[node]}\n" in job.output()


def test_pi_is_right(jobs):
    result = jobs["pi"].finished().read("result.json")
    assert result["strips"] == 1_000_000 and abs(result["pi"] - math.pi) < 1e-11


def test_messages_reach_the_other_node(jobs):
    """The program itself compares every number that comes back and every sum."""
    job = jobs["c10d"].finished()
    result = job.read("result.json")
    assert result["backend"] == "gloo" and len(result["send_seconds"]) == 3
    assert (
        "rank 0 -> rank 1 (same node): 1 MB" in job.output() and "rank 0 -> rank 2 (other node): 1 MB" in job.output()
    )


@pytest.mark.parametrize(("name", "images"), [("ddp", 1024), ("horovod_mnist", 1024), ("own port", 512)])
def test_a_run_log_tells_of_all_ranks(jobs, name, images):
    job = jobs[name].finished()
    run = runlog.read(job.folder / "run_4.jsonl")
    assert run.problems == [] and run.complete and run.world_size == 4 and len(run.epochs) == 2
    nodes = job.read("report.json")["nodes"]
    assert run.hosts == [nodes[0], nodes[0], nodes[1], nodes[1]]
    assert all(sum(epoch.samples_per_rank) == images for epoch in run.epochs)
    if name != "own port":
        assert job.read("result.json")["val_accuracy"] == run.epochs[-1].val_accuracy


def test_a_sequential_script_is_refused(jobs):
    job = jobs["refused"]
    assert job.wait() == "FAILED" and job.said["ExitCode"] == "2:0"
    assert job.read("exit_status") == 2
    assert "does not import Horovod: each of the 4 ranks would do the whole work" in job.output()


def test_resnet34_counts_the_images_of_all_ranks(jobs):
    record = jobs["resnet34_throughput"].finished().read("throughput.json")
    assert record["world_size"] == 4 and record["global_batch_size"] == 8 and len(record["seconds_per_step"]) == 2


def test_the_sweep_makes_logs_and_a_table(jobs):
    job = jobs["scaling_sweep"].finished()
    logs = {ranks: runlog.read(job.folder / f"run_{ranks}.jsonl") for ranks in (1, 2, 4)}
    assert sorted(path.name for path in job.folder.glob("run_*")) == ["run_1.jsonl", "run_2.jsonl", "run_4.jsonl"]
    assert [len(set(run.hosts)) for run in logs.values()] == [1, 1, 2]
    assert all(run.complete and run.world_size == ranks and not run.problems for ranks, run in logs.items())
    header, *rows = job.output().splitlines()[-4:]
    assert header.split()[:5] == ["ranks", "nodes", "images/s", "speedup", "efficiency"]
    assert [row.split()[:2] for row in rows] == [["1", "1"], ["2", "1"], ["4", "2"]]
    assert [row.split()[-1] for row in rows] == [f"{run.epochs[-1].val_accuracy:.4f}" for run in logs.values()]


def test_the_image_lab_trains_on_both_nodes(jobs):
    job = jobs["image_lab"].finished()
    run = runlog.read(job.folder / "run_4.jsonl")
    assert run.complete and run.problems == [] and len(set(run.hosts)) == 2
    assert [sum(epoch.samples_per_rank) for epoch in run.epochs] == [48]
    assert "after 1 epochs, 4 ranks" in job.output() and (job.folder / "checkpoint.npz").exists()


def test_a_class_is_graded_on_both_nodes(desk, jobs, handed_in_class, graded_class, tmp_path):
    """On engines of the allocation, with the same grades and the same pages as on one machine."""
    root = small_class.copy(handed_in_class, tmp_path)
    job = desk.submit("grade", "homework", "--course", root, "--allow-weak-isolation").finished()
    check_places(job)
    assert small_class.scores(root) == small_class.EXPECTED, job.output()
    assert small_class.shown(root) == small_class.shown(graded_class[0])
    assert job.read("exit_status") == 0 and job.leaves_nothing_running()


def test_a_notebooks_ranks_are_spread_over_the_nodes(jobs):
    job = jobs["engines"].finished()
    nodes = job.read("report.json")["nodes"]
    executed = (job.folder / "where.ipynb").read_text()
    for rank, world_size, _, node in FOUR:
        assert f"rank {rank} of {world_size} on {nodes[node]}" in executed


def test_a_too_short_limit_leaves_a_checkpoint_and_the_next_job_ends_as_if_never_stopped(jobs, desk):
    stopped = jobs["too short"]
    assert stopped.wait() == "FAILED" and stopped.said["ExitCode"] == "75:0", stopped.words()
    assert (stopped.folder / "stop").exists() and not (stopped.folder / "result.json").exists()
    checkpoint = stopped.folder / "checkpoint.pt"
    assert f"submit it again with: {' '.join(HOROVOD)} --pause 6 --checkpoint {checkpoint}" in stopped.output()

    resumed = desk.submit("horovod_mnist", *HOROVOD, "--checkpoint", checkpoint).finished()
    assert f"goes on from {checkpoint}: epoch " in resumed.output()
    check_same_result(resumed, jobs["horovod_mnist"])


def check_same_result(job: Job, uninterrupted: Job) -> None:
    """Losses, accuracies and parameters, to the last bit."""
    ours, theirs = job.read("result.json"), uninterrupted.finished().read("result.json")
    names = ("loss", "accuracy", "val_loss", "val_accuracy", "epochs", "parameters_sha256")
    assert {name: ours[name] for name in names} == {name: theirs[name] for name in names}


def test_ddp_survives_a_killed_rank_and_a_requeue(jobs, desk):
    """One training in three pieces: a rank is killed; the next job goes on, is told to stop, and goes on after the
    queue.
    """
    first = desk.submit("ddp", *DDP, "--pause", "0.5")
    first.until(lambda: "epoch 1:" in first.output(), "the first epoch")
    first.kill(3, "ddp.py")
    assert first.wait(60) == "FAILED" and first.said["ExitCode"] != "0:0", first.words()
    assert first.read("exit_status") != 0

    second = desk.submit("ddp", *DDP, "--pause", "0.5", "--checkpoint", first.folder / "checkpoint.pt")
    second.until(lambda: "goes on from" in second.output(), "the beginning")
    desk.cluster.run(["scancel", "--signal=USR1", "--batch", second.number])  # as Slurm does before the time is up
    second.until_back_in_the_queue()
    # Slurm lets it rest for two minutes; within the same second a node would still refuse it ("Job credential
    # revoked").
    desk.cluster.run(["scontrol", "update", f"JobId={second.number}", "StartTime=now+3seconds"])
    second.finished()
    assert "attempt 1 stopped before its end: the job goes back into the queue" in second.output()
    assert "ddp, job " + second.number + ", attempt 2" in second.output()
    assert second.output().count("goes on from") == 2 and (second.folder / "run_4_attempt2.jsonl").exists()
    check_same_result(second, jobs["ddp"])


@pytest.mark.parametrize(
    ("name", "arguments", "program"),
    [
        ("pi", ("--strips", 10**13), "pi.py"),
        ("horovod_mnist", ("--epochs", 10**6, "--images", 512), "horovod_mnist.py"),
    ],
)
def test_a_killed_rank_ends_the_job(desk, jobs, name, arguments, program):
    job = desk.submit(name, *arguments)
    if name == "pi":  # it says nothing before the end
        job.until(lambda: all(job.process_of(rank, program) for rank in range(4)), "the ranks")
    else:
        job.until(lambda: "epoch 1:" in job.output(), "the first epoch")
    job.kill(2, program)
    assert job.wait(60) == "FAILED" and job.said["ExitCode"] != "0:0", job.words()
    assert job.read("exit_status") != 0
    assert not (job.folder / "result.json").exists()


def test_an_interactive_session_has_the_courses_environment(desk, slurm):
    commands = f"which python\nsrun python {ROOT}/job_scripts/programs/report.py </dev/null\nexit 3\n"
    session = f"printf '{commands}' | bash {SCRIPTS}/interactive.sh --time=5"
    environment = {
        "COURSE": str(ROOT),
        "COURSE_ENVIRONMENT": str(Path(sys.executable).parents[1]),
        "PYTHONPATH": str(ROOT),
    }
    done = slurm.run(["bash", "-c", session], cwd=desk.place, env=environment, timeout=LIMIT)
    assert done.returncode == 3, done.stderr
    python, *lines = done.stdout.splitlines()
    ranks = sorted((json.loads(line) for line in lines), key=lambda one: one["rank"])
    assert Path(python).parent == Path(sys.executable).parent
    assert places(list(dict.fromkeys(one["host"] for one in ranks)), ranks) == FOUR


# --- where ranks run --------------------------------------------------------------------------------------------------


def a_rank(rank: int, host: str = "node1", **more) -> dict:
    place = {"rank": rank, "host": host, "local_rank": rank, "cores": [2 * rank, 2 * rank + 1], "threads": 2}
    return place | {"numa_domains": [rank], "gpus": []} | more


@pytest.mark.parametrize(
    ("ranks", "warning"),
    [
        ([a_rank(0), a_rank(1)], ""),
        ([a_rank(0, cores=[0]), a_rank(1, cores=[0])], "2 ranks share 1 core on node1"),
        ([a_rank(0), a_rank(1, threads=4)], "6 computing threads on 4 cores of node1"),
        ([a_rank(r, gpus=["0", "1"]) for r in range(3)], "3 ranks share 2 GPUs on node1"),
        ([a_rank(r, gpus=["0", "1"]) for r in range(2)], ""),
        ([a_rank(r, gpus=[str(r)]) for r in range(2)], ""),
        ([a_rank(0, numa_domains=[0, 1]), a_rank(1)], "ranks on node1 are spread over NUMA domains"),
    ],
)
def test_bad_places_are_named(ranks, warning):
    found = placement.warnings(ranks)
    assert len(found) == bool(warning) and all(one.startswith(warning) for one in found)


def test_a_share_of_the_cores_stays_in_its_numa_domain(monkeypatch):
    monkeypatch.setattr(placement, "numa_domains", lambda: {0: {0, 1, 8, 9}, 1: {4, 5, 12, 13}})
    everything = {0, 1, 8, 9, 4, 5, 12, 13}
    assert [placement.share(everything, rank, 2) for rank in range(2)] == [{0, 1, 8, 9}, {4, 5, 12, 13}]
    assert [placement.share(everything, rank, 4) for rank in range(4)] == [{0, 1}, {8, 9}, {4, 5}, {12, 13}]
    assert placement.share({0, 4}, 1, 4) == {0, 4}  # fewer cores than ranks: nobody is tied


def test_which_gpu():
    assert [placement.gpu_number(rank, 4) for rank in range(4)] == [0, 1, 2, 3]
    assert placement.gpu_number(3, 1) == 0
    with pytest.raises(ValueError, match="one rank for each GPU"):
        placement.gpu_number(2, 2)
