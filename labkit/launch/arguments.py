"""Finds changes that a function makes to its arguments: compares them before and after every call, where it runs. And
what it returns is held against its signature there (`labkit.launch.returned`).

Values are one part of it. A tensor may have got a gradient or be asked for one, a list may hold other tensors of the
same values, a dict another key. Of a module of PyTorch the mode is looked at (`training`) and what is trained of it;
its values and gradients are for the exercise to watch. What is neither data nor made of it (an optimizer, a function,
an iterator, a random generator) is used as it is meant to be, and nobody looks into it.
"""

from __future__ import annotations

import inspect
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.launch.returned import other_type

MOST_NODES, MOST_BYTES = 200_000, 64 << 20  # that are looked at in one case; what comes after them is not
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


@dataclass(frozen=True)
class Change:
    """name: the argument's, as the function calls it. where: the part of it, for example "[2]" or "['step']".

    what: what has changed, after "its" or by itself. kind: "list", "dict", "array", "tensor", "gradient", "set",
    "module". Of kind "return" is a result of another type than the signature names; `what` says which.
    """

    name: str
    where: str
    what: str
    kind: str


class WatchedFunction:
    """A function in whose place it is called: what its calls have changed is in `changes`, the first of each argument.

    may_change: names of its arguments at which nobody looks; None: at none of them. returns: the type that it shall
    return, as a signature writes it; "" for any. Whatever else is asked of it, the function itself answers.
    """

    def __init__(self, function: Callable, may_change: Sequence[str] | None = (), returns: str = ""):
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", "")
        self.changes: dict[str, Change] = {}
        self._may_change = None if may_change is None else set(may_change)
        self._names, self._returns = _names(function), returns
        self._budget = _Budget()

    def __getattr__(self, name: str):
        return getattr(self.__dict__["__wrapped__"], name)

    def __call__(self, *arguments, **named):
        before = [
            (name, value, _note(value, self._budget))
            for name, value in self._by_name(arguments, named)
            if self._may_change is not None and name not in self._may_change and not isinstance(value, _PLAIN)
        ]
        try:
            result = self.__wrapped__(*arguments, **named)
        finally:
            for name, value, note in before:
                for where, what, kind in _differences(note, value, set()):
                    self.changes.setdefault(name, Change(name, where, what, kind))
                    break
        if self._returns and (other := other_type(self._returns, result)):
            self.changes.setdefault("", Change("", "", other, "return"))
        return result

    def _by_name(self, arguments: tuple, named: dict) -> Iterator[tuple[str, Any]]:
        for k, value in enumerate(arguments):
            yield self._names[k] if k < len(self._names) else f"number {k + 1}", value
        yield from named.items()


