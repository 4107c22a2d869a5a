"""Holding what a rank returned against what it should have returned, and saying in plain words how they differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.case import ANYTHING, Opaque, Tensor, Typed

# (rtol, atol) of a type. Sums in another order pass, and so do a few hundred operations; a detour through a narrower
# type does not.
TOLERANCES = {"float64": (1e-9, 1e-12), "float32": (1e-5, 1e-7), "float16": (2e-3, 1e-9), "bfloat16": (2e-2, 1e-9)}
NUMBER = (1e-6, 1e-9)  # of a single number: people write 3.141593
_NEAR = 5e-7  # relative error of a few operations in float32
_ROUNDED = ("near", "lost_digits")  # kinds of a difference that a rounding explains, or may
_LONG = 400  # characters of a value, above which a card shows less of it
_COARSE = {name: TOLERANCES[name][0] for name in ("bfloat16", "float16")}


@dataclass(frozen=True)
class Difference:
    """kind: "value", "near", "lost_digits", "wrapped", "returns_nothing", "wrong_type", "wrong_shape", "wrong_dtype",
    "wrong_length".

    text: what differs. Lost digits: right to the precision of a narrower type, and rounding explains it. Near: as near,
    and it does not. Wrapped: right in the last bits, because the integers went through too few of them.
    """

    kind: str
    text: str = ""


def _short(number: Any, digits: int = 6) -> str:
    return f"{number:.0f}" if abs(number) < 1e9 and number == round(number) else f"{number:.{digits}g}"


def show(value: Any, limit: int = 14, indent: int = 0, digits: int = 6) -> str:
    """A value as a student would write it: numbers short, long arrays cut; further rows of an array stand `indent`
    columns in."""
    if isinstance(value, (Tensor, Typed)):
        return show(value.values, limit, indent, digits)
    if isinstance(value, Opaque):
        return f"an object of type {value.type_name}"
    if isinstance(value, np.ndarray):
        text = np.array2string(
            value,
            threshold=limit,
            edgeitems=4,
            separator=", ",
            formatter={"float": lambda number: _short(number, digits)},
            max_line_width=90,
        )
        return text.replace("\n", "\n" + " " * indent)
    if isinstance(value, (list, tuple)):
        open_, close = "[]" if isinstance(value, list) else "()"
        shown = [show(v, limit, indent + 1, digits) for v in value[:limit]]
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return f"{open_}{', '.join(shown)}{', ...' if len(value) > limit else ''}{comma}{close}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {show(v, limit, digits=digits)}" for k, v in list(value.items())[:limit]) + "}"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.{max(digits, 10)}g}"
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def show_where_they_differ(
    expected: Any, observed: Any, rtol: float | None = None, atol: float | None = None, indent: int = 0
) -> tuple[str, str]:
    """Both values as `show` writes them, with all digits where they look the same; of two dicts with the same keys what
    differs alone, because what is right needs no reading. Where that is still long, the first difference alone, within
    what it stands in."""
    more = ""
    if isinstance(expected, dict) and isinstance(observed, dict) and expected.keys() == observed.keys():
        keys = [key for key in expected if difference(expected[key], observed[key], rtol, atol) is not None]
        if 0 < len(keys) < len(expected):
            expected, observed, more = {k: expected[k] for k in keys}, {k: observed[k] for k in keys}, ", ...}"
    texts = show(expected, indent=indent), show(observed, indent=indent)
    if texts[0] == texts[1]:
        texts = show(expected, indent=indent, digits=17), show(observed, indent=indent, digits=17)
    if (
        max(map(len, texts)) > _LONG
        and (first := _first_difference(expected, observed, rtol, atol, indent)) is not None
    ):
        texts = first
    return tuple(text[:-1] + more for text in texts) if more else texts


def _first_difference(expected: Any, observed: Any, rtol, atol, indent: int) -> tuple[str, str] | None:
    """Both values with nothing but their first entry that differs, and its entry that differs, and so on; None where
    they have none."""
    if isinstance(expected, dict) and isinstance(observed, dict) and expected.keys() == observed.keys():
        keys, brackets = list(expected), "{}"
    elif type(expected) is type(observed) and isinstance(expected, (list, tuple)) and len(expected) == len(observed):
        keys, brackets = list(range(len(expected))), "[]" if isinstance(expected, list) else "()"
    else:
        return None
    at = next((n for n, k in enumerate(keys) if difference(expected[k], observed[k], rtol, atol) is not None), None)
    if at is None:
        return None
    name = f"{keys[at]!r}: " if brackets == "{}" else ""
    before = f"{brackets[0]}{'..., ' if at and brackets != '{}' else ''}{name}"
    after = f"{', ...' if at + 1 < len(keys) or (at and brackets == '{}') else ''}{brackets[1]}"
    mine, theirs, column = expected[keys[at]], observed[keys[at]], indent + len(before)
    inside = _first_difference(mine, theirs, rtol, atol, column) or show_where_they_differ(
        mine, theirs, rtol, atol, column
    )
    return before + inside[0] + after, before + inside[1] + after


def name_of_type(value: Any) -> str:
    """The name of a value's type on a card: "a torch tensor of type float32", "a list"."""
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


