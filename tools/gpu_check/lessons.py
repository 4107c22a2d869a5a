"""The lessons' cells that have a DEVICE: run on the CPU and on the device, and what they leave behind compared.

A lesson says `DEVICE = "cpu"` at its top and uses it in the cells for real ranks. Those, and the cells that call a
function of those, run here without MPI: in a process group of torch, with nothing of the lesson but the statements that
they need. Two GPUs or more: NCCL, a rank for each. One GPU: gloo, two ranks on it, which has no send and recv for
tensors of a GPU. What needs more than torch and numpy is not run, and a row says so.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

from gpu_check.setting import Setting
from gpu_check.table import Row, judged, not_run
from labkit.cells.slicing import Cell, Chunk, bound_names, execute, free_names, slice_cells

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {"torch", "numpy", "labkit.models", "labkit.training", "labkit.lessons.scaling_laws"}
GIVEN = {"DEVICE", "rank", "world_size"}
SHARE = 0.5  # of the check's time; after it no cell is begun, so that what was found is not lost
TO_ONE = re.compile(r"\b(i?send|i?recv|P2POp)\(")  # what gloo has for tensors of a CPU alone
NOT_NCCL = re.compile(r"dist\.recv\(\w+\)|dist\.i(send|recv)\(")
TIMED = re.compile(r"\b(perf_counter|all_reduce_seconds|now)\b")
DRAWN = re.compile(r"\b(plt|ranks)\.\w|\bcheck\(")


@dataclass(frozen=True)
class Lesson:
    """A unit's cells of code. real: which of them are for real ranks, with the ranks that run them (() for all)."""

    unit: str
    cells: tuple[Cell, ...]
    real: dict[str, tuple[int, ...]]


def rows(setting: Setting, rank: int, world: int) -> Iterator[Row]:
    """One row for each cell."""
    older_names()
    end = time.monotonic() + SHARE * setting.seconds
    found = lessons(ROOT / "units")
    if not found:
        yield not_run("lessons with a DEVICE", "the units are not here")
    for lesson in found:
        targets = cells_of_devices(lesson)
        if not targets:
            yield not_run(f"unit {lesson.unit}", "no cell for real ranks uses its DEVICE")
        yield from unit_rows(lesson, targets, setting, rank, world, end)


def older_names() -> None:
    """Two functions that the lessons call have these names since torch 2.13."""
    renamed = {"all_gather_single": "all_gather_into_tensor", "reduce_scatter_single": "reduce_scatter_tensor"}
    for new, old in renamed.items():
        if not hasattr(dist, new):
            setattr(dist, new, getattr(dist, old))


def lessons(folder: Path) -> list[Lesson]:
    """The lessons of a folder that have a DEVICE, in order."""
    graders = ("exercises.py", "harness.py", "inputs.py")
    paths = sorted(path for path in folder.glob("[0-9][0-9]_*/*.py") if path.name not in graders)
    texts = [(path.parent.name[:2], path.read_text(encoding="utf-8")) for path in paths]
    return [lesson_of(unit, text) for unit, text in texts if re.search(r"^DEVICE = ", text, re.M)]


