"""Limits of a server on one machine: memory and processor time by control groups, the number of processes by both.

A group per user, made by root below the hub's own: version 2 (every distribution since about 2021) or version 1. Where
there is neither, as in a bare container, what a process by itself may have is limited, and the hub says so in its log.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000


class UserLimits:
    """The groups of one user's server. `enter` is called in the new process, before it becomes the user; `remove` when
    it has ended.
    """

    def __init__(self, name: str, cores: int, memory_gb: float, processes: int):
        self.cores, self.bytes, self.processes = cores, int(memory_gb * 2**30), processes
        self.groups = _make(f"course-hub-{name}", self._values())

    @property
    def in_words(self) -> str:
        held = f"{self.cores} cores, {self.bytes / 2**30:.1f} GB, {self.processes} processes"
        how = (
            "control groups"
            if self.groups
            else "limits of each process only: this machine lets the hub make no control groups"
        )
        return f"{held} ({how})"

    def _values(self) -> dict[str, dict[str, str]]:
        """Controller -> file -> value, for version 1 and 2 alike: what a version does not have is not written."""
        quota = self.cores * _PERIOD_US
        return {
            "memory": {
                "memory.max": str(self.bytes),
                "memory.swap.max": "0",
                "memory.limit_in_bytes": str(self.bytes),
                "memory.oom.group": "0",
            },
            "pids": {"pids.max": str(self.processes)},
            "cpu": {"cpu.max": f"{quota} {_PERIOD_US}", "cpu.cfs_quota_us": str(quota)},
        }

    def enter(self) -> None:
        for group in self.groups:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        if not self.groups:
            resource.setrlimit(resource.RLIMIT_NPROC, (self.processes, self.processes))
            resource.setrlimit(resource.RLIMIT_DATA, (self.bytes, self.bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def remove(self) -> None:
        """End what is left of the user's processes in the groups: ranks, terminals, whatever was sent to the
        background.
        """
        for group in self.groups:
            end(group)


def end(group: Path) -> None:
    """Kill what is in a group and remove it."""
    for _ in range(100):
        try:
            for pid in (group / "cgroup.procs").read_text().split():
                os.kill(int(pid), 9)
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except ProcessLookupError:
            continue
        except OSError:
            os.sched_yield()


def _make(name: str, values: dict[str, dict[str, str]]) -> list[Path]:
    """The groups called `name`, with their limits; [] where they cannot be made whole."""
    made = []
    try:
        for folder, controllers in _parents(list(values)):
            group = folder / name
            group.mkdir(exist_ok=True)
            made.append(group)
            for controller in controllers:
                for file, value in values[controller].items():
                    if (group / file).exists():
                        (group / file).write_text(value)
    except OSError:
        for group in made:
            end(group)
        return []
    return made if _complete(made, values) else []


def _complete(groups: list[Path], values: dict) -> bool:
    return all(any((group / file).exists() for group in groups for file in files) for files in values.values())


def _parents(controllers: list[str]) -> list[tuple[Path, list[str]]]:
    """(folder, controllers it has): where groups can be made below the hub's own."""
    own = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        own |= {name: path for name in names.split(",")}
    if (_ROOT / "cgroup.controllers").exists():
        return [(_delegated(_ROOT / own.get("", "/").lstrip("/"), controllers), controllers)]
    return [(_ROOT / name / own[name].lstrip("/"), [name]) for name in controllers if name in own]


def _delegated(folder: Path, controllers: list[str]) -> Path:
    """Version 2: a group that has groups below it holds no processes itself, so the hub moves into one of its own
    first. Where others share its group (no `Delegate=yes` in its unit) the kernel refuses, and the hub moves back.
    """
    if folder.name == "hub":
        folder = folder.parent
    missing = set(controllers) - set((folder / "cgroup.subtree_control").read_text().split())
    if missing and folder != _ROOT:
        (folder / "hub").mkdir(exist_ok=True)
        (folder / "hub" / "cgroup.procs").write_text(str(os.getpid()))
    try:
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in missing))
    except OSError:
        (folder / "cgroup.procs").write_text(str(os.getpid()))
        (folder / "hub").rmdir()
        raise
    return folder
