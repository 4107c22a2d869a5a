"""Results of another type than a signature names."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from labkit.launch.arguments import WatchedFunction
from labkit.launch.returned import other_type

RIGHT = [
    ("int", 3),
    ("int", np.int64(3)),
    ("int", True),
    ("float", 3),
    ("float", torch.tensor(3.0)),
    ("list[int]", [1, 2]),
    ("float", np.array(3.0)),
    ("np.ndarray", np.arange(2)),
    ("list[float]", [1, np.float32(2)]),
    ("tuple[int, float]", [1, 2.0]),
    ("tuple[int, ...]", (1, 2, 3)),
    ("tuple[int, int] | None", None),
    ("list[list[tuple[int, int]]]", [[(1, 2)], []]),
    ("dict[str, list[int]]", {"a": [1]}),
    ("torch.Tensor", torch.tensor(3)),
    ("number of points inside the circle", 3.5),
    ("(start, stop)", np.array([1, 2])),
    ("", 3.5),
]
WRONG = [
    ("int", 3.0, "a float where the signature says int"),
    ("int", torch.tensor(3), "a tensor where the signature says int"),
    ("int", None, "None where"),
    ("list[int]", np.array([1, 2]), "a numpy array where the signature says list[int]"),
    ("list[int]", (1, 2), "a tuple where the signature says list[int]"),
    ("list[int]", range(3), "a range where"),
    ("list[list[int]]", [range(2), [1]], "a range where the signature says list[int]"),
    ("list[int]", iter([1, 2]), "a list_iterator where"),
    ("float", np.array([3.0]), "a numpy array of shape (1,) where the signature says float"),
    ("float", torch.zeros(1), "a tensor of shape (1,) where the signature says float"),
    ("np.ndarray", np.float64(3), "a float where the signature says np.ndarray"),
    ("np.ndarray", [1, 2], "a list where the signature says np.ndarray"),
    ("torch.Tensor", 3, "an int where the signature says torch.Tensor"),
    ("list[int]", {0: 1}, "a dict where"),
    ("list[int]", [1, 2.0], "a float where the signature says int"),
    ("list", {1, 2}, "a set where the signature says list"),
    ("tuple[int, float]", (torch.tensor(1), 2.0), "a tensor where the signature says int"),
    ("tuple[int, ...]", (1, 2.5), "a float"),
    ("tuple[int, int] | None", (1.0, 2), "a float where the signature says int"),
    ("list[list[tuple[int, int]]]", [[(1, 2), (3, 4.0)]], "a float"),
    ("dict[str, list[int]]", {"a": np.arange(2)}, "a numpy array where the signature says list[int]"),
]


@pytest.mark.parametrize(("annotation", "value"), RIGHT)
def test_what_does(annotation, value):
    assert other_type(annotation, value) == ""


@pytest.mark.parametrize(("annotation", "value", "said"), WRONG)
def test_what_does_not(annotation, value, said):
    assert other_type(annotation, value).startswith(said)


def test_a_watched_function_notes_the_first_such_result():
    watched = WatchedFunction(lambda x: x / 2, None, "int")
    assert watched(3) == 1.5 and watched(np.array([4.0])) == 2
    assert [vars(one) for one in watched.changes.values()] == [
        {"name": "", "where": "", "what": "a float where the signature says int", "kind": "return"}
    ]
    assert not WatchedFunction(lambda x: x, (), "").changes
