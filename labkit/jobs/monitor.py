"""Samples of a job's ranks on each node: processor time, memory, cores, GPUs; sampled from outside, one JSON line per
sample.

A job script starts it with `labkit job-monitor start FOLDER`: one sampler on every node of the allocation, each writing
FOLDER/monitor/HOST.jsonl until the job ends. `labkit.jobs.report` reads them. A rank is recognised by what its launcher
has put into its environment; the processes that it starts (loaders of data) count as that rank.

The first line describes the node, every other one is a sample:

    {"kind": "node", "host", "job", "cores": [0, 1], "memory_bytes", "gpus": [{"index", "name", "memory_bytes"}]}
    {"kind": "sample", "t": seconds since the epoch, "memory_used": bytes, "level": which of RANK_NAMES named the ranks,
     "ranks": {"3": {"cpu": seconds so far, "rss": bytes, "cores": [0, 1], "threads": 2}},
     "gpus": [{"index", "busy": percent or null, "memory": bytes}]}
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = "monitor"
# What names the rank of a process, the innermost launcher first: torchrun, Open MPI's mpiexec, Horovod's own launcher,
# srun --mpi, a script that sets RANK by itself (perhaps for the torchruns, which are not the ranks), srun.
TORCHRUN = "RANK of torchrun"  # RANK, in a process that torchrun has started
RANK_NAMES = (TORCHRUN, "OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "PMIX_RANK", "PMI_RANK", "RANK", "SLURM_PROCID")
JOB_NAMES = ("SLURM_JOB_ID", "PBS_JOBID")
# Variables by which srun would give the samplers the shape of the job's ranks instead of one on each node.
_SHAPE = (
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_GPUS_PER_TASK",
    "SLURM_TRES_PER_TASK",
)
_QUIET = 30.0  # seconds without a sign of life of the job's script after which a sampler ends


def job_of(environment: dict[str, str]) -> str:
    """The id of the job that a process belongs to, "" outside of any."""
    return next((environment[name] for name in JOB_NAMES if environment.get(name)), "")


# --- starting ---------------------------------------------------------------------------------------------------------


def start(folder: Path, interval: float = 1.0) -> list[str]:
    """Start a sampler on every node of the allocation this runs in; returns their hosts. Outside of one: here.

    They end when the process that called this (the job's script) is gone. Never raises for what a cluster may lack: the
    reason is written to FOLDER/monitor/trouble.txt, because a job is worth more than its statistics.
    """
    place = Path(folder).resolve() / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    watched = os.getppid()
    (place / "alive").write_text("starting")
    sampler = [
        sys.executable,
        "-m",
        "labkit.jobs.monitor",
        str(place),
        "--interval",
        f"{interval:g}",
        "--job",
        job_of(dict(os.environ)),
    ]
    commands = _commands(sampler, watched)
    for host, command in commands.items():
        environment = {name: value for name, value in os.environ.items() if name not in _SHAPE}
        try:
            with open(place / "trouble.txt", "ab") as trouble:
                subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=trouble, stderr=trouble)
        except OSError as error:
            with open(place / "trouble.txt", "a") as trouble:
                print(f"{host}: {error}", file=trouble)
    return list(commands)


def _commands(sampler: list[str], watched: int) -> dict[str, list[str]]:
    """The command that starts a sampler on each node, by host. The one on this node watches the script; the others
    watch its sign of life."""
    here = socket.gethostname()
    commands = {here: [*sampler, "--watch", str(watched)]}
    if "SLURM_JOB_ID" in os.environ:
        others = int(os.environ.get("SLURM_JOB_NUM_NODES", "1")) - 1
        if others > 0 and shutil.which("srun"):
            # --overlap: beside the ranks, on their cores and GPUs, in nobody's way
            srun = [
                "srun",
                "--quiet",
                "--overlap",
                "--mpi=none",
                f"--nodes={others}",
                f"--ntasks={others}",
                "--ntasks-per-node=1",
                "--cpus-per-task=1",
            ]
            commands["the other nodes"] = [
                *srun,
                f"--exclude={os.environ.get('SLURMD_NODENAME', here)}",
                "--mem=0",
                *sampler,
            ]
    elif os.environ.get("PBS_NODEFILE"):
        with contextlib.suppress(OSError):
            for host in dict.fromkeys(Path(os.environ["PBS_NODEFILE"]).read_text().split()):
                if host.split(".")[0] != here.split(".")[0]:
                    # which passes on no variables: this labkit must be found there, too
                    commands[host] = [
                        "pbs_tmrsh",
                        host,
                        "env",
                        f"PYTHONPATH={Path(__file__).resolve().parents[2]}",
                        *sampler,
                    ]
    return commands


# --- sampling ---------------------------------------------------------------------------------------------------------


@dataclass
class Sampler:
    """Samples one node. job: whose processes count; "": all of this user that have a rank. gpus: None where NVIDIA's
    library is not."""

    job: str
    gpus: Gpus | None = None
    level: int | None = None  # which of RANK_NAMES named the ranks of the last sample
    _known: dict[tuple[int, float], dict[str, str] | None] = field(default_factory=dict)
    _spent: dict[tuple[int, float], tuple[str, float]] = field(default_factory=dict)

    def node(self) -> dict:
        """The log's first line: what the node is."""
        import psutil

        from labkit import environment

        cores = (
            sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(environment.cores()))
        )
        return {
            "kind": "node",
            "host": socket.gethostname(),
            "job": self.job,
            "cores": cores,
            "memory_bytes": psutil.virtual_memory().total,
            "gpus": self.gpus.described if self.gpus else [],
        }

    def sample(self) -> dict:
        """One sample. Processor time is what all processes of a rank have used since its start, those that have ended
        included."""
        import psutil

        ranks: dict[str, dict] = {}
        for key, process, rank in self._members():
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    rss, cores = process.memory_info().rss, process.cpu_affinity()
            except (psutil.Error, OSError):
                continue
            self._spent[key] = rank, times.user + times.system
            entry = ranks.setdefault(rank, {"cpu": 0.0, "rss": 0, "cores": [], "threads": 0})
            entry["rss"] += rss
            entry["cores"] = sorted({*entry["cores"], *cores})
            entry["threads"] = max(entry["threads"], _threads(self._known[key] or {}))
        for rank, seconds in self._spent.values():
            if rank in ranks:
                ranks[rank]["cpu"] = round(ranks[rank]["cpu"] + seconds, 3)
        gpus = self.gpus.sample() if self.gpus else []
        return {
            "kind": "sample",
            "t": round(time.time(), 3),
            "memory_used": _memory_used(),
            "level": self.level,
            "ranks": ranks,
            "gpus": gpus,
        }

    def _members(self):
        """((pid, start), process, rank) of every process of the job that belongs to a rank."""
        import psutil

        found = []
        for process in psutil.process_iter():
            try:
                key = process.pid, process.create_time()
                if key not in self._known or self._known[key] is None and time.time() - key[1] < 30:
                    # a process may have been forked but not yet executed: then its environment is its parent's, so it
                    # is read again
                    self._known[key] = self._environment(process)
            except (psutil.Error, OSError):
                continue
            if self._known[key]:
                found.append((key, process, self._known[key]))
        innermost = next((name for name in RANK_NAMES if any(name in variables for _, _, variables in found)), None)
        self.level = RANK_NAMES.index(innermost) if innermost else None
        return [(key, process, variables[innermost]) for key, process, variables in found if innermost in variables]

    def _environment(self, process) -> dict[str, str] | None:
        """The variables of a process that matter, None for one that is no rank of this job."""
        import psutil

        if process.pid == os.getpid():
            return None
        try:
            variables = process.environ()
        except psutil.AccessDenied:  # somebody else's
            return None
        if self.job and job_of(variables) != self.job:
            return None
        if "TORCHELASTIC_RUN_ID" in variables:
            variables[TORCHRUN] = variables.get("RANK", "")
        kept = {name: variables[name] for name in (*RANK_NAMES, "OMP_NUM_THREADS") if variables.get(name, "").isdigit()}
        if "SLURM_STEP_ID" not in variables or variables["SLURM_STEP_ID"] == os.environ.get("SLURM_STEP_ID"):
            kept.pop("SLURM_PROCID", None)  # the batch script has one, too, and so have the samplers
        if not any(name in kept for name in RANK_NAMES):
            return None
        return kept


