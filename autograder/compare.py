"""Holding what a rank returned against what it should have returned, and saying in plain words how they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.exercise import ANYTHING, Opaque, Tensor

_COARSE = {"bfloat16": 2e-2, "float16": 2e-3}


@dataclass(frozen=True)
class Difference:
    """kind: "value", "returns_nothing", "wrong_type", "wrong_shape", "wrong_dtype", "wrong_length". text: what differs."""

    kind: str
    text: str = ""


def _short(number: Any) -> str:
    return f"{number:.0f}" if abs(number) < 1e9 and number == round(number) else f"{number:.6g}"


def show(value: Any, limit: int = 14, indent: int = 0) -> str:
    """A value as a student would write it: numbers short, long arrays cut; further rows of an array stand `indent` columns in."""
    if isinstance(value, Tensor):
        return show(value.values, limit, indent)
    if isinstance(value, Opaque):
        return f"an object of type {value.type_name}"
    if isinstance(value, np.ndarray):
        text = np.array2string(
            value, threshold=limit, edgeitems=4, separator=", ", formatter={"float": _short}, max_line_width=90
        )
        return text.replace("\n", "\n" + " " * indent)
    if isinstance(value, (list, tuple)):
        open_, close = "[]" if isinstance(value, list) else "()"
        shown = [show(v, limit, indent + 1) for v in value[:limit]]
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return f"{open_}{', '.join(shown)}{', ...' if len(value) > limit else ''}{comma}{close}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {show(v, limit)}" for k, v in list(value.items())[:limit]) + "}"
    if isinstance(value, float):
        return f"{value:.10g}"
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def show_where_they_differ(expected: Any, observed: Any, rtol: float, atol: float, indent: int = 0) -> tuple[str, str]:
    """Both values as `show` writes them; of two dicts with the same keys what differs alone, because what is right needs no reading."""
    more = ""
    if isinstance(expected, dict) and isinstance(observed, dict) and expected.keys() == observed.keys():
        keys = [key for key in expected if difference(expected[key], observed[key], rtol, atol) is not None]
        if 0 < len(keys) < len(expected):
            expected, observed, more = {k: expected[k] for k in keys}, {k: observed[k] for k in keys}, ", ...}"
    texts = show(expected, indent=indent), show(observed, indent=indent)
    return tuple(text[:-1] + more for text in texts) if more else texts


def name_of_type(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a torch tensor of type {value.dtype}"
    if isinstance(value, np.ndarray):
        return "a numpy array"
    if isinstance(value, Opaque):
        return f"an object of type {value.type_name}"
    return {type(None): "None", bool: "a bool", int: "an int", float: "a float", str: "a string"}.get(
        type(value), f"a {type(value).__name__}"
    )


def _number(value: Any) -> Any:
    """A number, also out of a 0-d or one-element array or tensor; None where it is none."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, np.generic):  # an element of a returned array
        return value.item()
    values = value.values if isinstance(value, Tensor) else value
    if isinstance(values, np.ndarray) and values.size == 1:
        return values.reshape(()).item()
    return None


