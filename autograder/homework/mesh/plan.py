"""plan.toml: a mesh for each task (1,024, 16,384 and 576 GPUs), priced by the simulator, held against the best of all.

`BEST` is what `search` finds, which tries every mesh, micro-batch, number of chunks and way to recompute; a test does
so again. A plan that is faster than that (with ZeRO-2 or context parallelism) is as good as the best.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from autograder.finite import is_finite
from autograder.homework.mesh.lines import RUBRIC, full, lost, missing
from autograder.homework.rubric import LineResult, PartResult, shown
from labkit.meshrun.plans import TASKS, Task
from labkit.scale.mesh import every_mesh

NUMBERS = ("data", "tensor", "pipeline", "context", "micro_batch", "chunks", "zero")
NEEDED = ("data", "tensor", "pipeline")
BEST = {1024: 6.9821, 16384: 7.9721, 576: 11.7466}  # seconds of a step
SCALE = ((1.05, 1.0), (1.15, 0.8), (1.3, 0.6), (1.6, 0.4), (2.0, 0.2))  # at most so many times the best: the share
SAVING = ((1.1, 1.0), (1.5, 0.5))  # at most so many times what is lost at best
MOST_BYTES = 64 << 10
USUAL = "plan.toml"


def judge(path: Path | None, absent: str) -> PartResult:
    """The part "plan". absent: why there is no file."""
    if path is None:
        return PartResult("plan", missing(("plan",), absent, "The page shows what stands in it."))
    try:
        given = _read(path)
    except (ValueError, RecursionError) as error:
        said = f"plan.toml cannot be read: {shown(error, 200)}."
        teach = "Three tables, [gpus_1024], [gpus_16384] and [gpus_576], with a line for each number."
        return PartResult("plan", [lost(one.name, "not_a_plan", said, teach) for one in RUBRIC.lines_of("plan")])
    facts: dict = {}
    findings = [_plan(gpus, given.get(f"gpus_{gpus}"), facts) for gpus in TASKS]
    return PartResult("plan", [*findings, _saving(given)], [], facts)


def _read(path: Path) -> dict:
    text = path.read_bytes()[: MOST_BYTES + 1]
    if len(text) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES >> 10} KiB")
    plain = text.decode("utf-8-sig").replace("\r\n", "\n")  # as an editor on Windows saves it
    found = (json if plain.lstrip().startswith("{") else tomllib).loads(plain)
    if not isinstance(found, dict):
        raise ValueError("it has no tables")
    return found


def _choice(given) -> dict:
    """The choice that a table of plan.toml makes. Raises ValueError that says what is wrong in it."""
    if not isinstance(given, dict):
        raise ValueError("there is no such table")
    absent = [name for name in NEEDED if name not in given]
    if absent:
        raise ValueError(f"it does not say {', '.join(absent)}")
    found = {name: given[name] for name in NUMBERS if name in given}
    for name, value in found.items():
        if (
            not is_finite(value)
            or not isinstance(value, int)
            or not 0 <= value <= 1 << 20
            or (name != "zero" and not value)
        ):
            raise ValueError(f"{name} = {_given(value)} is no whole number from {int(name != 'zero')} on")
    if "recompute" in given:
        how = given["recompute"]
        found["recompute"] = shown(how, 20) if isinstance(how, str) else _given(how)
    return found


def _plan(gpus: int, given, facts: dict) -> LineResult:
    name, task = f"plan_{gpus}", TASKS[gpus]
    try:
        plan = task.plan(**_choice(given))
        seconds = plan.estimate().seconds
    except ValueError as error:
        teach = f"`labkit.meshrun.TASKS[{gpus}].plan(...)` takes the same numbers and says the same."
        return lost(name, "not_possible", f"[gpus_{gpus}]: {shown(error, 200)}.", teach)
    most = max(range(plan.mesh.pipeline), key=lambda stage: plan.memory(stage).total)
    needs, has = plan.memory(most).total / 1e9, plan.machine.memory / 1e9
    facts[name] = {"seconds": round(seconds, 4), "gigabytes": round(needs, 2), "best": BEST[gpus]}
    if not plan.fits:
        said = f"A rank of stage {most} needs {needs:.1f} GB, and an accelerator has {has:.0f} GB."
        return lost(name, "does_not_fit", said, "More ranks along tensor or pipeline, or recompute activations.")
    times = seconds / BEST[gpus]
    said = f"{seconds:.2f} s a step and {needs:.1f} GB; the best is {BEST[gpus]:.2f} s."
    share = next((share for most, share in SCALE if times <= most), 0.0)
    if share == 1:
        return full(name, said)
    teach = (
        f"Let a loop over `labkit.scale.every_mesh({gpus}, {task.domain})` try them all, with micro-batches, chunks and"
        f" ways to recompute: fast links join {task.domain} GPUs, and a tensor group may be as large."
    )
    return lost(name, "far_from_best", f"{said} That is {times:.2f} times as long.", teach, share)


def _saving(given: dict) -> LineResult:
    name, kind, shares, said = "plan_saving", "wrong_interval", [], []
    for gpus, task in TASKS.items():
        table = given.get(f"gpus_{gpus}")
        interval = table.get("checkpoint_interval") if isinstance(table, dict) else None
        if not is_finite(interval) or interval <= 0:
            given_is = f": checkpoint_interval = {_given(interval)} is no number of seconds above 0."
            said.append(f"[gpus_{gpus}]{given_is if interval is not None else ' has no checkpoint_interval.'}")
            shares.append(0.0)
            kind = "no_interval"
            continue
        times = task.lost(interval) / task.least_lost
        shares.append(next((share for most, share in SAVING if times <= most), 0.0))
        said.append(f"{gpus:,} GPUs, every {interval:,.0f} s: {_lost(task, interval)}; {_lost(task)} at best.")
    if min(shares) == 1:
        return full(name, " ".join(said))
    teach = "The square root of twice the seconds of a save times the seconds between two failures of all GPUs."
    return lost(name, kind, " ".join(said), teach, round(sum(shares) / len(shares), 3))


def _given(value) -> str:
    """A value as plan.toml gives it. A whole number of thousands of digits (TOML has hexadecimal ones) has no repr."""
    if isinstance(value, int) and not is_finite(int(value)):
        return "(a number of many digits)"
    try:
        return shown(repr(value), 20)
    except ValueError:  # such a number in a list
        return "(numbers of many digits)"


def _lost(task: Task, interval: float | None = None) -> str:
    """The share of the time that is lost, in words; None: at the best interval."""
    if interval is None:
        return f"{100 * task.least_lost:.2f} %"
    if task.lost(interval) < 1:
        return f"{100 * task.lost(interval):.2f} % of the time is lost"
    if task.save >= interval:
        return f"no time is left to train, since each save takes {task.save:,.0f} s"
    return f"no time is left to train, since a failure comes every {task.mtbf:,.0f} s"


def search(task: Task) -> tuple[float, dict]:
    """The fastest plan that fits: (seconds, choice)."""
    return min(_every(task), key=lambda one: one[0])


def _every(task: Task) -> Iterator[tuple[float, dict]]:
    for mesh in every_mesh(task.gpus, task.domain):
        for micro_batch in (1, 2, 4):
            for chunks in (1, 2, 4, 8):
                for recompute in ("none", "selective", "full"):
                    choice = {"data": mesh.data, "tensor": mesh.tensor, "pipeline": mesh.pipeline,
                              "micro_batch": micro_batch, "chunks": chunks, "recompute": recompute}  # fmt: skip
                    try:
                        plan = task.plan(**choice)
                    except ValueError:
                        continue
                    if plan.fits:
                        yield plan.estimate().seconds, choice


__all__ = ["BEST", "judge", "search"]
