"""Checks of what this machine can do for the course: one per subject, each with its remedy.

Nothing is imported that the check is about (torch takes seconds and may be what is broken):
versions are read from metadata, and MPI is tried in a process of its own.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from labkit import environment
from labkit.launch.horovod_rendezvous import name_is_known

ROOT = Path(__file__).resolve().parents[1]
GIB = 2**30
# good: as the course expects. limited: works, with less. none: not here, not needed. broken: the
#     course does not work like this.
STATUSES = ("good", "limited", "none", "broken")
_NEEDED = "Only unit 07, parts of 09 and the homework's Horovod port need it."


@dataclass(frozen=True)
class Check:
    """subject: "MPI". status: one of STATUSES. found: what there is. remedy: what to do about it,
    "" if nothing.
    """

    subject: str
    status: str
    found: str
    remedy: str = ""


def examine() -> list[Check]:
    """All checks, in the order of the table. Takes about two seconds, most of them to start two
    MPI ranks.
    """
    return [
        python(),
        packages(),
        cores(),
        memory(),
        disk(),
        gpus(),
        mpi(),
        *([] if environment.frameworks_left_out() else [horovod()]),
        scheduler(),
        isolation(),
        browser(),
    ]


def show(checks: list[Check]) -> None:
    """Print the checks as a table, remedies below their row."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    colours = {"good": "green", "limited": "yellow", "none": "dim", "broken": "bold red"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "status", "found, and what to do"):
        table.add_column(column, overflow="fold")
    for check in checks:
        text = escape(check.found) + (
            f"\n[italic]{escape(check.remedy)}[/]" if check.remedy else ""
        )
        table.add_row(check.subject, f"[{colours[check.status]}]{check.status}[/]", text)
    console = Console(highlight=False)
    # In a notebook rich thinks of 115 columns; beside Lab's side bar a page shows fewer.
    console.print(table, width=min(console.width, 92))


# ----------------------------------------------------------------------------------------- software


def python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if not lock_file().exists():
        return Check(
            "Python",
            "broken",
            f"{version}, {sys.prefix}",
            "The course has no lock file for it: run `make doctor`.",
        )
    without = sys.version_info[:2] != environment.FRAMEWORKS_PYTHON
    if without and not environment.frameworks_left_out():
        remedy = (
            "Only units 07 and 13, parts of 09 and a homework's port need them: "
            "`make lab PYTHON=3.11` has them."
        )
        return Check(
            "Python",
            "limited",
            f"{version}, without TensorFlow 2.15 and Horovod; {sys.prefix}",
            remedy,
        )
    return Check("Python", "good", f"{version}, {sys.prefix}")


def lock_file() -> Path:
    """The pins for this Python."""
    own = ROOT / f"requirements.lock.{sys.version_info[0]}.{sys.version_info[1]}.txt"
    return (
        ROOT / "requirements.lock.txt"
        if sys.version_info[:2] == environment.FRAMEWORKS_PYTHON
        else own
    )


def packages() -> Check:
    """The environment against the lock file."""
    wanted = dict(re.findall(r"^([\w.-]+)==(\S+)", lock_file().read_text(), flags=re.MULTILINE))
    wrong = [
        name
        for name, version in wanted.items()
        if (installed_version(name) or "").split("+")[0] != version
    ]
    if wrong:
        few = ", ".join(wrong[:5]) + (" ..." if len(wrong) > 5 else "")
        return Check(
            "packages",
            "broken",
            f"{len(wrong)} of {len(wanted)} differ from the lock file: {few}",
            "Run `make lab`.",
        )
    return Check(
        "packages",
        "good",
        f"{len(wanted)} as pinned: torch {wanted['torch']}, jupyterlab {wanted['jupyterlab']}",
    )


