"""A run log read back by somebody who did not write it: every value may be anything, and a broken
chain of digests is told."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from labkit import scaling

FORMAT = 1
METRICS = ("loss", "accuracy", "val_loss", "val_accuracy")
OLD_COLUMNS = ("epoch", *METRICS)  # of metrics.dat
# bytes; 100 epochs of 60,000 images in batches of 32 make 5 MB
LARGEST_FILE, LONGEST_LINE = 32 * 2**20, 4 * 2**20
MOST_EPOCHS, MOST_STEPS, MOST_RANKS, LONGEST_TEXT = 10_000, 1_000_000, 65_536, 2_000


class RunLogError(ValueError):
    """A file that is not a run log: says why."""


def chain(previous: str, record: dict) -> str:
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()[:16]


# --- reading --------------------------------------------------------------------------------------


@dataclass
class Epoch:
    """One epoch of a run. Metrics are means over the samples of all ranks, nan where there is none;
    accuracies from 0 to 1.

    number: from 1. seconds: of all its training steps together; validation_seconds: what came after
    the last step. ended: seconds since the start of the run. step_seconds: shape (steps,), on rank
    0. samples_per_rank: images trained on, one number for each rank. learning_rates: shape
    (steps,), or empty. What an old metrics.dat does not tell is nan or empty.
    """

    number: int
    loss: float = math.nan
    accuracy: float = math.nan
    val_loss: float = math.nan
    val_accuracy: float = math.nan
    seconds: float = math.nan
    validation_seconds: float = math.nan
    ended: float = math.nan
    samples_per_rank: list[int] = field(default_factory=list)
    step_seconds: np.ndarray = field(default_factory=lambda: np.empty(0))
    learning_rates: np.ndarray = field(default_factory=lambda: np.empty(0))


@dataclass
class RunLog:
    """A run as its log tells it. problems: sentences on what is missing or does not fit together;
    empty for a sound log.

    altered: numbers of the lines whose digest does not fit, because they or the line before them
    were changed after they were written. complete: the run came to its end, and its log has every
    line. format: "jsonl" or "metrics.dat".
    """

    world_size: int = 0
    hosts: list[str] = field(default_factory=list)
    hardware: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    program: str = ""
    source_sha256: str = ""
    arguments: dict = field(default_factory=dict)
    batch_size: int = 0
    data: dict = field(default_factory=dict)
    seed: int | None = None
    nonce: str = ""
    started: str = ""
    epochs: list[Epoch] = field(default_factory=list)
    seconds: float = math.nan
    complete: bool = False
    problems: list[str] = field(default_factory=list)
    altered: list[int] = field(default_factory=list)
    format: str = "jsonl"

    @property
    def global_batch_size(self) -> int:
        """Images of a step on all ranks together."""
        return self.batch_size * self.world_size

    def curve(self, metric: str) -> tuple[list[int], list[float]]:
        """Epoch numbers and the values of "loss", "accuracy", "val_loss" or "val_accuracy"."""
        return [epoch.number for epoch in self.epochs], [
            getattr(epoch, metric) for epoch in self.epochs
        ]

    def throughput(self, skip_epochs: int = 1) -> scaling.Estimate:
        """Images per second of all ranks together: all images over all seconds of training steps,
        validation not counted.

        skip_epochs: epochs left out at the beginning; the first one holds the compilation. The
        error is the scatter of the epochs where at least three are counted, else that of the steps,
        which is too small: what disturbs a machine lasts longer than a step. Raises ValueError
        where no epoch is left or the log has no times.
        """
        counted = self.epochs[skip_epochs:]
        if not counted:
            raise ValueError(
                f"{len(self.epochs)} epochs, and the first {skip_epochs} are not counted: nothing"
                " is left to measure"
            )
        images = np.array([sum(epoch.samples_per_rank) for epoch in counted], dtype=float)
        seconds = np.array([epoch.seconds for epoch in counted])
        if not (np.all(images > 0) and np.all(seconds > 0)):
            raise ValueError(
                "this log has no times or no numbers of samples: no throughput can be computed"
                " from it"
            )
        rate = images.sum() / seconds.sum()
        repeated = (
            seconds / images
            if len(counted) >= 3
            else np.concatenate([epoch.step_seconds for epoch in counted])
        )
        scatter = scaling.estimate(repeated)
        return scaling.Estimate(
            float(rate), float(rate * scatter.error / scatter.value), scatter.dof
        )


def read(path: str | os.PathLike, world_size: int | None = None) -> RunLog:
    """The run that a log tells of: JSON lines, or an older metrics.dat of five columns.

    metrics.dat: epoch, training loss, training accuracy, validation loss, validation accuracy, in
    this order unless a first line names the columns; separated by blanks, semicolons, tabs or
    commas. It does not say on how many ranks it was made: that is taken from `world_size` or from
    the file's name (metrics_4.dat).

    A torn last line, a wrong digest, a missing end and numbers that do not fit together are told in
    `problems`. The file may come from anybody: nothing in it is believed to be of the right type,
    and its size is limited. Raises RunLogError for a file that is no log, and OSError where it
    cannot be opened.
    """
    path = Path(path)
    with open(path, "rb") as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise RunLogError(f"{path.name} is larger than {LARGEST_FILE // 2**20} MB: no run log is")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RunLogError(f"{path.name} is not text") from None
    if not text.strip():
        raise RunLogError(f"{path.name} is empty")
    if text.lstrip().startswith("{"):
        run = _read_lines(path.name, text)
        if world_size is not None and run.world_size != world_size:
            run.problems.append(
                f"It is the log of a run on {run.world_size} ranks, not on {world_size}."
            )
        return run
    return _read_columns(path.name, text, world_size)


def _read_lines(name: str, text: str) -> RunLog:
    """A log in JSON lines. Raises RunLogError where its first line describes no run."""
    lines = [line for line in text.splitlines() if line.strip()]
    most = MOST_EPOCHS + 2
    if len(lines) > most:
        raise RunLogError(f"{name} has {len(lines):,} lines; a run log has at most {most:,}")
    run, digest, ended, torn = RunLog(), "", False, False
    for number, line in enumerate(lines, 1):
        try:
            given, expected, record = _parse(line, digest)
        except (ValueError, RecursionError):
            torn = number == len(lines)
            what = "cut off" if torn else "not JSON"
            run.problems.append(f"Line {number} is {what}; it was left out.")
            run.altered += [] if torn else [number]
            continue
        if given != expected:
            run.altered.append(number)
        digest = given
        if number == 1:
            _take_run(run, name, record)
        else:
            ended = _take_line(run, number, record, ended)
    if lines and not run.batch_size:
        raise RunLogError(f"{name} does not begin with the line that describes a run")
    if run.altered:
        changed = "Changed after it was written, or put together from several logs"
        run.problems.append(f"{changed}: {_lines(run.altered)}.")
    if not ended:
        lacks = "the run did not come to its end, or the file was cut off"
        run.problems.append(f"The log has no last line: {lacks}.")
    _check_epochs(run)
    run.complete = ended and not torn and not run.altered and bool(run.epochs)
    return run


def _take_line(run: RunLog, number: int, record: dict, ended: bool) -> bool:
    """Take in a line behind the first; returns whether the run has ended with it or before."""
    kind = record.get("kind")
    if ended:
        behind = "stands behind the line that ends the run"
        run.problems.append(f"Line {number} {behind}; it was left out.")
    elif kind == "epoch":
        _take_epoch(run, number, record)
    elif kind == "end":
        run.seconds = _real(record.get("seconds"))
        epochs = record.get("epochs")
        if epochs != len(run.epochs):
            ends = f"The log ends after {_shown(epochs)} epochs"
            run.problems.append(f"{ends}, but {len(run.epochs)} are in it.")
    else:
        unknown = f"is of an unknown kind, {_shown(kind)}"
        run.problems.append(f"Line {number} {unknown}; it was left out.")
    return ended or kind == "end"


def _parse(line: str, previous: str) -> tuple[str, str, dict]:
    """(the digest that a line has, the one it should have, its record). Raises ValueError or
    RecursionError for what is no record."""
    if len(line) > LONGEST_LINE:
        raise ValueError("too long")
    record = json.loads(line, parse_constant=_no_such_number)
    if not isinstance(record, dict):
        raise ValueError("not an object")
    given = record.pop("digest", None)
    return given if isinstance(given, str) else "", chain(previous, record), record


def _take_run(run: RunLog, name: str, record: dict) -> None:
    if record.get("kind") != "run":
        raise RunLogError(f"{name} does not begin with the line that describes a run")
    if record.get("format") != FORMAT:
        raise RunLogError(
            f"{name} is a run log of format {_shown(record.get('format'))}; this program reads"
            f" format {FORMAT}"
        )
    run.world_size = _whole(record.get("world_size"), 1, MOST_RANKS)
    run.batch_size = _whole(record.get("batch_size"), 1, 10**9)
    if not run.world_size or not run.batch_size:
        raise RunLogError(
            f"{name} does not say how many ranks it is of, or how many images a step has"
        )
    hosts = record.get("hosts")
    run.hosts = (
        [host[:LONGEST_TEXT] for host in hosts if isinstance(host, str)][:MOST_RANKS]
        if isinstance(hosts, list)
        else []
    )
    if len(run.hosts) != run.world_size:
        run.problems.append(
            f"The log names {len(run.hosts)} hosts for {run.world_size} ranks: give the writer a"
            " `gather`."
        )
    for key in ("hardware", "environment", "arguments", "data"):
        setattr(run, key, _small_dict(record.get(key)))
    for key in ("program", "source_sha256", "nonce", "started"):
        setattr(run, key, record[key][:LONGEST_TEXT] if isinstance(record.get(key), str) else "")
    seed = record.get("seed")
    run.seed = seed if isinstance(seed, int) and not isinstance(seed, bool) else None


def _take_epoch(run: RunLog, line: int, record: dict) -> None:
    number = _whole(record.get("epoch"), 1, 10**9)
    if not number:
        run.problems.append(f"Line {line} does not say which epoch it is of; it was left out.")
        return
    samples = record.get("samples_per_rank")
    samples = samples[:MOST_RANKS] if isinstance(samples, list) else []
    epoch = Epoch(
        number,
        **{name: _real(record.get(name)) for name in METRICS},
        **{name: _real(record.get(name)) for name in ("seconds", "validation_seconds", "ended")},
        samples_per_rank=[_whole(one, 0, 10**12) for one in samples],
        step_seconds=_reals(record.get("step_seconds")),
        learning_rates=_reals(record.get("learning_rates")),
    )
    run.epochs.append(epoch)


def _check_epochs(run: RunLog) -> None:
    """Adds a problem for each rule of a sound log that the epochs break, whatever was trained."""
    numbers = [epoch.number for epoch in run.epochs]
    if not numbers:
        run.problems.append("The log has no epoch.")
    elif numbers != list(range(1, len(numbers) + 1)):
        run.problems.append(f"The epochs are not numbered 1, 2, 3 ...: {_shown(numbers)}.")
    for epoch in run.epochs:
        where = f"Epoch {epoch.number}"
        if len(epoch.samples_per_rank) != run.world_size:
            given = len(epoch.samples_per_rank)
            run.problems.append(
                f"{where}: numbers of samples for {given} ranks, but there are {run.world_size}."
            )
        if not len(epoch.step_seconds):
            run.problems.append(f"{where} has no times of steps.")
        elif not np.all(epoch.step_seconds >= 0):
            run.problems.append(f"{where}: a time of a step is negative or not a number.")
        if len(epoch.learning_rates) not in (0, len(epoch.step_seconds)):
            run.problems.append(
                f"{where}: {len(epoch.learning_rates)} learning rates for"
                f" {len(epoch.step_seconds)} steps."
            )
        for name in ("accuracy", "val_accuracy"):
            if not math.isnan(getattr(epoch, name)) and not 0 <= getattr(epoch, name) <= 1:
                run.problems.append(
                    f"{where}: {name} is {getattr(epoch, name):.4g}; it should be from 0 to 1."
                )


def _read_columns(name: str, text: str, world_size: int | None) -> RunLog:
    """metrics.dat: one epoch on each line."""
    columns, run = OLD_COLUMNS, RunLog(format="metrics.dat")
    no_table = f"{name} is neither a run log nor a table of five columns: epoch, "
    no_table += ", ".join(METRICS)
    rows = [line.strip() for line in text.splitlines() if line.strip()]
    if len(rows) > MOST_EPOCHS:
        at_most = f"a table of metrics has one for each epoch, at most {MOST_EPOCHS:,}"
        raise RunLogError(f"{name} has {len(rows):,} lines; {at_most}")
    for number, row in enumerate(rows, 1):
        fields = _fields(row.lstrip("# "))
        values = [_decimal(one) for one in fields]
        if number == 1 and any(math.isnan(value) for value in values):
            columns = _named_columns(row) or columns
            continue
        if row.startswith("#"):
            continue
        if len(values) != len(columns) or math.isnan(values[columns.index("epoch")]):
            torn = number == len(rows) and number > 1
            if not torn and not run.epochs:
                raise RunLogError(no_table)
            what = "cut off" if torn else "not one of five numbers"
            run.problems.append(f"Line {number} is {what}; it was left out.")
            continue
        row_of = dict(zip(columns, values, strict=True))
        run.epochs.append(Epoch(int(row_of.pop("epoch")), **row_of))
    if not run.epochs:
        raise RunLogError(no_table)
    _normalise(run)
    found = re.search(r"(\d+)\D*$", Path(name).stem)
    run.world_size = world_size or (_whole(int(found[1][-9:]), 1, MOST_RANKS) if found else 0)
    if not run.world_size:
        run.problems.append("Neither the file nor its name says on how many ranks it was made.")
    run.complete = not run.problems
    run.problems.append(
        "It is a table of metrics: it holds no times, no samples and nothing on where it was made."
    )
    return run


def _fields(row: str) -> list[str]:
    """The fields of a line of a table. With commas alone, they separate; beside blanks, tabs or
    semicolons they may be decimal commas."""
    if re.search(r"[;\t]", row):
        return [one.strip() for one in re.split(r"[;\t]", row)]
    if re.search(r"[^,\s]\s+[^,\s]", row) and not re.search(r",\s", row):
        return row.split()
    return [one.strip() for one in row.split(",")] if "," in row else row.split()


def _named_columns(header: str) -> tuple[str, ...] | None:
    """The five columns in the order that a first line gives them, or None if it names others."""
    found = []
    for words in _fields(header.lstrip("# ").lower()):
        kind = (
            "accuracy"
            if "acc" in words
            else "loss"
            if "loss" in words
            else "epoch"
            if "epoch" in words
            else ""
        )
        held_out = re.search(r"val|test", words)
        found.append(f"val_{kind}" if held_out and kind in METRICS else kind)
    return tuple(found) if sorted(found) == sorted(OLD_COLUMNS) else None


def _normalise(run: RunLog) -> None:
    """Converts epochs counted from 0 to epochs counted from 1, and accuracies in per cent to
    fractions.
    """
    first = run.epochs[0].number
    if first == 0:
        for epoch in run.epochs:
            epoch.number += 1
    for name in ("accuracy", "val_accuracy"):
        if any(1 < getattr(epoch, name) <= 100 for epoch in run.epochs):
            for epoch in run.epochs:
                setattr(epoch, name, getattr(epoch, name) / 100)
    numbers = [epoch.number for epoch in run.epochs]
    if numbers != list(range(1, len(numbers) + 1)):
        run.problems.append(f"The epochs are not numbered 1, 2, 3 ...: {_shown(numbers)}.")


# --- values that may be anything ------------------------------------------------------------------


def _no_such_number(name: str):
    raise ValueError(f"{name} is not JSON")


def _real(value) -> float:
    """A finite number as a float; nan for everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        return float(value) if math.isfinite(value) else math.nan
    except OverflowError:
        return math.nan