def _threads(variables: dict[str, str]) -> int:
    """Threads that a rank was told to compute with; 0: not told, so it takes as many as it sees cores."""
    return int(variables.get("OMP_NUM_THREADS", 0))


def _memory_used() -> int:
    import psutil

    memory = psutil.virtual_memory()
    return memory.total - memory.available


class Gpus:
    """The NVIDIA GPUs that this job may use, through NVIDIA's management library."""

    def __init__(self, library, visible: str | None = None):
        """library: the module pynvml, initialised. visible: CUDA_VISIBLE_DEVICES, numbers or UUIDs."""
        self.library, self.handles, self.described = library, [], []
        for index in range(library.nvmlDeviceGetCount()):
            handle = library.nvmlDeviceGetHandleByIndex(index)
            uuid = _text(library.nvmlDeviceGetUUID(handle))
            if visible is not None and not any(
                str(index) == one or one and uuid.startswith(one) for one in visible.split(",")
            ):
                continue
            self.handles.append((index, handle))
            self.described.append(
                {
                    "index": index,
                    "name": _text(library.nvmlDeviceGetName(handle)),
                    "memory_bytes": library.nvmlDeviceGetMemoryInfo(handle).total,
                }
            )

    @classmethod
    def here(cls) -> Gpus | None:
        """The GPUs of this node; None without a GPU, a driver or the library."""
        try:
            import pynvml

            pynvml.nvmlInit()
            found = cls(pynvml, os.environ.get("CUDA_VISIBLE_DEVICES"))
        except Exception:  # whatever a driver does, the job goes on without these figures
            return None
        return found if found.handles else None

    def sample(self) -> list[dict]:
        """busy: percent of the last moments in which a kernel ran; None where the device does not tell (MIG). memory:
        bytes in use."""
        rows = []
        for index, handle in self.handles:
            row = {"index": index, "busy": None, "memory": None}
            with contextlib.suppress(self.library.NVMLError):
                row["memory"] = self.library.nvmlDeviceGetMemoryInfo(handle).used
                row["busy"] = self.library.nvmlDeviceGetUtilizationRates(handle).gpu
            rows.append(row)
        return rows


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