def _names(function: Callable) -> list[str]:
    """Names of the positional arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


class _Budget:
    """A budget: the number of objects and of bytes that may still be looked at."""

    def __init__(self):
        self.nodes, self.bytes = MOST_NODES, MOST_BYTES

    def allows(self, nbytes: int = 0) -> bool:
        self.nodes, self.bytes = self.nodes - 1, self.bytes - nbytes
        return self.nodes >= 0 and self.bytes >= 0


# -- what an argument is, before


@dataclass
class _Note:
    """The note of an object. kind: "plain", "list", "dict", "set", "array", "tensor", "module", or "" for what nobody
    looks into. value: the object itself. facts: of an array, a tensor or a module. parts: notes of what is in it, by
    index or key."""

    kind: str
    value: Any
    facts: tuple = ()
    parts: dict | None = None


def _note(value: Any, budget: _Budget, seen: dict[int, _Note] | None = None) -> _Note:
    seen = {} if seen is None else seen
    if isinstance(value, _PLAIN):
        return _Note("plain", value)
    if id(value) in seen:
        return seen[id(value)]
    note = seen[id(value)] = _Note(_kind(value), value)
    if not note.kind or not budget.allows(getattr(value, "nbytes", 0)):
        note.kind = ""
        return note
    if note.kind in ("array", "tensor"):
        note.facts = _facts(note.kind, value)
    elif note.kind == "set":
        note.facts = (set(value),)
    elif note.kind == "module":
        note.facts = _modes(value)
    else:
        parts = value.items() if note.kind == "dict" else enumerate(value)
        note.parts = {key: _note(part, budget, seen) for key, part in list(parts)}
    return note


def _kind(value: Any) -> str:
    if isinstance(value, (list, tuple, deque)):
        return "list"
    if isinstance(value, dict):
        return "dict"
    if isinstance(value, set):
        return "set"
    if isinstance(value, np.ndarray):
        return "array" if value.dtype != object else ""
    torch = sys.modules.get("torch")
    if torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter):
        return "tensor" if value.device.type == "cpu" and value.layout == torch.strided else ""
    return "module" if torch is not None and isinstance(value, torch.nn.Module) else ""


def _modes(module: Any) -> tuple[dict[int, bool], dict[int, bool]]:
    """({part: whether in training mode}, {parameter: whether a gradient is wanted}), by their ids."""
    return {id(m): m.training for m in module.modules()}, {id(p): p.requires_grad for p in module.parameters()}


def _facts(kind: str, value: Any) -> tuple:
    """(shape, dtype, checksum, whether a gradient is wanted, the gradient's own facts or None)."""
    if kind == "array":
        return tuple(value.shape), str(value.dtype), zlib.crc32(np.ascontiguousarray(value).tobytes()), False, None
    gradient = value.grad if value.is_leaf else None
    facts = _facts("tensor", gradient)[:3] if gradient is not None and _kind(gradient) == "tensor" else None
    return tuple(value.shape), str(value.dtype), _checksum(value), value.requires_grad, facts


def _checksum(tensor) -> int:
    torch = sys.modules["torch"]
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    if not plain.numel():
        return 0
    # One element counts as contiguous whatever its stride, but view() looks at it.
    return zlib.crc32(plain.as_strided((plain.numel(),), (1,)).view(torch.uint8).numpy())


# -- and after


def _differences(note: _Note, now: Any, seen: set[int]) -> Iterator[tuple[str, str, str]]:
    """(where, what, kind) of each difference between what was noted of an object and what it is."""
    if not note.kind or id(note) in seen:
        return
    seen.add(id(note))
    if note.kind in ("array", "tensor"):
        yield from _of_numbers(note, now)
    elif note.kind == "module":
        yield from _of_module(note, now)
    elif note.kind == "set" and now != note.facts[0]:
        yield "", "entries", "set"
    elif note.kind == "dict":
        yield from _of_mapping(note, now, seen)
    elif note.kind == "list":
        yield from _of_list(note, now, seen)


def _of_numbers(note: _Note, now: Any) -> Iterator[tuple[str, str, str]]:
    shape, dtype, numbers, wanted, gradient = _facts(note.kind, now)
    if shape != note.facts[0]:
        yield "", f"shape, which is {list(shape)} now and was {list(note.facts[0])}", note.kind
    elif dtype != note.facts[1]:
        yield "", f"data type, which is {dtype} now and was {note.facts[1]}", note.kind
    elif numbers != note.facts[2]:
        yield "", "values", note.kind
    elif wanted != note.facts[3]:
        yield "", f"`requires_grad`, which is {wanted} now", "gradient"
    elif gradient != note.facts[4]:
        yield "", "gradient (`.grad`)", "gradient"


def _of_module(note: _Note, now: Any) -> Iterator[tuple[str, str, str]]:
    """Differences of the parts that it had then and has now; which it has is not asked."""
    pairs = zip(note.facts, _modes(now), strict=True)
    modes, wanted = ({k: v for k, v in new.items() if old.get(k, v) != v} for old, new in pairs)
    if modes:
        training = next(iter(modes.values()))
        yield "", f"mode, which is that of {'training' if training else 'evaluation'} now", "module"
    elif wanted:
        yield "", f"parameters' `requires_grad`, which is {next(iter(wanted.values()))} now", "module"


def _of_mapping(note: _Note, now: dict, seen: set[int]) -> Iterator[tuple[str, str, str]]:
    gone = [key for key in note.parts if key not in now]
    new = [key for key in now if key not in note.parts]
    if gone or new:
        yield "", f"keys, of which {gone[0]!r} is gone" if gone else f"keys, of which {new[0]!r} is new", "dict"
        return
    for key, part in note.parts.items():
        if not _is_it(part, now[key]):
            yield "", f"value under {key!r}", "dict"
        yield from _inside(f"[{key!r}]", _differences(part, now[key], seen))


def _of_list(note: _Note, now: Any, seen: set[int]) -> Iterator[tuple[str, str, str]]:
    parts = list(note.parts.values())
    if len(now) != len(parts):
        yield "", f"length, which is {len(now)} now and was {len(parts)}", "list"
        return
    other = [k for k, (part, entry) in enumerate(zip(parts, now, strict=True)) if not _is_it(part, entry)]
    if other:
        moved = all(any(_is_it(part, entry) for part in parts) for entry in list(now)[:100])
        yield "", "order" if moved and len(other) > 1 else f"entry {other[0]}, which is another one", "list"
        return
    for k, (part, entry) in enumerate(zip(parts, now, strict=True)):
        yield from _inside(f"[{k}]", _differences(part, entry, seen))


def _inside(where: str, differences: Iterator[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    for inner, what, kind in differences:
        yield where + inner, what, kind


def _is_it(note: _Note, now: Any) -> bool:
    """True if an entry is the object that was there; for numbers and words, if it is equal."""
    if note.kind != "plain":
        return now is note.value
    if type(now) is not type(note.value):
        return False
    return bool(now == note.value or (now != now and note.value != note.value))