def _reals(values) -> np.ndarray:
    if not isinstance(values, list):
        return np.empty(0)
    return np.array([_real(value) for value in values[:MOST_STEPS]], dtype=float)


def _whole(value, least: int, most: int) -> int:
    """A whole number within limits; 0 for everything else."""
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        else 0
    )


def _decimal(text: str) -> float:
    """A number as people write it, with a point or a comma; nan for anything else."""
    text = text.strip().rstrip("%").strip()
    if not re.fullmatch(r"[+-]?(\d{1,30}([.,]\d{0,40})?|[.,]\d{1,40})([eE][+-]?\d{1,3})?", text):
        return math.nan
    return _real(float(text.replace(",", ".")))


def _small_dict(value) -> dict:
    """A dictionary of plain values, its texts shortened; nesting of one level, as `hardware` and
    `environment` have it."""
    if not isinstance(value, dict):
        return {}
    return {str(key)[:100]: _small(one, depth=2) for key, one in list(value.items())[:200]}


def _small(value, depth: int):
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, bool) or value is None or isinstance(value, int) and abs(value) < 2**63:
        return value
    if isinstance(value, float):
        return _real(value)
    if depth and isinstance(value, list):
        return [_small(one, depth - 1) for one in value[:200]]
    if depth and isinstance(value, dict):
        return {str(key)[:100]: _small(one, depth - 1) for key, one in list(value.items())[:200]}
    return _shown(value)


def _shown(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _lines(numbers: list[int]) -> str:
    text = ", ".join(map(str, numbers[:10])) + (" ..." if len(numbers) > 10 else "")
    return f"line {text}" if len(numbers) == 1 else f"lines {text}"