def installed_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def mpi() -> Check:
    """Start two ranks and let them add up their numbers."""
    program = (
        "from mpi4py import MPI; comm = MPI.COMM_WORLD; total = comm.allreduce(comm.rank + 1)\n"
        "if comm.rank == 0: print('sum', total, MPI.Get_library_version())"
    )
    again = "`make clean`, then `make lab`, installs it again."
    try:
        command = [*environment.mpiexec(), "-n", "2", sys.executable, "-c", program]
        variables = os.environ | environment.mpi_environment(2)
        ran = subprocess.run(
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
    except FileNotFoundError as error:
        return Check("MPI", "broken", str(error), again)
    except subprocess.TimeoutExpired:
        return Check(
            "MPI",
            "broken",
            "two ranks did not finish within 60 s",
            "Is a firewall between this machine and itself?",
        )
    if ran.returncode or "sum 3" not in ran.stdout:
        last = (
            ran.stderr.strip() or ran.stdout.strip() or f"exit status {ran.returncode}"
        ).splitlines()[-1]
        return Check("MPI", "broken", f"two ranks did not run: {last}", again)
    library = re.search(r"Open MPI v[\d.]+|MPICH Version:\s*\S+", ran.stdout)
    return Check(
        "MPI", "good", f"{library.group() if library else 'an MPI'}, two ranks ran; {command[0]}"
    )


def horovod() -> Check:
    """The state of Horovod's wheel, which is compiled on this machine in the background."""
    command = [sys.executable, str(ROOT / "tools" / "bootstrap.py"), "horovod-status"]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if asked.returncode:
        found = f"unknown: {asked.stderr.strip()[-200:]}"
        return Check("Horovod", "limited", found, _NEEDED)
    wheel = json.loads(asked.stdout)
    if wheel["state"] == "installed":
        return _installed_horovod()
    percent = f", {wheel['percent']} %" if wheel["percent"] is not None else ""
    lessons = "Only Horovod's lessons need it."
    if sys.version_info[:2] == environment.FRAMEWORKS_PYTHON:
        lessons = f"Then `make horovod`. {_NEEDED}"
    compiles = f"`make horovod` compiles it (5-8 minutes). {_NEEDED}"
    found, remedy = {
        "built": ("compiled, not yet installed", "`make horovod` installs it."),
        "building": (
            f"being compiled in the background{percent}",
            f"Wait, or watch: {wheel['log']}",
        ),
        "waiting": ("another clone is compiling it", "Wait: it will be shared."),
        "impossible": (wheel["reason"], lessons),
        "failed": (wheel["reason"], f"`make horovod` tries again; {wheel['log']}"),
        "absent": ("not compiled", compiles),
    }[wheel["state"]]
    return Check("Horovod", "limited", found, remedy)


def _installed_horovod() -> Check:
    version, name = installed_version("horovod"), socket.gethostname()
    if name_is_known():
        return Check("Horovod", "good", f"{version}, compiled here")
    found = f"{version}, but this machine's name, {name}, is unknown to it"
    line = f"A line `127.0.1.1 {name}` in /etc/hosts mends it."
    remedy = f"`horovodrun --gloo` crashes then; mpiexec does not. {line}"
    return Check("Horovod", "limited", found, remedy)


# ------------------------------------------------------------------------------------------ machine


def cores() -> Check:
    usable = environment.cores()
    if usable >= 4:
        return Check("cores", "good", f"{usable} usable")
    remedy = (
        "Four ranks take turns. Lessons say where that shows; a machine with 4 cores or more "
        "shows real speedups."
    )
    return Check("cores", "limited", f"{usable} usable", remedy)


def memory() -> Check:
    """Free memory of the machine, or what the container's limit leaves."""
    import psutil

    free, total = psutil.virtual_memory().available, psutil.virtual_memory().total
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        free, total = min(free, limit - used), min(total, limit)
    except (OSError, ValueError):
        pass
    found = f"{free / GIB:.1f} of {total / GIB:.1f} GiB free"
    if free >= 4 * GIB:
        return Check("memory", "good", found)
    return Check(
        "memory",
        "limited",
        found,
        "Four ranks with torch take about 2 GiB, compiling Horovod up to 3.2: close other "
        "programs.",
    )


def disk() -> Check:
    free = shutil.disk_usage(ROOT).free / GIB
    shared = shutil.disk_usage("/dev/shm").free / GIB if Path("/dev/shm").is_dir() else 0.0
    found = f"{free:.0f} GiB free here, {shared:.1f} GiB of shared memory"
    if free < 1:
        return Check(
            "disk", "limited", found, "Free a few GiB: packages, data and run logs need them."
        )
    if shared < 0.25:
        return Check(
            "disk",
            "limited",
            found,
            "MPI exchanges data through /dev/shm; in a container start it with --shm-size=1g.",
        )
    return Check("disk", "good", found)


def gpus() -> Check:
    """NVIDIA GPUs, and whether the installed torch was built for them."""
    command = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=20)
        names = (
            [line.strip() for line in listed.stdout.splitlines() if line.strip()]
            if listed.returncode == 0
            else []
        )
    except (OSError, subprocess.TimeoutExpired):
        names = []
    if not names:
        return Check("GPUs", "none", "none; the course needs none")
    found = f"{len(names)}: {', '.join(sorted(set(names)))}"
    if torch_cuda_version():
        return Check("GPUs", "good", f"{found}; torch for CUDA {torch_cuda_version()}")
    return Check(
        "GPUs",
        "limited",
        f"{found}; this torch is a CPU build",
        'See "Machines with GPUs" in the README.',
    )


