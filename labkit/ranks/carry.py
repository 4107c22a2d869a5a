"""Carries what a `%%ranks` cell needs from the notebook: functions, classes and imports as source, data pickled.

Only what a cell reads travels, and only when a rank does not have it in that form yet. A name that was assigned on the
ranks stays as it is there until the notebook's own value changes.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import defaultdict
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from labkit.cells.slicing import Cell, Chunk, bound_names, free_names, slice_cells
from labkit.ranks.engine import PREDEFINED, pack

LIMIT = 50_000_000  # bytes of data that travel with one cell


class CannotSend(Exception):
    """A name that the cell reads cannot travel to the ranks. Its text is for the student."""


@dataclass(frozen=True)
class Value:
    """Pickled data; mark: the same for the same content."""

    data: bytes
    mark: str
    needs: frozenset[str] = frozenset()  # names of the notebook's classes and functions in it


@dataclass
class SentNames:
    """The values and sources that the ranks of this session already have, rank by rank."""

    values: dict[int, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))  # rank -> name -> mark
    chunks: dict[int, set[Chunk]] = field(default_factory=lambda: defaultdict(set))

    def forget(self) -> None:
        """The ranks are fresh ones."""
        self.values.clear()
        self.chunks.clear()

    def packed(self, notebook: Notebook, source: str, ranks: list[int]) -> dict[int, bytes]:
        """The message for each rank with a cell of this source. Raises CannotSend."""
        values, chunks = notebook.needed(source, assigned={name for rank in ranks for name in self.values[rank]})
        total = sum(len(value.data) for value in values.values())
        if total > LIMIT:
            names = ", ".join(sorted(values, key=lambda name: -len(values[name].data)))
            raise CannotSend(_too_big(names, total))
        result = {}
        for rank in ranks:
            has = self.values[rank]
            news = {name: value for name, value in values.items() if has.get(name) != value.mark}
            result[rank] = pack(
                {name: value.data for name, value in news.items() if not value.needs},
                [chunk for chunk in chunks if chunk not in self.chunks[rank]],
                {name: value.data for name, value in news.items() if value.needs},
            )
            has.update({name: value.mark for name, value in news.items()})
            self.chunks[rank].update(chunks)
        self._note_assigned(notebook, source, ranks)
        return result

    def _note_assigned(self, notebook: Notebook, source: str, ranks: list[int]) -> None:
        """The cell will assign these names on the ranks: the notebook's present values must not replace them later."""
        for name in bound_names(source) & notebook.namespace.keys():
            chunks = {chunk for chunk in notebook.definitions([name]) if name in bound_names(chunk.source)}
            mark = notebook.mark(name)
            for rank in ranks:
                self.values[rank][name] = mark
                self.chunks[rank].update(chunks)


@dataclass(frozen=True)
class Notebook:
    """The cells that ran in the notebook and the names they left. hidden: names that are IPython's own."""

    cells: list[Cell]
    namespace: dict[str, Any]
    hidden: frozenset[str] = frozenset()

    def needed(self, source: str, assigned: set[str] = frozenset()) -> tuple[dict[str, Value], list[Chunk]]:
        """The data and the definitions that a cell of this source reaches. assigned: what the ranks have values of
        their own for.

        Raises CannotSend.
        """
        values: dict[str, Value] = {}
        definitions: set[str] = set()
        chunks: list[Chunk] = []
        waiting = free_names(source)
        seen: set[str] = set()
        while waiting:
            seen |= waiting
            for name in sorted(waiting & self.names()):
                value = self.namespace[name]
                if is_definition(value):
                    definitions.add(name)
                else:
                    try:
                        values[name] = _pickled(name, value)
                    except CannotSend:
                        if name not in assigned:
                            raise
            definitions |= {name for value in values.values() for name in value.needs}
            chunks = self.definitions(sorted(definitions))
            waiting = {name for chunk in chunks for name in free_names(chunk.source)} - seen
        return values, chunks

    def names(self) -> set[str]:
        return self.namespace.keys() - self.hidden - set(PREDEFINED)

    def definitions(self, names: list[str]) -> list[Chunk]:
        """The statements that define these functions, classes and modules, and whatever definitions they need."""
        data = {name for name in self.names() if not is_definition(self.namespace[name])}
        chunks = slice_cells(self.cells, names, skip=data | set(PREDEFINED))
        defined = {name for chunk in chunks for name in bound_names(chunk.source)}
        for name in set(names) - defined:
            value = self.namespace.get(name)
            if isinstance(value, ModuleType):
                chunks.append(Chunk("notebook", 1, f"import {value.__name__} as {name}"))
            elif is_definition(value):
                raise CannotSend(
                    f"{name} cannot be sent to the ranks: its source is in no cell of this notebook. Define it in one."
                )
        return chunks

    def mark(self, name: str) -> str:
        """The mark of the notebook's present value of a name."""
        value = self.namespace[name]
        if is_definition(value):
            return ""
        try:
            return _pickled(name, value).mark
        except CannotSend:
            return f"object {id(value)}"


def is_definition(value: Any) -> bool:
    """True if a value travels as source: modules, and functions and classes of the notebook itself."""
    return isinstance(value, ModuleType) or (
        getattr(value, "__module__", None) == "__main__" and hasattr(value, "__qualname__")
    )


class _Pickler(pickle.Pickler):
    """Notes which functions and classes of the notebook a value refers to."""

    def __init__(self, file):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.needs: set[str] = set()

    def reducer_override(self, value):
        if getattr(value, "__module__", None) == "__main__" and hasattr(value, "__qualname__"):
            self.needs.add(value.__qualname__.partition(".")[0])
        return NotImplemented


class _Full(Exception):
    pass


class _Limited(io.BytesIO):
    """A file that refuses to grow beyond the limit, so that nobody waits for gigabytes to be pickled."""

    def write(self, data) -> int:
        if self.tell() + memoryview(data).nbytes > LIMIT:
            raise _Full
        return super().write(data)


def _pickled(name: str, value: Any) -> Value:
    size = getattr(value, "nbytes", 0)
    if isinstance(size, int) and size > LIMIT:
        raise CannotSend(_too_big(name, size))
    file = _Limited()
    pickler = _Pickler(file)
    try:
        pickler.dump(value)
    except _Full:
        raise CannotSend(_too_big(name, None)) from None
    except Exception as error:
        why = str(error) or type(error).__name__
        raise CannotSend(
            f"{name} cannot be sent to the ranks ({why}). Create it inside the %%ranks cell, so that every rank has"
            " its own."
        ) from None
    data = file.getvalue()
    return Value(data, hashlib.blake2b(data, digest_size=16).hexdigest(), frozenset(pickler.needs))


def _too_big(name: str, size: int | None) -> str:
    held = f"{size / 1e6:.0f} MB" if size is not None else f"more than {LIMIT / 1e6:.0f} MB"
    return (
        f"{name}: {held}, and at most {LIMIT / 1e6:.0f} MB travel to the ranks with a cell. "
        "Create it on the ranks instead, or let each rank load its own part from a file."
    )