def with_pythons_numbers(value: Any) -> Any:
    """The same value with Python's numbers in place of numpy's, also inside of lists, tuples and dicts; arrays stay."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return type(value)(map(with_pythons_numbers, value))
    if isinstance(value, dict):
        return {key: with_pythons_numbers(part) for key, part in value.items()}
    return value


def _is_nearly(number: Any, expected: Any, rtol: float | None) -> bool:
    """True if a number is right to the digits of a float32, and is one, where more are asked for."""
    exact = rtol is not None and rtol < 1e-7 and isinstance(expected, float) and isinstance(number, float)
    return exact and _close(number, expected, _NEAR, 0.0) and bool(_held_by(np.array(number), np.float32))


def _tolerance(rtol: float | None, atol: float | None, *dtypes: str) -> tuple[float, float]:
    """The tolerances (rtol, atol): those asked for, else those of the coarsest of the types. A coarse type widens even
    those asked for."""
    own = [TOLERANCES[dtype] for dtype in dtypes if dtype in TOLERANCES] or [NUMBER]
    coarse = [TOLERANCES[dtype] for dtype in dtypes if dtype in TOLERANCES and dtype != "float64"]
    rtol = max(r for r, _ in own) if rtol is None else max([rtol, *(r for r, _ in coarse)])
    atol = max(a for _, a in own) if atol is None else max([atol, *(a for _, a in coarse)])
    return rtol, atol


def _kind_of_loss(values: np.ndarray, target: np.ndarray) -> str:
    """ "lost_digits", "wrapped", "near" or "value": how `values`, which differ, may have come from `target`."""
    integers = target.dtype.kind in "iu"
    if (
        not target.size
        or values.dtype.kind not in "iuf"
        or target.dtype.kind not in "iuf"
        or not np.isfinite(values).all()
    ):
        return "value"
    if integers and values.dtype.kind in "iu":
        for bits in (8, 16, 32):
            if np.abs(target).max() >= 2 ** (bits - 1) and np.abs(values).max() < 2**bits:
                if np.array_equal(values.astype(np.int64) & (2**bits - 1), target.astype(np.int64) & (2**bits - 1)):
                    return "wrapped"
    if not (np.abs(target).max() > 2**24 if integers else target.dtype == np.float64):
        return "value"
    errors, sizes = np.abs(values.astype(float) - target.astype(float)), np.abs(target.astype(float))
    if errors.max() > _NEAR * sizes.max():
        return "value"
    if not _shows_rounding(values, target):
        return "near"
    return "lost_digits" if (errors <= _NEAR * sizes).all() else "value"


def _held_by(values: np.ndarray, dtype: type) -> np.ndarray:
    """A bool for each number: it comes back from `dtype` as it was."""
    with np.errstate(invalid="ignore", over="ignore"):
        return values.astype(dtype).astype(values.dtype) == values


def _shows_rounding(values: np.ndarray, target: np.ndarray) -> bool:
    """True if `values` may be near `target`, and no nearer, because something was rounded.

    Rounded last, the numbers fit into the narrower type. Rounded earlier, as an argument, they need not; then all are
    off by errors of about one size. An epsilon in the wrong place, say, errs only where something is small.
    """
    if target.dtype.kind in "iu":
        other = values[values != target]
        exact = np.abs(target).max() > 2**53 and _held_by(other, np.float64).all()
        return bool(_held_by(other, np.float32).all() or exact)
    errors = np.abs(values - target)
    off = errors > TOLERANCES["float64"][0] * np.abs(target)
    return bool(_held_by(values[off], np.float32).all()) or _are_of_one_size(errors[~_held_by(target, np.float32)])


def _are_of_one_size(errors: np.ndarray) -> bool:
    return bool(errors.size and np.median(errors) > errors.max() / 10)


def _close(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if not {a.dtype.kind, b.dtype.kind} <= set("biufc"):  # integers too large for numpy, or text
        return a.tolist() == b.tolist()
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    with np.errstate(invalid="ignore", over="ignore"):
        if a.dtype == b.dtype == np.float64 and np.isfinite(a).all() and np.isfinite(b).all():
            return bool((np.abs(a - b) <= atol + rtol * np.abs(b)).all())  # numpy's own rule, several times as fast
        return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


_NUMBERS = (bool, int, float, np.float64)


def _close_numbers(a: Any, b: Any, rtol: float, atol: float) -> bool:
    """`_close` of two numbers, without arrays where they are Python's and a float holds them."""
    if type(a) not in _NUMBERS or type(b) not in _NUMBERS:
        return _close(np.asarray(a), np.asarray(b), rtol, atol)
    if not isinstance(a, float) and not isinstance(b, float):
        return a == b
    if not (-(2**53) <= a <= 2**53 and -(2**53) <= b <= 2**53):  # nan, inf, what a float does not hold
        return _close(np.asarray(a), np.asarray(b), rtol, atol)
    return bool(abs(a - b) <= atol + rtol * abs(b))