def torch_cuda_version() -> str | None:
    """The CUDA version torch was built for, read from its version.py without importing it."""
    try:
        text = Path(
            importlib.metadata.distribution("torch").locate_file("torch/version.py")
        ).read_text()
    except (importlib.metadata.PackageNotFoundError, OSError):
        return None
    match = re.search(r"^cuda\b[^=]*=\s*'([\d.]+)'", text, flags=re.MULTILINE)
    return match.group(1) if match else None


def scheduler() -> Check:
    """The Slurm or PBS allocation this runs in, or the scheduler that could give one."""
    if "SLURM_JOB_ID" in os.environ:
        nodes, tasks = (
            os.environ.get("SLURM_JOB_NUM_NODES", "1"),
            os.environ.get("SLURM_NTASKS", "?"),
        )
        return Check(
            "scheduler",
            "good",
            f"in Slurm job {os.environ['SLURM_JOB_ID']}: {nodes} nodes, {tasks} tasks",
        )
    if "PBS_JOBID" in os.environ:
        return Check(
            "scheduler",
            "good",
            f"in PBS job {os.environ['PBS_JOBID']}: {environment.hosts()} nodes",
        )
    for program, name, ask in (
        ("salloc", "Slurm", "salloc --nodes=2 --ntasks-per-node=2"),
        ("qsub", "PBS", "qsub -I -l select=2:ncpus=2"),
    ):
        if shutil.which(program):
            return Check(
                "scheduler",
                "limited",
                f"{name} is here, but this is outside of a job",
                f"Ask for nodes: {ask}",
            )
    return Check("scheduler", "none", "none; ranks run on this machine")


def isolation() -> Check:
    """The check that this machine can run somebody else's code in namespaces of its own. Only
    an instructor who grades needs that.
    """
    as_root = os.geteuid() == 0
    if can_unshare(with_user_namespace=not as_root):
        return Check(
            "isolation",
            "good",
            "namespaces, as root" if as_root else "user namespaces, as an ordinary user",
        )
    remedy = (
        "Only for grading: run it as root, or let the administrator allow user namespaces "
        "(kernel.unprivileged_userns_clone=1)."
    )
    return Check("isolation", "limited", "no namespaces for this user", remedy)


def can_unshare(with_user_namespace: bool) -> bool:
    """True if a child process, which ends at once, can make namespaces."""
    mount, user, pid, net = 0x00020000, 0x10000000, 0x20000000, 0x40000000
    flags = mount | pid | net | (user if with_user_namespace else 0)
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).unshare(flags) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def browser() -> Check:
    if os.environ.get("SSH_CONNECTION"):
        return Check(
            "browser",
            "limited",
            "you are here over SSH",
            "Forward the port: ssh -L 8888:localhost:8888 this-machine",
        )
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return Check(
            "browser", "good", "there is a screen; `make lab` opens a browser (not as root)"
        )
    return Check("browser", "none", "no screen; `make lab` prints the address to open")
