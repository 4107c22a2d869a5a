"""The files that a job left behind: samples of its processes and GPUs, run logs, checkpoints, figures, the end of its
output.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from labkit import runlog
from labkit.jobs import monitor
from labkit.jobs.job import (
    COMPLETED,
    ENDED,
    UNKNOWN,
    Job,
)

if TYPE_CHECKING:
    from labkit.meshrun import MeshRun

LARGEST_FILE = 64 * 2**20  # bytes of one file of samples that are read


# --- what a job left --------------------------------------------------------------------------------------------------


@dataclass
class DeviceUse:
    """One rank or one GPU over the whole job. values: one per sample. peak: bytes. seconds: over which it was seen."""

    name: str
    host: str
    values: list[float]
    peak: float
    seconds: float = 0.0
    size: float = math.nan

    @property
    def mean(self) -> float:
        """The mean of all samples; nan if there are none."""
        return statistics.fmean(self.values) if self.values else math.nan


@dataclass
class Node:
    """The samples of one node, as `labkit.jobs.monitor` wrote them. ranks: busy as a share of one core. gpus: busy in
    percent."""

    host: str
    memory_bytes: float = math.nan
    memory_peak: float = 0.0
    samples: int = 0
    cores: list[int] = field(default_factory=list)
    ranks: dict[str, DeviceUse] = field(default_factory=dict)
    gpus: dict[str, DeviceUse] = field(default_factory=dict)
    places: dict[str, dict] = field(default_factory=dict)


@dataclass
class Left:
    """The contents of a job's folder, parsed."""

    folder: Path | None = None
    logs: list[tuple[Path, runlog.RunLog]] = field(default_factory=list)
    mesh_logs: list[tuple[Path, MeshRun]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    places: dict = field(default_factory=dict)
    result: dict = field(default_factory=dict)
    throughput: dict = field(default_factory=dict)
    checkpoint: Path | None = None
    exit_status: int | None = None

    @classmethod
    def read(cls, folder: Path | None) -> Left:
        """Everything that the job left in `folder`; an empty `Left` if the folder is missing or None."""
        left = cls(folder)
        if folder is None or not folder.is_dir():
            return left
        for path in sorted([*folder.glob("*.jsonl"), *folder.glob("*/*.jsonl")]):
            if path.parent.name == monitor.FOLDER:
                continue
            try:
                if _is_of_a_mesh(path):
                    left.mesh_logs.append((path, _read_mesh_log(path)))
                else:
                    left.logs.append((path, runlog.read(path)))
            except (ValueError, OSError) as error:  # a RunLogError or a MeshRunError
                left.unreadable.append(str(error))
        left.nodes = [read_samples(path) for path in sorted((folder / monitor.FOLDER).glob("*.jsonl"))]
        left.places = _json(folder / "report.json")
        left.result, left.throughput = _json(folder / "result.json"), _json(folder / "throughput.json")
        left.checkpoint = next(
            (path for path in sorted(folder.glob("checkpoint*")) if not path.is_file() or path.stat().st_size), None
        )
        try:
            left.exit_status = int((folder / "exit_status").read_text())
        except (OSError, ValueError):
            left.exit_status = None
        return left

    @property
    def ranks(self) -> list[DeviceUse]:
        """The ranks of all nodes."""
        return [rank for node in self.nodes for rank in node.ranks.values()]

    @property
    def gpus(self) -> list[DeviceUse]:
        """The GPUs of all nodes."""
        return [gpu for node in self.nodes for gpu in node.gpus.values()]


def _is_of_a_mesh(path: Path) -> bool:
    """True if the log is one of `labkit.meshrun`: its first line names the mesh."""
    with open(path, "rb") as file:
        return "mesh" in _record(file.readline(1 << 20).decode("utf-8", "replace"))


def _read_mesh_log(path: Path) -> MeshRun:
    """The log of a run on a mesh. Raises MeshRunError, OSError."""
    from labkit import meshrun  # imports PyTorch, which takes seconds

    return meshrun.read(path)


def read_samples(path: Path) -> Node:
    """One file of `labkit.jobs.monitor`. Lines that are torn or not what they should be are left out.

    A rank's share of a core between two samples is the processor time that it has used in between over the time that
    has passed. Where its processor time falls, another process has taken the rank (the next step of the script):
    counting begins anew.
    """
    node, before = Node(path.stem), {}
    with open(path, "rb") as file:
        records = [_record(line) for line in file.read(LARGEST_FILE).decode("utf-8", "replace").splitlines()]
    # What torchrun has started are ranks; torchrun itself, or a step of srun before it, only seemed to be some.
    levels = [record["level"] for record in records if isinstance(record.get("level"), int)]
    for record in records:
        try:
            if levels and record.get("level") != min(levels) and record["kind"] == "sample":
                record["ranks"] = {}
            if record["kind"] == "node":
                node.host, node.memory_bytes, node.cores = (
                    str(record["host"]),
                    float(record["memory_bytes"]),
                    list(record["cores"]),
                )
                before = {}
                for gpu in record["gpus"]:
                    size = float(gpu["memory_bytes"])
                    node.gpus.setdefault(
                        str(gpu["index"]), DeviceUse(f"GPU {gpu['index']}", node.host, [], 0.0, size=size)
                    )
            else:
                before = _take_sample(node, record, before)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return node


def _record(line: str) -> dict:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _take_sample(node: Node, record: dict, before: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Count one sample in; returns {rank: (time, processor time)} for the next one."""
    now, latest = float(record["t"]), {}
    node.samples += 1
    node.memory_peak = max(node.memory_peak, float(record["memory_used"]))
    for name, seen in record["ranks"].items():
        rank = node.ranks.setdefault(name, DeviceUse(f"rank {name}", node.host, [], 0.0))
        rank.peak = max(rank.peak, float(seen["rss"]))
        latest[name] = now, float(seen["cpu"])
        node.places[name] = {
            "rank": int(name),
            "host": node.host,
            "cores": list(seen["cores"]),
            "threads": int(seen["threads"]) or len(seen["cores"]),
            "gpus": [],
            "numa_domains": [],
        }
        then, spent = before.get(name, (now, 0.0))
        if now > then and latest[name][1] >= spent:
            rank.values.append((latest[name][1] - spent) / (now - then))
            rank.seconds += now - then
    for seen in record["gpus"] if record["ranks"] else []:  # before and after the ranks a GPU has nothing to do
        gpu = node.gpus[str(seen["index"])]
        gpu.peak = max(gpu.peak, float(seen["memory"] or 0))
        if seen["busy"] is not None:
            gpu.values.append(float(seen["busy"]))
    return latest


def complete_from(job: Job, left: Left, tail: Sequence[str] = ()) -> None:
    """Fills in what the scheduler does not know (any more), from the job's files and its last lines of output."""
    if left.checkpoint is None:
        left.checkpoint = _checkpoint_elsewhere(job, tail)
    places = left.places
    job.name = job.name or str(places.get("name", ""))
    job.nodes = job.nodes or len(places.get("nodes", []))
    job.ranks = len(places.get("ranks", [])) or job.ranks
    job.hosts = job.hosts or ",".join(map(str, places.get("nodes", [])))
    if job.state == UNKNOWN and left.exit_status is not None:
        job.state, job.exit_status = ENDED, left.exit_status
        job.end = COMPLETED if left.exit_status == 0 else "failed"
    elif job.state == ENDED and job.exit_status is None:
        job.exit_status = left.exit_status


def _checkpoint_elsewhere(job: Job, tail: Sequence[str]) -> Path | None:
    """The checkpoint of a job that went on from another one's, and writes to that: as it says at its end, or as its
    arguments say. None where there is no such file."""
    said = [found[1].strip() for line in tail if (found := re.search(r"checkpoint written to (.+)$", line))]
    given = [after for word, after in pairwise(job.arguments) if word == "--checkpoint"]
    given += [word.partition("=")[2] for word in job.arguments if word.startswith("--checkpoint=")]
    for path in map(Path, [*reversed(said), *reversed(given)]):
        if path.is_file() and path.stat().st_size:
            return path
    return None


def _json(path: Path) -> dict:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def last_lines(path: Path, most: int) -> list[str]:
    """The last lines of a file; of a progress bar only its last state."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - 200 * most))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [plain(line) for line in text.splitlines() if plain(line).strip()][-most:]


# What a launcher writes when a rank has failed, behind what the rank itself has said.
_TORCHRUN = re.compile(r"torch/distributed/(elastic|run|launcher)|torch\.distributed\.(elastic|run)|bin/torchrun")
_MPIRUN = re.compile(r"mpi(run|exec)|Primary job")


def of_the_program(lines: list[str]) -> list[str]:
    """The lines of an output without the report in which torchrun or mpiexec says that a rank has failed. All of them
    where nothing else is left."""
    kept: list[str] = []
    position = 0
    while position < len(lines):
        length = _launchers_lines(lines, position)
        if not length:
            kept.append(lines[position])
        position += length or 1
    return kept or lines


def _launchers_lines(lines: list[str], start: int) -> int:
    """The number of lines, from here on, of one piece of a launcher's report; 0 if none begins here."""
    line = lines[start]
    if re.match(r"(\[rank\d+\]:)?[WE]\d{4} .*torch/distributed/", line):
        return 1
    if line.startswith("Traceback (most recent call last):"):
        end = next((k for k in range(start + 1, len(lines)) if not lines[k].startswith((" ", "\t"))), len(lines) - 1)
        piece = lines[start : end + 1]
        return len(piece) if all(map(_TORCHRUN.search, (piece[1], piece[-1]))) else 0
    rule = re.fullmatch(r"(=|-){40,}", line)
    if rule:
        end = next((k for k in range(start + 1, len(lines)) if lines[k] == line), None)
        piece = lines[start : end + 1] if end else []
        words = re.compile(r"FAILED$") if rule[1] == "=" else _MPIRUN
        return len(piece) if any(map(words.search, piece)) else 0
    return 0


def plain(line: str) -> str:
    """The line without colours and other control characters; of a progress bar the last state."""
    line = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", line).rstrip("\r\n").rpartition("\r")[2]
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", line)


def relative(path: Path, base: Path | None) -> str:
    """The path relative to `base` (default: the current folder), or unchanged if it lies outside."""
    try:
        return str(Path(path).resolve().relative_to((base or Path.cwd()).resolve()))
    except ValueError:
        return str(path)