def difference(
    expected: Any, observed: Any, rtol: float | None = None, atol: float | None = None, strict: bool = True
) -> Difference | None:
    """None where `observed` is right, else how it differs. rtol, atol: None for what the types promise (`TOLERANCES`).

    strict: types and dtypes count too, not only values and shapes.
    """
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
    if isinstance(expected, (Tensor, Typed, np.ndarray)):
        return _array_difference(expected, observed, rtol, atol, strict)
    if isinstance(expected, (bool, int, float, np.generic)):
        number = _number(observed)
        if number is None:
            return Difference("wrong_type", f"{name_of_type(observed)} instead of a number")
        if _close_numbers(number, expected, *_tolerance(rtol, atol)):
            return None
        return Difference("lost_digits" if _is_nearly(number, expected, rtol) else "value")
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
    pairs = ((f"under the key {key!r}", expected[key], observed[key]) for key in expected)
    return _first_that_counts(pairs, rtol, atol, strict)


def _first_that_counts(pairs: Iterable[tuple[str, Any, Any]], rtol, atol, strict) -> Difference | None:
    """The first difference of the parts of a value; one of rounding only where no other is larger than a rounding.

    pairs: where a part stands, what is expected there, what was observed.
    """
    first, pairs = None, list(pairs)
    for where, expected, observed in pairs:
        found = difference(expected, observed, rtol, atol, strict)
        if found is None:
            continue
        first = first or _inside(where, found, expected, observed)
        slight = first.kind in _ROUNDED and found.kind == "value" and _is_slight(expected, observed, pairs)
        if found.kind not in _ROUNDED and not slight:
            return _inside(where, found, expected, observed)
    return first


def _is_slight(expected: Any, observed: Any, pairs: list[tuple[str, Any, Any]]) -> bool:
    """True if a part is off by no more than what float32 loses of the largest part: a difference of rounded numbers is
    far off by its own size."""
    e, o = _plain(expected), _plain(observed)
    if e is None or o is None or e.shape != o.shape or not np.isfinite(o).all():
        return False
    sizes = [np.abs(part).max() for _, one, _ in pairs if (part := _plain(one)) is not None and part.size]
    return bool(np.abs(e - o).max(initial=0.0) <= _NEAR * max(sizes, default=0.0))


def _plain(value: Any) -> np.ndarray | None:
    """A number, an array or a tensor as float64; None for anything else."""
    try:
        array = np.asarray(getattr(value, "values", value))
    except ValueError:  # rows of different lengths
        return None
    return array.astype(float) if array.dtype.kind in "biuf" else None


def _instead(observed: Any, expected: Any) -> str:
    """The text "A instead of B" for two numbers, with as many digits as it takes to see that they differ."""
    for digits in (6, 17):
        texts = [f"{v:.{digits}g}" if isinstance(v, float) else str(v) for v in (observed, expected)]
        if texts[0] != texts[1]:
            break
    return " instead of ".join(texts)


