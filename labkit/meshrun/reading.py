"""A run log read back. It may have been changed: nothing in it is believed to be of a certain kind."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass, field, fields
from pathlib import Path

from labkit.meshrun.settings import Settings
from labkit.runlog_reading import chain
from labkit.scale.mesh import AXES, Mesh

FORMAT, COUNTED = 1, 2
MOST_BYTES, MOST_LINES, MOST_RANKS, MOST_STEPS = 8 << 20, 20_000, 512, 2_000
SECONDS = 1e-9, 1e7  # a step takes
MOST_SENT, LARGEST = 1e18, 1e100  # bytes in a step; any other number that is one


class MeshRunError(ValueError):
    """A file that is no run log of a mesh: says why."""


@dataclass
class MeshRun:
    """One run. step_seconds, losses, norms: of each step. sent: of each rank, axis -> bytes in one step. held, peaks:
    bytes of each rank, between two steps and at most. problems: sentences. complete: to its end, unchanged."""

    mesh: Mesh
    settings: Settings
    step_seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    sent: list[dict[str, float]] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    hardware: dict = field(default_factory=dict)
    source_sha256: str = ""
    nonce: str = ""
    started: str = ""
    problems: list[str] = field(default_factory=list)
    altered: list[int] = field(default_factory=list)
    ended: bool = False

    @property
    def complete(self) -> bool:
        return self.ended and not self.problems

    @property
    def timed(self) -> list[float]:
        """Seconds of the steps in which nothing was counted."""
        return self.step_seconds[COUNTED:] or self.step_seconds

    @property
    def seconds(self) -> float:
        """The median of a step."""
        return statistics.median(self.timed) if self.timed else math.nan

    @property
    def tokens_per_second(self) -> float:
        """The sum over all ranks."""
        return self.settings.tokens / self.seconds

    @property
    def axis_bytes(self) -> dict[str, float]:
        """Bytes that a rank sends in one step, by axis: of the rank that sends most along it."""
        return {axis: max((one.get(axis, 0.0) for one in self.sent), default=0.0) for axis in (*AXES, "world")}

    def stage_peaks(self) -> list[int]:
        """The largest peak of any rank of each stage of the pipeline, in bytes."""
        found = [0] * self.mesh.pipeline
        for rank, peak in enumerate(self.peaks):
            stage = self.mesh.coordinates(rank)["pipeline"]
            found[stage] = max(found[stage], peak)
        return found

    @property
    def name(self) -> str:
        """The mesh in a few letters: "d2 t2 p1", with "c2" where there is context parallelism."""
        mesh = self.mesh
        said = f"d{mesh.data} t{mesh.tensor} p{mesh.pipeline}"
        return said + (f" c{mesh.context}" if mesh.context > 1 else "")


def read(path: str | Path) -> MeshRun:
    """The run in a log. What is odd about it stands in `.problems`. Raises MeshRunError, OSError."""
    path = Path(path)
    with open(path, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise MeshRunError(f"{path.name} is larger than {MOST_BYTES >> 20} MiB")
    lines = content.decode("utf-8", "replace").splitlines()
    if not lines or len(lines) > MOST_LINES:
        raise MeshRunError(f"{path.name} has {len(lines)} lines")
    run, digest = None, ""
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            given = record.pop("digest")
            if given != chain(digest, record) and run is not None:
                run.altered.append(number)
            digest = str(given)
            if run is None:
                run = _first(path.name, record)
            else:
                _take(run, record)
        except MeshRunError:
            raise
        except (ArithmeticError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            if run is None:
                raise MeshRunError(f"{path.name} is no run log of a mesh") from None
            run.problems.append(f"Line {number} cannot be read.")
    _look_over(run)
    return run


def _first(name: str, record: dict) -> MeshRun:
    if record["kind"] != "run" or record["format"] != FORMAT:
        raise MeshRunError(f"{name} does not begin as a run log of a mesh does")
    mesh = Mesh(**{axis: _whole(record["mesh"][axis], MOST_RANKS) for axis in AXES})
    if mesh.size > MOST_RANKS:
        raise MeshRunError(f"{name} is of {mesh.size} ranks")
    given = record["settings"]
    whole = {f.name: _whole(given[f.name], 1 << 31, 0) for f in fields(Settings) if f.name not in ("rate", "clip")}
    run = MeshRun(mesh, Settings(**whole, rate=_real(given["rate"]), clip=_real(given["clip"])))
    run.hosts = [str(host)[:200] for host in record["hosts"]][:MOST_RANKS]
    hardware = record["hardware"]
    run.hardware = {key: str(hardware[key])[:200] for key in ("processor", "cores") if key in hardware}
    run.source_sha256, run.nonce, run.started = (
        str(record[key])[:100] for key in ("source_sha256", "nonce", "started")
    )
    return run


def _take(run: MeshRun, record: dict) -> None:
    kind = record["kind"]
    if kind == "step":
        if _whole(record["step"], MOST_STEPS) != len(run.losses) + 1:
            raise ValueError
        seconds, loss, norm = (_real(record[name]) for name in ("seconds", "loss", "norm"))
        if not SECONDS[0] <= seconds <= SECONDS[1]:
            raise ValueError
        run.step_seconds.append(seconds)
        run.losses.append(loss)
        run.norms.append(norm)
    elif kind == "rank":
        if _whole(record["rank"], MOST_RANKS, 0) != len(run.held):
            raise ValueError
        held, peak = (_whole(record[name], 1 << 50, 0) for name in ("held", "peak"))
        sent = {str(axis)[:20]: _real(n) for axis, n in list(record["sent"].items())[:10]}
        if not all(0 <= n <= MOST_SENT for n in sent.values()):
            raise ValueError
        run.held.append(held)
        run.peaks.append(peak)
        run.sent.append(sent)
    elif kind == "end":
        run.ended = _whole(record["steps"], MOST_STEPS, 0) == len(run.losses)
    else:
        raise ValueError


def _look_over(run: MeshRun) -> None:
    if run.altered:
        run.problems.append(f"It was changed after it was written, from line {run.altered[0]} on.")
    if not run.ended:
        run.problems.append("It has no last line: the run did not come to its end.")
    elif len(run.peaks) != run.mesh.size:
        run.problems.append(f"It tells of {len(run.peaks)} ranks, but the mesh has {run.mesh.size}.")
    if len(run.losses) <= COUNTED:
        run.problems.append(f"It has {len(run.losses)} steps; the first {COUNTED} are for counting.")


def _whole(value, most: int, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError
    return value


def _real(value) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    number = float(value)  # an OverflowError for a whole number of hundreds of digits
    if LARGEST < abs(number) < math.inf:
        raise ValueError
    return number
