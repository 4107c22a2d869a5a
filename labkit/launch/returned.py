"""Holds what a function returns against the types that its signature names.

Values are compared elsewhere, and kindly: 3.0 is 3 there. But whoever calls a function whose signature says `list[int]`
writes `range(n)`, `found.append(...)` or `json.dumps(found)`, which a float or an array does not bear.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

MOST = 10_000  # entries that are looked at
_ARRAYS = {"np.ndarray": np.ndarray, "numpy.ndarray": np.ndarray}  # "torch.Tensor" as well, where torch is imported


def other_type(annotation: str, value: Any) -> str:
    """Says how `value` departs from a type such as "list[tuple[int, float]]"; "" where it does not.

    Looked at are `int`, `float`, `list`, arrays, tensors, and what is in lists, tuples and dicts. Numbers of numpy are
    numbers, an int or an array without dimensions does for a float, a list for a tuple; of any other type nothing is
    asked.
    """
    node = _parsed(annotation)
    return _other(node, value) if node is not None else ""


@functools.cache
def _parsed(annotation: str) -> ast.expr | None:
    try:
        return ast.parse(annotation.strip(), mode="eval").body
    except SyntaxError:  # words: "number of points inside the circle"
        return None


def _other(node: ast.expr, value: Any) -> str:
    if isinstance(node, ast.BinOp):  # X | None
        sides = [
            side for side in (node.left, node.right) if not (isinstance(side, ast.Constant) and side.value is None)
        ]
        found = [_other(side, value) for side in sides]
        return "" if value is None or not all(found) else found[0]
    kind = node.value if isinstance(node, ast.Subscript) else node
    name = kind.id if isinstance(kind, ast.Name) else ""
    if name == "int" and not isinstance(value, (int, np.integer)):
        return f"{_called(value)} where the signature says int"
    if name == "list" and not isinstance(value, list):
        return f"{_called(value)} where the signature says {ast.unparse(node)}"
    if name == "float" and getattr(value, "ndim", 0):
        return f"{_called(value)} of shape {tuple(value.shape)} where the signature says float"
    array = _array_of(kind)
    if array is not None and not isinstance(value, array):
        return f"{_called(value)} where the signature says {ast.unparse(kind)}"
    return next(filter(None, _inside(name, node, value)), "") if isinstance(node, ast.Subscript) else ""


def _inside(name: str, node: ast.Subscript, value: Any) -> Iterable[str]:
    """For each entry of a list, a tuple or a dict, how it departs."""
    types = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "dict" and isinstance(value, dict) and len(types) == 2:
        return (_other(types[1], one) for one in list(value.values())[:MOST])
    if name == "list" or (name == "tuple" and len(types) == 2 and ast.unparse(types[1]) == "..."):
        return (_other(types[0], one) for one in value[:MOST]) if isinstance(value, (list, tuple)) else ()
    if name == "tuple" and isinstance(value, (list, tuple)) and len(types) == len(value):
        return (_other(kind, one) for kind, one in zip(types, value, strict=True))
    return ()


def _array_of(kind: ast.expr) -> type | None:
    """The class of arrays or tensors that a type such as `np.ndarray` names; None for any other type."""
    name = ast.unparse(kind)
    torch = sys.modules.get("torch")
    if torch is not None and name in ("torch.Tensor", "Tensor"):
        return torch.Tensor
    return _ARRAYS.get(name)


def _called(value: Any) -> str:
    """The name of a value's type, as one says it."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, np.ndarray):
        return "a numpy array"
    if isinstance(value, (float, np.floating)):
        return "a float"
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