def _inside(where: str, found: Difference, expected: Any, observed: Any) -> Difference:
    """A difference inside of something larger: where, and what; of a single value, which is not printed by itself
    there, both."""
    text = found.text
    if not text and found.kind in ("value", "near", "lost_digits") and isinstance(expected, (bool, int, float, str)):
        text = _instead(observed, expected)
    if not text and found.kind == "returns_nothing":
        text = "None"
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
        entries = "entry" if len(observed) == 1 else "entries"
        return Difference("wrong_length", f"{len(observed)} {entries} instead of {len(expected)}")
    if set(map(type, expected)) == {int} == set(map(type, observed)) and list(expected) == list(observed):
        return None  # thousands of indices, one by one, would take seconds
    pairs = ((f"entry {k}", e, o) for k, (e, o) in enumerate(zip(expected, observed, strict=True)))
    return _first_that_counts(pairs, rtol, atol, strict)


def _array_difference(expected, observed, rtol, atol, strict) -> Difference | None:
    wants_tensor = isinstance(expected, Tensor)
    target = np.asarray(expected if isinstance(expected, np.ndarray) else expected.values)
    if strict and (
        not isinstance(observed, Tensor) if wants_tensor else not isinstance(observed, (np.ndarray, Tensor))
    ):
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
    wanted = expected.dtype if wants_tensor else target.dtype.name
    got = observed.dtype if isinstance(observed, Tensor) else values.dtype.name
    rtol, atol = _tolerance(rtol, atol, wanted, *([] if strict else [got]))
    kind = None
    if not _close(values, target, rtol, atol):
        kind = _kind_of_loss(values, np.asarray(target, wanted) if wanted in ("float64", "int32", "int64") else target)
    if kind not in ("value", "near") and strict and got != wanted and (wants_tensor or isinstance(expected, Typed)):
        return Difference("wrong_dtype", f"{got} instead of {wanted}")
    return kind and Difference(kind, _first_differing(values, target, rtol, atol))


def _first_differing(values: np.ndarray, target: np.ndarray, rtol: float, atol: float) -> str:
    if values.size <= 14 or values.ndim == 0:
        return ""
    with np.errstate(invalid="ignore"):
        integers = values.dtype.kind in "biu" and target.dtype.kind in "biu"
        close = values == target if integers else np.isclose(values, target, rtol=rtol, atol=atol, equal_nan=True)
        wrong = np.argwhere(~close)
    if not len(wrong):
        return ""
    at = tuple(int(i) for i in wrong[0])
    where = at[0] if len(at) == 1 else at
    first = _instead(values[at].item(), target[at].item())
    return f"{len(wrong)} of {values.size} elements differ, the first at index {where}: {first}"


def same(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """True if two expected values could not be told apart (used to prove that diagnoses are distinct)."""
    if a is ANYTHING or b is ANYTHING:
        return True
    try:
        return difference(a, _returned(b), rtol, atol) is None and difference(b, _returned(a), rtol, atol) is None
    except TypeError:
        return False


def _returned(expected: Any) -> Any:
    """The value that a right answer returns where this one is expected."""
    return expected.values if isinstance(expected, Typed) else expected


def unchanged(before: Any, after: Any) -> bool:
    """True if an argument is, after the call, exactly what it was before."""
    if isinstance(before, (Tensor, np.ndarray)):
        values = np.asarray(before.values if isinstance(before, Tensor) else before)
        now = after.values if isinstance(after, Tensor) else after
        if not isinstance(now, np.ndarray) or now.shape != values.shape:
            return False
        dtype = before.dtype if isinstance(before, Tensor) else ""
        if dtype == "float32":  # which a case may hold in float64
            values = values.astype(np.float32).astype(values.dtype)
        return _close(now, values, _COARSE.get(dtype, 0.0), 0.0)
    if isinstance(before, (list, tuple)):
        return isinstance(after, (list, tuple)) and len(before) == len(after) and all(map(unchanged, before, after))
    if isinstance(before, dict):
        return (
            isinstance(after, dict)
            and set(before) == set(after)
            and all(unchanged(before[k], after[k]) for k in before)
        )
    if isinstance(before, (int, float, str)):  # in a list that was sorted or written to
        after = with_pythons_numbers(after)
        return isinstance(after, (int, float, str)) and (before == after or (before != before and after != after))
    return True
