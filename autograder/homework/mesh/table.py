"""meshes.csv: what a student says of each mesh, read as people write it and believed in nothing."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from autograder.homework.rubric import shown

Key = tuple[int, int, int, int]  # data, tensor, pipeline, context
MOST_BYTES, MOST_ROWS = 1 << 20, 200
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
MARKS = ",;\t|"
UNITS = ((r"\bms\b|_ms|milli", 1e-3), (r"gib", 2**30), (r"mib", 2**20), (r"kib", 1024), (r"\bgb|_gb", 1e9),
         (r"\bmb|_mb|mega", 1e6), (r"\bkb|_kb|kilo", 1e3))  # fmt: skip


class TableError(ValueError):
    """A file that is no such table: says why."""


@dataclass
class Table:
    """rows: mesh -> column -> number, in seconds, bytes and tokens per second. again: further rows of the same meshes.
    columns: those that there are."""

    rows: dict[Key, dict[str, float]] = field(default_factory=dict)
    again: list[tuple[Key, dict[str, float]]] = field(default_factory=list)
    columns: set[str] = field(default_factory=set)


def read(path: Path) -> Table:
    """The table in a file. Raises TableError, OSError."""
    content = path.read_bytes()[: MOST_BYTES + 1]
    if len(content) > MOST_BYTES:
        raise TableError("it is larger than a table of meshes can be")
    text = content.decode("utf-8-sig", "replace")
    lines = [line for line in text.splitlines() if line.strip(" ,;\t")]
    while len(lines) > 1 and lines[0].lstrip().startswith("#") and _most(lines[0]) < _most(lines[1]):
        del lines[0]  # a remark above the table
    head = lines[0].lstrip(" #") if lines else ""  # as numpy.savetxt writes it
    text = "\n".join([head, *lines[1:]])
    mark = max(MARKS, key=head.count)
    if not head.count(mark):
        raise TableError("its first line names no columns")
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=mark) if any(one.strip() for one in row)]
    except csv.Error as error:
        raise TableError(f"it cannot be read ({error})") from None
    return _table(rows[0], rows[1 : MOST_ROWS + 1], mark)


def _most(line: str) -> int:
    return max(map(line.count, MARKS))


def _table(head: list[str], rows: list[list[str]], mark: str) -> Table:
    names = [_column(one) for one in head]
    factors = [next((f for pattern, f in UNITS if re.search(pattern, one.lower())), 1.0) for one in head]
    found = Table(columns=set(names) - {""})
    for row in rows:
        values: dict[str, float] = {}
        key: Key | None = None
        for name, factor, cell in zip(names, factors, row, strict=False):
            if name == "mesh":
                key = _mesh(cell)
            elif name and name not in values:
                values[name] = _number(cell, mark) * factor
        key = key or _key(values)
        finite = {name: value for name, value in values.items() if math.isfinite(value)}
        if key is not None and key not in found.rows:
            found.rows[key] = finite
        elif key is not None:
            found.again.append((key, finite))
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


def _number(cell: str, mark: str) -> float:
    text = re.sub(r"[\s\u00a0\u202f']", "", cell)
    if mark != "," and re.search(r",\d{1,2}$|,\d{4,}$|^\d+,\d+$", text) and "." not in text:
        text = text.replace(",", ".")
    found = re.search(r"[+-]?(\d[\d,]*\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", text)
    return float(found[0].replace(",", "")) if found else math.nan


def said(key: Key) -> str:
    """A mesh in words."""
    data, tensor, pipeline, context = key
    return shown(f"d{data} t{tensor} p{pipeline}" + (f" c{context}" if context > 1 else ""))
