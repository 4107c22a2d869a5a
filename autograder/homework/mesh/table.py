"""meshes.csv: what a student says of each mesh, read as people write it and believed in nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.homework.rubric import shown
from autograder.homework.students_table import TableError, decimal_mark, number, read_rows

Key = tuple[int, int, int, int]  # data, tensor, pipeline, context
MOST_ROWS = 200
_WORDS = {  # looked for in this order
    "memory": r"memory|mem\b|peak|alive|held",
    "tokens": r"token|tok\b|throughput",
    "tensor_bytes": r"tensor.*(byte|[kmg]i?b)|byte.*tensor|tp.?byte",
    "pipeline_bytes": r"pipe.*(byte|[kmg]i?b)|byte.*pipe|pp.?byte",
    "data_bytes": r"data.*(byte|[kmg]i?b)|byte.*data|dp.?byte",
    "seconds": r"second|time|\bms\b|_ms|_s\b|duration",
    "data": r"^(data|d|dp|data.?parallel|replicas)$",
    "tensor": r"^(tensor|t|tp|tensor.?parallel)$",
    "pipeline": r"^(pipeline|p|pp|stages|pipeline.?parallel)$",
    "context": r"^(context|c|cp|context.?parallel)$",
    "mesh": r"mesh",
    "ranks": r"^(n|nr|no|num|number|number of)?[ ._]*(ranks?|gpus|processes|procs|world.?size)$",
}
UNITS = ((r"\bms\b|_ms|milli", 1e-3), (r"gib", 2**30), (r"mib", 2**20), (r"kib", 1024), (r"\bgb|_gb", 1e9),
         (r"\bmb|_mb|mega", 1e6), (r"\bkb|_kb|kilo", 1e3))  # fmt: skip


@dataclass
class Table:
    """rows: mesh -> column -> number, in seconds, bytes and tokens per second. again: further rows of the same meshes.
    columns: those that there are. others: a second way to read a number, where the table leaves two."""

    rows: dict[Key, dict[str, float]] = field(default_factory=dict)
    others: dict[Key, dict[str, float]] = field(default_factory=dict)
    again: list[tuple[Key, dict[str, float]]] = field(default_factory=list)
    columns: set[str] = field(default_factory=set)

    def settle(self, measured: Mapping[Key, Mapping[str, float]]) -> None:
        """Keeps, of a number with two readings, the one that is nearer to what was measured."""
        for key, others in self.others.items():
            for name, other in others.items():
                right = measured.get(key, {}).get(name, math.nan)
                if abs(other - right) < abs(self.rows[key][name] - right):
                    self.rows[key][name] = other


def read(path: Path) -> Table:
    """The table in a file. Raises TableError, OSError."""
    rows = read_rows(path)
    if not rows or len(rows[0]) < 2:
        raise TableError("its first line names no columns")
    return _table(rows[0], rows[1 : MOST_ROWS + 1])


def _table(head: list[str], rows: list[list[str]]) -> Table:
    names = [_column(one) for one in head]
    factors = [next((f for pattern, f in UNITS if re.search(pattern, one.lower())), 1.0) for one in head]
    decimal = decimal_mark(cell for row in rows for name, cell in zip(names, row, strict=False) if name)
    found = Table(columns=set(names) - {""})
    for row in rows:
        values: dict[str, float] = {}
        others: dict[str, float] = {}
        key: Key | None = None
        for name, factor, cell in zip(names, factors, row, strict=False):
            if name == "mesh":
                key = _mesh(cell)
            elif name and name not in values and (read := number(cell, decimal)):
                values[name] = read.value * factor
                others |= {} if math.isnan(read.other) else {name: read.other * factor}
        key = key or _key(values)
        if key is not None and key not in found.rows:
            found.rows[key] = values
            found.others[key] = others
        elif key is not None:
            found.again.append((key, values))
    if not found.rows:
        raise TableError("no row says its mesh: columns data, tensor and pipeline, or mesh as `d2 t2 p1`")
    return found


def _column(text: str) -> str:
    said = re.sub(r"\s+", " ", text.strip().lower())
    return next((name for name, pattern in _WORDS.items() if re.search(pattern, said)), "")


def _mesh(cell: str) -> Key | None:
    named = {letter: int(n) for letter, n in re.findall(r"([dtpc])[a-z]*\s*[=_:]?\s*(\d{1,4})", cell.lower())}
    if named:
        return named.get("d", 1), named.get("t", 1), named.get("p", 1), named.get("c", 1)
    numbers = [int(n) for n in re.findall(r"\d{1,4}", cell)]
    return (*numbers, 1)[:4] if len(numbers) in (3, 4) else None


def _key(values: dict[str, float]) -> Key | None:
    found = [values.get(axis, 1.0) for axis in ("data", "tensor", "pipeline", "context")]
    if not {"data", "tensor", "pipeline"} <= set(values) or not all(v == int(v) for v in found if math.isfinite(v)):
        return None
    return tuple(int(v) for v in found) if all(map(math.isfinite, found)) else None


def said(key: Key) -> str:
    """A mesh in words."""
    data, tensor, pipeline, context = key
    return shown(f"d{data} t{tensor} p{pipeline}" + (f" c{context}" if context > 1 else ""))