# --- the sampler's process --------------------------------------------------------------------------------------------


def watch(place: Path, script: int | None, interval: float, job: str = "") -> int:
    """Sample until the job's script has ended; returns the number of samples.

    script: its process, where it runs on this node; its sampler keeps FOLDER/monitor/alive fresh. On the other nodes
    (None) that file is what tells. A job that was requeued appends to the file of its first attempt. Samples become
    rarer with time: a job of a minute has 60, one of a day 17,000.
    """
    sampler = Sampler(job or job_of(dict(os.environ)), Gpus.here())
    life = ScriptHere(script, place / "alive") if script else ScriptElsewhere(place / "alive")
    begun, count = time.monotonic(), 0
    with open(place / f"{socket.gethostname()}.jsonl", "a", encoding="utf-8") as file:
        print(json.dumps(sampler.node()), file=file, flush=True)
        while True:
            print(json.dumps(sampler.sample()), file=file, flush=True)
            count += 1
            if not life.goes_on(min(5.0, max(interval, (time.monotonic() - begun) / 60))):
                return count


class ScriptHere:
    """The job's script, a process of this node. Its sampler shows the others that it lives, by a number that changes in
    a file."""

    def __init__(self, pid: int, alive: Path):
        self.alive, self.beats = alive, 0
        try:
            self.handle = os.pidfd_open(pid)  # becomes readable when the process ends
        except ProcessLookupError:
            self.handle = None

    def goes_on(self, seconds: float) -> bool:
        """True after waiting for the interval; False as soon as the script has ended."""
        self.beats += 1
        self.alive.write_text(f"{os.getpid()} {self.beats}")
        if self.handle is not None and not select.select([self.handle], [], [], seconds)[0]:
            return True
        self.alive.unlink(missing_ok=True)
        return False


class ScriptElsewhere:
    """The job's script as seen from another node: gone when the file is, or has not changed for 30 seconds (clocks may
    differ)."""

    def __init__(self, alive: Path):
        self.alive, self.last, self.changed = alive, "", time.monotonic()

    def goes_on(self, seconds: float) -> bool:
        """True after waiting for the interval; False if the script has ended."""
        time.sleep(seconds)
        try:
            beat = self.alive.read_text()
        except OSError:
            return False
        if beat != self.last:
            self.last, self.changed = beat, time.monotonic()
        return time.monotonic() - self.changed < _QUIET


def main() -> None:
    """The sampler of one node: PLACE [--interval S] [--watch PID] [--job ID]."""
    import argparse

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # a scheduler ends it with the job: no trouble to report

    parser = argparse.ArgumentParser()
    parser.add_argument("place", type=Path)
    parser.add_argument("--interval", type=float, default=1.0)
    parser.add_argument("--watch", type=int, default=None)
    parser.add_argument("--job", default="")
    options = parser.parse_args()
    watch(options.place, options.watch, options.interval, options.job)


if __name__ == "__main__":
    main()
