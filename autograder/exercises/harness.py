"""The harnesses of the kinds of exercises beside this file, and what those of several units share
(`autograder.exercises.source`)."""

from __future__ import annotations

import builtins
import contextlib

the_hash = hash


def as_lists(value):
    """The value as lists and numbers: a list, a tuple, a range, an array, a tensor or an iterator says the same."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (set, frozenset)):
        return "a set, which has no order"
    if isinstance(value, (str, dict)) or not hasattr(value, "__iter__"):
        return value
    return [as_lists(one) for one in value]


def refusing(f, *arguments):
    """The value that came, and whether a ValueError came in its place."""
    try:
        return {"value": as_lists(f(*arguments)), "raises": "nothing"}
    except ValueError:
        return {"value": None, "raises": "ValueError"}


def has_text(value):
    """True if Python's hash of the value is another one in each process."""
    parts = value if isinstance(value, (tuple, frozenset)) else ()
    return isinstance(value, (str, bytes)) or any(map(has_text, parts))


@contextlib.contextmanager
def hashes_of_process(number):
    """Ranks of a plain case share a process; here they hash texts as processes of their own would (PYTHONHASHSEED)."""
    builtins.hash = lambda value: the_hash((number, value) if number and has_text(value) else value)
    try:
        yield
    finally:
        builtins.hash = the_hash


class LikeAnything:
    """Equal to everything: whoever compares with == and not by `is` takes it for the end of a stream."""

    def __eq__(self, other):
        return True

    __hash__ = object.__hash__
