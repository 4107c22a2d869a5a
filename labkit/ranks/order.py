"""The first line of a `%%ranks` cell, understood: which ranks, until when, with a timeline or without."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from labkit.watch.hang import list_ranks

DEADLINE = 60.0  # s
_USAGE = "%%ranks [WHICH] [--deadline SECONDS] [--timeline], where WHICH is like 0 or 0,2 or 1:"


@dataclass(frozen=True)
class Order:
    """The first line of a cell, understood."""

    which: tuple[int, ...] | None = None  # None: all
    deadline: float = DEADLINE
    timeline: bool = False


class CannotRun(Exception):
    """Why a cell or a start is refused; its text is for the student."""


def understood(line: str, size: int) -> Order:
    """The magic's own line; `size`: how many ranks there are. Raises CannotRun."""
    order = Order()
    words = shlex.split(line.split("#")[0])
    while words:
        word = words.pop(0)
        if word == "--timeline":
            order = replace(order, timeline=True)
        elif word == "--deadline" or word.startswith("--deadline="):
            value = word.partition("=")[2] or (words.pop(0) if words else "")
            try:
                order = replace(order, deadline=float(value))
            except ValueError:
                raise CannotRun(f"--deadline needs a number of seconds, not {value!r}. {_USAGE}") from None
            if not order.deadline > 0:
                raise CannotRun("The deadline is a positive number of seconds.")
        elif order.which is None and not word.startswith("-"):
            order = replace(order, which=_which(word, size))
        else:
            raise CannotRun(f"I do not know {word!r} here. {_USAGE}")
    return order


def _which(word: str, size: int) -> tuple[int, ...] | None:
    """ "0" -> (0,), "0,2" -> (0, 2), "1:3" -> (1, 2); "all" -> None. Raises CannotRun."""
    if word == "all":
        return None
    chosen: list[int] = []
    try:
        for part in word.split(","):
            if ":" in part:
                first, last_ = (int(text) if text else None for text in part.split(":"))
                chosen += range(size)[first:last_]
            else:
                chosen.append(int(part))
    except ValueError:
        raise CannotRun(f"I do not understand which ranks {word!r} are. {_USAGE}") from None
    missing = [number for number in chosen if not 0 <= number < size]
    if missing or not chosen:
        raise CannotRun(
            f"There is no {list_ranks(missing) if missing else 'rank ' + word}: the ranks are 0 to {size - 1}."
        )
    return tuple(sorted(set(chosen)))
