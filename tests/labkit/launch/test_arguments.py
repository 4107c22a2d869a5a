"""What a function has done to its arguments: seen in every call, told by name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from labkit.launch import arguments
from labkit.launch.arguments import WatchedFunction


def changed(function, *values, may_change=()):
    """(name, where, what, kind) of the first change that a call makes, or None."""
    watched = WatchedFunction(function, may_change)
    watched(*values)
    return next((tuple(vars(change).values()) for change in watched.changes.values()), None)


def sets(index, value):
    def f(x):
        x[index] = value

    return f


def swapped(x):
    x[0], x[1] = x[1], x[0]


def with_gradient(weights):
    weights.requires_grad_()


def backward(weights):
    (weights * 2).sum().backward()


def frozen(x):
    x.bias.requires_grad_(False)


def in_place_of(shards):
    shards[:] = [shard * 1 for shard in shards]


def renamed(x):
    x["other"] = x.pop("own")


@pytest.mark.parametrize(
    ("function", "value", "told"),
    [
        (sets(1, 9.0), torch.ones(3), ("x", "", "values", "tensor")),
        (sets(1, 9.0), np.ones(3), ("x", "", "values", "array")),
        (lambda x: x.resize_(1, 3), torch.ones(3), ("x", "", "shape, which is [1, 3] now and was [3]", "tensor")),
        (with_gradient, torch.ones(2), ("weights", "", "`requires_grad`, which is True now", "gradient")),
        (backward, torch.ones(2, requires_grad=True), ("weights", "", "gradient (`.grad`)", "gradient")),
        (lambda x: x.eval(), torch.nn.Linear(1, 1), ("x", "", "mode, which is that of evaluation now", "module")),
        (frozen, torch.nn.Linear(1, 1), ("x", "", "parameters' `requires_grad`, which is False now", "module")),
        (lambda x: x.sort(), [3, 1, 2], ("x", "", "order", "list")),
        (swapped, [torch.ones(2), torch.ones(2)], ("x", "", "order", "list")),
        (in_place_of, [torch.ones(2)], ("shards", "", "entry 0, which is another one", "list")),
        (lambda x: x.append(4), [1], ("x", "", "length, which is 2 now and was 1", "list")),
        (sets(0, True), [1], ("x", "", "entry 0, which is another one", "list")),
        (sets("step", 5), {"step": 4}, ("x", "", "value under 'step'", "dict")),
        (renamed, {"own": 1}, ("x", "", "keys, of which 'own' is gone", "dict")),
        (lambda x: x.add(1), set(), ("x", "", "entries", "set")),
        (lambda x: x[1]["a"].mul_(2), [0, {"a": torch.ones(2)}], ("x", "[1]['a']", "values", "tensor")),
        (lambda x: x.__setitem__(0, 0.0), torch.full((2,), float("nan")), ("x", "", "values", "tensor")),
    ],
)
def test_a_change_is_told_with_its_place(function, value, told):
    assert changed(function, value) == told


@pytest.mark.parametrize(
    "value",
    [
        torch.full((2,), float("nan")),
        [float("nan"), None, "a", {1: (2, [3])}],
        torch.ones(2, dtype=torch.bfloat16)[::2],
        torch.tensor(1 + 2j).conj(),
        torch.empty(0, 3),
        iter([1, 2]),
        torch.nn.Linear(1, 1),
        np.array([{}, None], dtype=object),
    ],
    ids=lambda value: type(value).__name__,
)
def test_who_only_reads_changes_nothing(value):
    assert changed(lambda x: list(x) if hasattr(x, "__next__") else x, value) is None


def test_the_same_object_handed_over_twice_is_told_of_by_both_names():
    shared = torch.ones(2)
    watched = WatchedFunction(lambda a, b: a.add_(1))
    watched(shared, shared)
    assert set(watched.changes) == {"a", "b"}


def test_a_list_that_contains_itself_is_looked_at_once():
    loop: list = [1]
    loop.append(loop)
    assert changed(lambda x: x, loop) is None
    assert changed(sets(0, 2), loop) is not None


def test_what_may_change_is_not_looked_at():
    assert changed(sets(0, 2), [1], may_change=("x",)) is None


def test_each_call_is_looked_at_those_that_raise_too():
    def refuses(x):
        x.pop()
        raise ValueError

    watched = WatchedFunction(refuses)
    with pytest.raises(ValueError):
        watched([1])
    assert watched.changes["x"].kind == "list"


def test_whatever_else_is_asked_the_function_answers():
    watched = WatchedFunction(changed)
    assert watched.__globals__ is changed.__globals__ and watched.__name__ == "changed"


def test_more_than_a_case_has_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(arguments, "MOST_BYTES", 10)
    assert changed(sets(0, 2.0), torch.ones(100)) is None
