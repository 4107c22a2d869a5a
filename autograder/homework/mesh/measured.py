"""Run logs of meshes and the table made of them.

A number in the table is right if some sensible way to compute it from the logs gives it. A slow mesh is a right answer:
nothing here asks for a certain speed. What looks altered becomes a flag for a person and costs nothing.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Mapping

import numpy as np

from autograder.homework.folder import Homework
from autograder.homework.mesh import table as tables
from autograder.homework.mesh.lines import for_a_person, full, guarded, lost
from autograder.homework.mesh.runs import expected
from autograder.homework.mesh.table import Key, Table
from autograder.homework.mesh.table import said as words_of
from autograder.homework.rubric import Flag, LineResult, PartResult, ended, shown
from autograder.homework.shared_runs import FACT, trace
from labkit.launch.launcher import Launcher
from labkit.meshrun import MeshRun, MeshRunError, Settings, read
from labkit.meshrun.reading import COUNTED

MESHES, STEPS = 4, 20
MOST_RUNS = 24  # that are looked at
SAME = 1e-6  # curves of different meshes: rounding grows from step to step
CHECKED = 3  # steps that are trained again here
LARGEST = 3_000_000, 8192  # parameters, tokens of a step: what is not trained again here
NEAR = 0.03  # of a number in the table
SEQUENTIAL = (1, 1, 1, 1)


def key_of(run: MeshRun) -> Key:
    mesh = run.mesh
    return mesh.data, mesh.tensor, mesh.pipeline, mesh.context


def read_runs(homework: Homework) -> tuple[dict[Key, MeshRun], dict[str, str]]:
    """(mesh -> run, file -> why it could not be read)."""
    runs: dict[Key, MeshRun] = {}
    broken: dict[str, str] = {}
    for role in sorted(role for role in homework.files if role.startswith("mesh_"))[:MOST_RUNS]:
        try:
            run = read(homework.files[role])
            runs.setdefault(key_of(run), run)
        except (MeshRunError, OSError) as error:
            broken[shown(homework.names[role])] = shown(error, 200)
        except Exception as error:  # a parser that stumbles is our fault, but there is no log either way
            broken[shown(homework.names[role])] = f"the reader stopped with {type(error).__name__}"
    return runs, broken


def judge(homework: Homework, nonce: str, launcher: Launcher | None) -> PartResult:
    """The part "measured"."""
    runs, broken = read_runs(homework)
    flags = list(_flags(homework, runs, nonce))
    table, why = _table(homework)
    if table is not None:
        table.settle({key: _measured(run) for key, run in runs.items()})
    logs = guarded("runs", _runs, runs, broken)
    findings = [
        logs,
        guarded("losses", _losses, runs, launcher),
        guarded("times", _times, runs, table, why, logs.verdict == "passed"),
        guarded("bytes", _bytes, runs, table, why),
    ]
    facts = {"rows": [_row(run) for run in runs.values()], FACT: _traces(runs)}
    return PartResult("measured", findings, flags, facts)


def _traces(runs: Mapping[Key, MeshRun]) -> dict[str, list[float]]:
    return {f"the log of {run.name}": times for run in runs.values() if (times := trace(run.step_seconds))}


def _measured(run: MeshRun) -> dict[str, float]:
    """The columns of the table, by the log."""
    sent = {f"{axis}_bytes": number for axis, number in run.axis_bytes.items()}
    return {"seconds": run.seconds, "tokens": run.tokens_per_second, "memory": max(run.peaks, default=0), **sent}


def _row(run: MeshRun) -> dict:
    facts = {"seconds": run.seconds, "tokens_per_second": run.tokens_per_second, "memory": max(run.peaks, default=0)}
    plain = {name: value if math.isfinite(value) else None for name, value in facts.items()}
    return {"mesh": run.name, "ranks": run.mesh.size, **plain, "bytes": run.axis_bytes, "problems": run.problems}


def _flags(homework: Homework, runs: Mapping[Key, MeshRun], nonce: str):
    for run in runs.values():
        if run.altered:
            yield Flag("altered_log", f"The log of {run.name} was changed after it was written.")
        if nonce and run.nonce != nonce:
            yield Flag("another_nonce", f"The log of {run.name} has the code {shown(run.nonce)!r}, not the student's.")
    script = homework.files.get("script")
    mark = hashlib.sha256(script.read_bytes()).hexdigest() if script is not None else ""
    others = [run.name for run in runs.values() if run.source_sha256 and mark and run.source_sha256 != mark]
    if others:
        yield Flag("other_script", f"Written by another script than the one handed in: {', '.join(others)}.")


# -- the logs ----------------------------------------------------------------------------------------------------------


def _runs(runs: Mapping[Key, MeshRun], broken: Mapping[str, str]) -> LineResult:
    name = "runs"
    if not runs:
        why = " ".join(f"`{file}`: {reason}." for file, reason in list(broken.items())[:3])
        return lost(name, "missing_file", f"There is no run log. {why}", "`--run-log run_d2_t2_p1.jsonl` writes one.")
    for run in runs.values():
        faults = [one for one in run.problems if not one.startswith("It was changed")]
        if faults:
            teach = "A run that was stopped is run again."
            return lost(name, "incomplete", f"The log of {run.name}: {faults[0]}", teach, 0.4)
        if len(run.losses) < STEPS:
            said = f"The run on {run.name} has {len(run.losses)} steps; {STEPS} are asked for."
            return lost(name, "too_short", said, "The same number of steps on all meshes.", 0.4)
    if len({run.settings for run in runs.values()}) > 1 or len({len(run.losses) for run in runs.values()}) > 1:
        said = f"The runs are not of the same training: {_differences(runs)}."
        return lost(name, "other_settings", said, "Model, minibatch, rate and steps stay; only the mesh changes.", 0.4)
    if SEQUENTIAL not in runs:
        return lost(
            name, "no_sequential", "There is no log of one rank.", "It is what the others are compared with.", 0.6
        )
    if len(runs) < MESHES:
        said = f"There are logs of {len(runs)} meshes: {', '.join(run.name for run in runs.values())}."
        return lost(name, "too_few_meshes", said, f"At least {MESHES}, one rank among them.", 0.2 * len(runs))
    lacking = [axis for k, axis in enumerate(("data", "tensor", "pipeline")) if all(key[k] == 1 for key in runs)]
    if lacking:
        said = f"No mesh has more than one rank along {', '.join(lacking)}."
        return lost(name, "axis_missing", said, "Each of the three axes is measured on some mesh.", 0.6)
    unread = "".join(f"; `{file}` was not read: {why}" for file, why in list(broken.items())[:3])
    return full(name, ", ".join(run.name for run in runs.values()) + unread)


def _differences(runs: Mapping[Key, MeshRun]) -> str:
    seen = {name: {getattr(run.settings, name) for run in runs.values()} for name in vars(Settings())}
    found = [f"{name} {', '.join(map(str, sorted(values)))}" for name, values in seen.items() if len(values) > 1]
    return "; ".join(found) or "steps " + ", ".join(sorted({str(len(run.losses)) for run in runs.values()}))


def _losses(runs: Mapping[Key, MeshRun], launcher: Launcher | None) -> LineResult:
    name = "losses"
    first = runs.get(SEQUENTIAL)
    if first is None or not first.losses:
        return lost(
            name, "no_sequential", "There is no log of one rank to compare with.", "Run the script on one rank."
        )
    if said := _no_model(first.settings):
        return lost(name, "no_such_training", said, "A log is written by a run of the script, settings and all.")
    again = launcher is not None and not _too_large(first.settings)
    try:
        wrong = _not_the_training(first, launcher) if again else ""
    except RuntimeError as error:  # settings that take more memory or time than a check has
        said = f"The training of one rank could not be run again here: {shown(error, 200)}"
        return for_a_person(name, ended(said), "not_trained_again")
    if wrong:
        teach = "Settings.model and Settings.minibatch make what is trained; the log says what came out."
        return lost(name, "not_the_training", wrong, teach)
    right = np.array(first.losses)
    for run in runs.values():
        losses = np.array(run.losses)[: len(right)]
        apart = ~np.isclose(losses, right[: len(losses)], rtol=SAME, atol=0)
        if apart.any():
            k = int(apart.argmax())
            said = f"{run.name}: the loss of step {k + 1} is {losses[k]:.8g}; on one rank it is {right[k]:.8g}."
            return lost(name, "curves_differ", said, "The mesh changes who computes, not what is computed.")
    if not again:
        said = "All meshes went down the same curve. The training of one rank is not run again here to compare it with."
        return for_a_person(name, said, "not_trained_again")
    return full(name, f"{len(right)} steps, from {right[0]:.4f} to {right[-1]:.4f}.")


def _no_model(s: Settings) -> str:
    """A sentence that says why nothing can be trained with these settings; "" if it can."""
    for name in ("layers", "width", "heads", "context", "batch", "micro_batches"):
        if not getattr(s, name):
            return f"The log of one rank has {name} = 0 in its settings: nothing can be trained with them."
    if s.width % s.heads:
        return f"The log of one rank is of {s.heads} heads in a width of {s.width}: there is no such model."
    return ""


def _too_large(s: Settings) -> bool:
    """True if a training with these settings is not run again here."""
    parameters = 12 * s.layers * s.width**2 + s.width * (s.context + 2 * s.vocabulary)
    return parameters > LARGEST[0] or s.tokens > LARGEST[1]


def _not_the_training(run: MeshRun, launcher: Launcher) -> str:
    """A sentence that says how the first losses of the run on one rank differ from those of its settings; "" if they do
    not. Raises RuntimeError."""
    s = run.settings
    steps = min(CHECKED, len(run.losses))
    given = expected(launcher, [(vars(s), steps)])[0]
    for k in range(steps):
        if not np.isclose(run.losses[k], given[k, 0], rtol=SAME, atol=0):
            said = f"The log of one rank has a loss of {run.losses[k]:.8g} in step {k + 1};"
            return f"{said} trained again here it is {given[k, 0]:.8g}."
    return ""


# -- the table ---------------------------------------------------------------------------------------------------------


def _table(homework: Homework) -> tuple[Table | None, str]:
    if "meshes.csv" not in homework.files:
        return None, homework.absent("meshes.csv", "meshes.csv")
    try:
        return tables.read(homework.files["meshes.csv"]), ""
    except (tables.TableError, OSError) as error:
        return None, f"meshes.csv: {shown(error, 200)}."


def _times(runs: Mapping[Key, MeshRun], table: Table | None, why: str, logs_right: bool) -> LineResult:
    name = "times"
    if early := _no_table("times", runs, table, why, ("seconds", "tokens")):
        return early
    for key, run, row in _rows(runs, table):
        seconds = _ways_of_time(run)
        if not seconds:
            said = f"The log of {run.name} has no step to compare the table with."
            return lost(name, "no_logs", said, "Run it again on this mesh.")
        if "seconds" in row and not _is_one_of(row["seconds"], seconds):
            if _is_one_of(row["seconds"], [statistics.fmean(run.step_seconds)]):
                return _counted_too(name, run)
            return _not_of_the_log(name, key, "step time", row["seconds"], run.seconds, "s")
        rates = [run.settings.tokens / one for one in seconds]
        if "tokens" in row and not _is_one_of(row["tokens"], rates):
            if _is_one_of(row["tokens"], [rate / run.mesh.size for rate in rates]):
                said = f"{words_of(key)}: {row['tokens']:,.0f} tokens/s are those of one rank;"
                said += f" all together do {rates[0]:,.0f}."
                return lost(
                    name, "tokens_of_one_rank", said, "The tokens of the whole minibatch over the time of a step."
                )
            if _is_one_of(row["tokens"], [rate * run.mesh.size for rate in rates]):
                said = f"{words_of(key)}: {row['tokens']:,.0f} tokens/s; the log gives {rates[0]:,.0f}."
                teach = "`Settings.tokens` are those of the whole minibatch already: not times the ranks."
                return lost(name, "times_the_ranks", said, teach)
            return _not_of_the_log(name, key, "tokens/s", row["tokens"], rates[0], "")
    return (
        _rows_left_out(name, runs, table, ("seconds", "tokens"))
        or _meshes_of(name, runs, table, logs_right)
        or full(name)
    )


def _rows(runs: Mapping[Key, MeshRun], table: Table):
    """(key, run, row) of every row that a run has; an empty one where it has none."""
    for key, run in runs.items():
        for row in (table.rows.get(key, {}), *(again for other, again in table.again if other == key)):
            yield key, run, row


def _ways_of_time(run: MeshRun) -> list[float]:
    """A step's time as the log has it: median or mean of the steps in which no bytes were counted, or the median of
    all."""
    if not run.timed:
        return []
    return [statistics.median(run.timed), statistics.fmean(run.timed), statistics.median(run.step_seconds)]


def _counted_too(name: str, run: MeshRun) -> LineResult:
    said = f"{run.name}: {statistics.fmean(run.step_seconds):,.6g} s is the mean of all steps; without the first"
    said += f" {COUNTED}, in which every tensor is counted, it is {statistics.fmean(run.timed):,.6g} s."
    return lost(name, "with_the_counted", said, "`MeshRun.timed` has the steps in which nothing was counted.", 0.6)


def _meshes_of(name: str, runs: Mapping[Key, MeshRun], table: Table, logs_right: bool) -> LineResult | None:
    """Rows that say a wrong number of ranks, or, where there are logs enough, of which there is none."""
    for key, row in (*table.rows.items(), *table.again):
        if "ranks" in row and row["ranks"] != math.prod(key):
            said = f"{words_of(key)}: {row['ranks']:,.6g} ranks in the table; this mesh has {math.prod(key)}."
            return lost(name, "wrong_ranks", said, "The ranks are the product of the axes.", 0.8)
    strange = [key for key in table.rows if key not in runs] if logs_right and len(runs) < MOST_RUNS else []
    if strange:
        said = f"meshes.csv has a row for {words_of(strange[0])}, of which there is no run log that can be read."
        return lost(name, "row_without_log", said, "Hand in the log of every row; the numbers come from it.", 0.8)
    return None


def _bytes(runs: Mapping[Key, MeshRun], table: Table | None, why: str) -> LineResult:
    name, columns = "bytes", ("tensor_bytes", "pipeline_bytes", "data_bytes", "memory")
    if early := _no_table(name, runs, table, why, columns):
        return early
    for key, run, row in _rows(runs, table):
        for axis in ("tensor", "pipeline", "data"):
            each = [one.get(axis, 0.0) for one in run.sent] or [0.0]
            ways = [max(each), statistics.fmean(each), sum(each)]
            if f"{axis}_bytes" in row and not _is_one_of(row[f"{axis}_bytes"], ways):
                return _not_of_the_log(name, key, f"bytes along {axis}", row[f"{axis}_bytes"], ways[0], "")
        if (
            "memory" in row
            and run.peaks
            and not _is_one_of(row["memory"], [max(run.peaks), statistics.fmean(run.peaks)])
        ):
            if _is_one_of(row["memory"], [max(run.held)]):
                said = f"{words_of(key)}: {row['memory']:,.0f} bytes are what a rank holds between two steps;"
                said += f" its peak is {max(run.peaks):,}."
                return lost(name, "held_not_peak", said, "What has to fit is the peak.", 0.5)
            return _not_of_the_log(name, key, "memory", row["memory"], max(run.peaks), "bytes")
    return _rows_left_out(name, runs, table, columns) or full(name)


def _no_table(name: str, runs, table: Table | None, why: str, columns: tuple[str, ...]) -> LineResult | None:
    teach = "Columns: data, tensor, pipeline, ranks, step_seconds, tokens_per_second, tensor_bytes, pipeline_bytes,"
    teach += " data_bytes, memory_bytes; a row for each mesh."
    if table is None:
        return lost(name, "missing_file" if "There is no" in why else "no_table", why, teach)
    if not runs:
        return lost(name, "no_logs", "There is no run log to compare the table with.", "Hand in the log of every run.")
    absent = [one for one in columns if one not in table.columns]
    if absent:
        return lost(name, "missing_columns", f"meshes.csv has no column for {', '.join(absent)}.", teach)
    return None


def _rows_left_out(name: str, runs, table: Table, columns: tuple[str, ...]) -> LineResult | None:
    absent = [key for key in runs if any(one not in table.rows.get(key, {}) for one in columns)]
    if not absent:
        return None
    said = f"meshes.csv has no numbers for {', '.join(map(words_of, absent))}."
    return lost(name, "missing_rows", said, "A row for each run log.", round(1 - len(absent) / len(runs), 2))


def _is_one_of(value: float, ways: list[float]) -> bool:
    return any(abs(value - way) <= NEAR * abs(way) + (1.0 if way == 0 else 0.0) for way in ways)


def _not_of_the_log(name: str, key: Key, what: str, value: float, right: float, unit: str) -> LineResult:
    said = f"{words_of(key)}: {what} {value:,.6g} in the table; the log gives {right:,.6g} {unit}".rstrip() + "."
    return lost(name, "not_from_the_logs", said, "Compute the table from the logs that you hand in.")
