"""Slurm and PBS from one side: what a script asks for, how it is submitted, and where its job stands, in plain words.

Both schedulers are talked to through their own commands (sbatch, scontrol, sacct, scancel; qsub, qstat, qdel), because
that is what a student would type: `submission` returns the very command. Times are seconds since the epoch, durations
seconds.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from labkit.jobs.job import Scheduler, SchedulerError
from labkit.jobs.pbs import PBS
from labkit.jobs.slurm import Slurm

SCHEDULERS: dict[str, type[Scheduler]] = {"slurm": Slurm, "pbs": PBS}


def choose(wanted: str | None, text: str, script: Path) -> Scheduler:
    """The scheduler for a script: the one named, else the one that is here, else an error that says how to get one.

    Raises SchedulerError, also where the script was written for the other one.
    """
    if wanted is not None and wanted.lower() not in SCHEDULERS:
        raise SchedulerError(f"--scheduler {wanted!r} is neither slurm nor pbs.")
    written_for = [name for name, kind in SCHEDULERS.items() if re.search(rf"^{kind.prefix}\b", text, re.MULTILINE)]
    here = [name for name, kind in SCHEDULERS.items() if shutil.which(kind.program)]
    candidates = [wanted.lower()] if wanted else here
    if not candidates:
        raise SchedulerError(
            "Neither Slurm nor PBS is here (no sbatch, no qsub): log in to your cluster, or start a Slurm of your own"
            " on this machine"
            " with `make cluster-up N=2` and submit with `make cluster-run CMD='labkit submit ...'`."
        )
    fitting = [name for name in candidates if name in written_for] or ([] if written_for else candidates)
    if not fitting:
        kind, other = SCHEDULERS[candidates[0]], SCHEDULERS[written_for[0]]
        twin = script.parent.parent / candidates[0] / script.name
        instead = f"take {twin}" if twin.is_file() else f"write its {kind.prefix} lines first"
        reason = "you asked for" if wanted else "here is"
        raise SchedulerError(
            f"{script} is written for {other.name} (lines {other.prefix}), but {reason} {kind.name}: {instead}."
        )
    return SCHEDULERS[fitting[0]]()


def present(wanted: str | None, number: str = "") -> Scheduler:
    """The scheduler to ask about a job. A dot in a job's id is PBS's. Raises SchedulerError."""
    if wanted is None and "." in number and shutil.which("qstat"):
        return PBS()
    return choose(wanted, "", Path())