def _close(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if not {a.dtype.kind, b.dtype.kind} <= set("biufc"):  # integers too large for numpy, or text
        return a.tolist() == b.tolist()
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def difference(expected: Any, observed: Any, rtol: float, atol: float, strict: bool = True) -> Difference | None:
    """None where `observed` is right, else how it differs. strict: types and dtypes count too, not only values and shapes."""
    if expected is ANYTHING:
        return None
    if expected is None:
        return None if observed is None else Difference("value", "should be None")
    if observed is None:
        return Difference("returns_nothing")
    if isinstance(expected, dict):
        return _dict_difference(expected, observed, rtol, atol, strict)
    if isinstance(expected, (list, tuple)):
        return _sequence_difference(expected, observed, rtol, atol, strict)
    if isinstance(expected, (Tensor, np.ndarray)):
        return _array_difference(expected, observed, rtol, atol, strict)
    if isinstance(expected, (bool, int, float, np.generic)):
        number = _number(observed)
        if number is None:
            return Difference("wrong_type", f"{name_of_type(observed)} instead of a number")
        return None if _close(np.asarray(number), np.asarray(expected), rtol, atol) else Difference("value")
    if isinstance(expected, str):
        if not isinstance(observed, str):
            return Difference("wrong_type", f"{name_of_type(observed)} instead of a string")
        return None if expected == observed else Difference("value")
    raise TypeError(f"an expected value of type {type(expected).__name__} cannot be compared")


def _dict_difference(expected, observed, rtol, atol, strict) -> Difference | None:
    if not isinstance(observed, dict):
        return Difference("wrong_type", f"{name_of_type(observed)} instead of a dict")
    if set(expected) != set(observed):
        return Difference("wrong_length", f"keys {sorted(map(str, observed))} instead of {sorted(map(str, expected))}")
    for key in expected:
        found = difference(expected[key], observed[key], rtol, atol, strict)
        if found is not None:
            return _inside(f"under the key {key!r}", found, expected[key], observed[key])
    return None


def _inside(where: str, found: Difference, expected: Any, observed: Any) -> Difference:
    """A difference inside of something larger: where, and what; of a single value, which is not printed by itself there, both."""
    text = found.text
    if not text and found.kind == "value" and isinstance(expected, (bool, int, float, str)):
        text = " instead of ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in (observed, expected))
    return Difference(found.kind, f"{where}: {text}" if text else where)


def _sequence_difference(expected, observed, rtol, atol, strict) -> Difference | None:
    if isinstance(observed, (Tensor, np.ndarray)):
        values = observed.values if isinstance(observed, Tensor) else observed
        if values.ndim == 0:
            return Difference("wrong_type", f"{name_of_type(observed)} instead of a {type(expected).__name__}")
        kind = observed.dtype if isinstance(observed, Tensor) else None
        observed = [Tensor(v, kind) if kind and any(isinstance(e, Tensor) for e in expected) else v for v in values]
    if not isinstance(observed, (list, tuple)):
        return Difference("wrong_type", f"{name_of_type(observed)} instead of a {type(expected).__name__}")
    if len(expected) != len(observed):
        return Difference("wrong_length", f"{len(observed)} entries instead of {len(expected)}")
    for k, (e, o) in enumerate(zip(expected, observed, strict=True)):
        found = difference(e, o, rtol, atol, strict)
        if found is not None:
            return _inside(f"entry {k}", found, e, o)
    return None


def _array_difference(expected, observed, rtol, atol, strict) -> Difference | None:
    wants_tensor = isinstance(expected, Tensor)
    target = np.asarray(expected.values if wants_tensor else expected)
    if strict and (not isinstance(observed, Tensor) if wants_tensor else not isinstance(observed, (np.ndarray, Tensor))):
        if not (target.ndim == 0 and _number(observed) is not None and not wants_tensor):
            wanted = f"a torch tensor of type {expected.dtype}" if wants_tensor else "a numpy array"
            return Difference("wrong_type", f"{name_of_type(observed)} instead of {wanted}")
    values = observed.values if isinstance(observed, Tensor) else observed
    try:
        values = np.asarray(values)
    except ValueError:
        return Difference("wrong_shape", "rows of different lengths")
    if values.dtype.kind not in "biufc":
        return Difference("wrong_type", f"{name_of_type(observed)} instead of numbers")
    if values.shape != target.shape:
        return Difference("wrong_shape", f"shape {tuple(values.shape)} instead of {tuple(target.shape)}")
    if wants_tensor and isinstance(observed, Tensor):
        rtol = max(rtol, _COARSE.get(expected.dtype, 0.0))
        if expected.dtype == "float32":
            rtol, atol = max(rtol, 1e-5), max(atol, 1e-7)
    if not _close(values, target, rtol, atol):
        return Difference("value", _first_differing(values, target, rtol, atol))
    if strict and wants_tensor and observed.dtype != expected.dtype:
        return Difference("wrong_dtype", f"{observed.dtype} instead of {expected.dtype}")
    return None


def _first_differing(values: np.ndarray, target: np.ndarray, rtol: float, atol: float) -> str:
    if values.size <= 14 or values.ndim == 0:
        return ""
    with np.errstate(invalid="ignore"):
        wrong = np.argwhere(
            ~np.isclose(values.astype(np.float64), target.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)
        )
    if not len(wrong):
        return ""
    at = tuple(int(i) for i in wrong[0])
    where = at[0] if len(at) == 1 else at
    return (
        f"{len(wrong)} of {values.size} elements differ, the first at index {where}: {values[at]:.6g} instead of {target[at]:.6g}"
    )


def same(a: Any, b: Any, rtol: float, atol: float) -> bool:
    """Whether two expected values could not be told apart (used to prove that diagnoses are distinct)."""
    if a is ANYTHING or b is ANYTHING:
        return True
    try:
        return difference(a, b, rtol, atol) is None and difference(b, a, rtol, atol) is None
    except TypeError:
        return False


def unchanged(before: Any, after: Any) -> bool:
    """Whether an argument is, after the call, exactly what it was before."""
    if isinstance(before, (Tensor, np.ndarray)):
        values = np.asarray(before.values if isinstance(before, Tensor) else before)
        now = after.values if isinstance(after, Tensor) else after
        if not isinstance(now, np.ndarray) or now.shape != values.shape:
            return False
        coarse = _COARSE.get(before.dtype, 1e-6) if isinstance(before, Tensor) else 0.0
        return _close(now, values, coarse, 0.0)
    if isinstance(before, (list, tuple)):
        return isinstance(after, (list, tuple)) and len(before) == len(after) and all(map(unchanged, before, after))
    if isinstance(before, dict):
        return isinstance(after, dict) and set(before) == set(after) and all(unchanged(before[k], after[k]) for k in before)
    if isinstance(before, (int, float, str)):  # in a list that was sorted or written to
        return isinstance(after, (int, float, str)) and (before == after or (before != before and after != after))
    return True