def lesson_of(unit: str, text: str) -> Lesson:
    """The cells of a lesson as text (jupytext's py:percent), each known by its line."""
    cells, real = [], {}
    starts = [match.start() for match in re.finditer(r"^# %%(?= |$)", text, re.M)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        head, _, body = text[start:end].partition("\n")
        if "[markdown]" in head:
            continue
        label = f"line {text.count(chr(10), 0, start) + 1}"
        magic = re.match(r"# %%ranks ?([^\n]*)\n", body)
        if magic:
            real[label] = _members(magic[1])
            body = "\n" + body[magic.end() :]
        cells.append(Cell(body, label))
    return Lesson(unit, tuple(cells), real)


def _members(options: str) -> tuple[int, ...]:
    """`0,1` and `0:2` name ranks; anything else, and nothing, means all."""
    first = options.split(" ")[0]
    if re.fullmatch(r"\d+(,\d+)*", first):
        return tuple(map(int, first.split(",")))
    ends = re.fullmatch(r"(\d+):(\d+)", first)
    return tuple(range(int(ends[1]), int(ends[2]))) if ends else ()


def cells_of_devices(lesson: Lesson) -> list[Cell]:
    """The cells for real ranks that read DEVICE, or call a function of a cell that does."""
    functions: set[str] = set()
    found = []
    for cell in lesson.cells:
        if cell.label in lesson.real and free_names(cell.source) & ({"DEVICE"} | functions):
            found.append(cell)
            nodes = ast.parse(cell.source).body
            functions |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return found


def unit_rows(
    lesson: Lesson, targets: Sequence[Cell], setting: Setting, rank: int, world: int, end: float
) -> Iterator[Row]:
    """Each cell, in a namespace for the CPU and in one for the device; none that would begin after `end`, by the
    monotonic clock of any rank."""
    spaces = [new_space(device, rank, world) for device in ("cpu", setting.device)]
    done: set[tuple[str, int]] = set()
    for cell in targets:
        what = f"unit {lesson.unit}, {cell.label}"
        before = [one for one in lesson.cells[: lesson.cells.index(cell)] if not DRAWN.search(one.source)]
        needed = [c for c in slice_cells(before, free_names(cell.source), GIVEN) if (c.label, c.line) not in done]
        why = reason_against(cell, needed, setting) or anywhere("no time is left: --seconds" * (time.monotonic() > end))
        if why:
            yield not_run(what, why)
            continue
        done |= {(chunk.label, chunk.line) for chunk in (*needed, *slice_cells([cell], bound_names(cell.source)))}
        members = lesson.real[cell.label] or range(world)
        error = ""
        for space in spaces:
            execute(needed, space)
            if rank in members and not error:
                error = attempt(cell, space)
            dist.barrier()
        names = set() if "rand" in cell.source else bound_names(cell.source)
        off = different(*spaces, names) if not error else []
        compared = any(holds_tensors(spaces[0].get(name)) for name in names)
        yield cell_row(what, anywhere(error), anywhere(", ".join(off)), compared)


def new_space(device: str, rank: int, world: int) -> dict:
    """The names that a cell for real ranks finds."""
    return {"__name__": "lesson", "DEVICE": device, "rank": rank, "world_size": world}


def reason_against(cell: Cell, needed: Sequence[Chunk], setting: Setting) -> str:
    """Why this cell cannot run here, or nothing."""
    text = "\n".join([*(chunk.source for chunk in needed), cell.source])
    lacking = sorted(imported(text) - ALLOWED - sys.stdlib_module_names)
    if lacking:
        return f"needs {', '.join(lacking)}"
    if setting.small and TIMED.search(text):
        return "it is timed: left out by --small"
    if setting.device == "cuda" and setting.gpus < 2 and TO_ONE.search(text):
        return "gloo does not send a GPU's tensors: needs two GPUs"
    if setting.device == "cuda" and NOT_NCCL.search(text):
        return "NCCL has no receive from anybody, and may stand still at sends that are not in one batch"
    return ""


def imported(source: str) -> set[str]:
    """The modules that a source imports: of labkit with the name below it, of others the first name."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "labkit":
            found |= {f"labkit.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name if name.startswith("labkit.") else name.split(".")[0] for name in found}


def attempt(cell: Cell, space: dict) -> str:
    """Run a cell; what it prints is dropped. Returns the words of its exception, or nothing."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
            execute([Chunk(cell.label, 1, cell.source)], space)
    except Exception as error:
        return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}"
    return ""


def different(here: dict, there: dict, names: set[str]) -> list[str]:
    """The names whose tensors, also in lists and dictionaries, have other values there than here."""
    return sorted(name for name in names if name in here and not alike(here[name], there.get(name)))


def alike(a: object, b: object) -> bool:
    """True if tensors have the same values, wherever they are; whatever else there is counts as the same."""
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.shape == b.shape and torch.allclose(a.cpu(), b.cpu())
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    return True


def holds_tensors(value: object) -> bool:
    """True if there is anything to compare."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return isinstance(value, torch.Tensor) or any(map(holds_tensors, inside))


def anywhere(words: str) -> str:
    """The words of the first rank that has any, on every rank."""
    said: list = [None] * dist.get_world_size()
    dist.all_gather_object(said, words)
    return next((one for one in said if one), "")


def cell_row(what: str, error: str, off: str, compared: bool) -> Row:
    """error: of any rank. off: names whose values differ from those on the CPU. compared: whether there were any."""
    expected = "runs; values as on the CPU" if compared else "runs"
    shown = error or (f"otherwise than on the CPU: {off}" if off else expected)
    return judged(what, not error and not off, shown, expected)
