"""The calls of a right answer, one after the other in one process, and what passes from one to another: values that it
keeps, memory that it returns twice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from labkit.launch.rank_program import Surroundings
from labkit.relay import wire

RETURNED, RAISED = "returned", "raised"  # how a call ended
CHANGED, SHARED = "changed", "shared"  # what was seen of its result later
_MOST = 100_000  # parts of a result that are looked at


class Calls:
    """Calls of a function, each begun with the settings that the process had at first.

    found: of each call how it ended, what came back or the exception's type, and the arguments afterwards. at_once: the
    same result as it was sent when the call had ended, None where it cannot be sent.
    """

    def __init__(self, function: Callable):
        self.function, self.torch = function, sys.modules.get("torch")
        self.surroundings = Surroundings(self.torch)
        self.found: list[list] = []
        self.at_once: list[tuple | None] = []
        self._settled = 0

    def call(self, arguments: list) -> None:
        """Calls the function with these arguments, and notes what came of it. Prints the number of the call: if it has
        no end, the judge knows which one it is."""
        sys.stdout.write(f"call {len(self.found)}\n")
        self.surroundings.restore_settings()
        for communicator in [given for given in arguments if hasattr(given, "Barrier")]:
            communicator.Barrier()  # a receive from anybody takes no message of the next call
        ranks = getattr(self.torch, "distributed", None)
        if self.found and ranks is not None and ranks.is_available() and ranks.is_initialized():
            ranks.barrier()
        try:
            self.found.append([RETURNED, self.function(*arguments), list(arguments)])
        except BaseException as error:
            self.found.append([RAISED, type(error).__name__, []])
        self.at_once.append(self.encoded(self.found[-1][1]))

    def encoded(self, value: Any) -> tuple | None:
        """The value as it is sent to the judge, None where it cannot be."""
        try:
            return wire.encode(value, self.torch)
        except wire.WireError:
            return None

    def look_once_more(self) -> None:
        """Notes which results a later call has changed: a function that returns the same memory every time does it."""
        for call, before in zip(self.found, self.at_once, strict=True):
            now = self.encoded(call[1])
            if now != before and repr(now) != repr(before):  # nan is not equal to itself
                call[:] = [CHANGED, "", []]

    def settle(self) -> None:
        """Puts copies in the place of results and arguments: nothing that is changed from now on reaches them."""
        for call in self.found[self._settled :]:
            sent = self.encoded(call[1:])
            if sent is not None:
                call[1:] = wire.decode(*sent)
        self._settled = len(self.found)


def in_order(own: Callable | None) -> Callable[[Callable, list[list]], list[list]]:
    """The harness that makes calls one after the other. own: the exercise's harness around the function, None where it
    is called directly."""

    def harness(function: Callable, calls: list[list]) -> list[list]:
        made = Calls(partial(own, function) if own else function)
        for arguments in calls:
            made.call(arguments)
        made.look_once_more()
        return made.found

    return harness


def repeated(own: Callable | None) -> Callable[[Callable, list[list]], list[list]]:
    """The harness for triples of arguments: other ones, those of a case, and the case's once more.

    It makes the first two calls of every triple, then all third ones. These get *objects* of the first calls, in which
    the values of the case have been put. A function that knows an object by its identity returns then what was right
    for other values. Nor may it return an object a second time, whose first caller may have changed it."""

    def harness(function: Callable, calls: list[list]) -> list[list]:
        seen = ReturnedMemory()
        inner = seen.watching(function)
        made = Calls(seen.watching(partial(own, inner)) if own else inner)
        order = [*(k for k in range(len(calls)) if k % 3 < 2), *range(2, len(calls), 3)]
        refill = Refill(made, calls[0::3])
        for number, k in enumerate(order):
            if k == 2:
                made.look_once_more()
            if k % 3 == 2:
                made.settle()
            seen.number = number
            made.call(refill.arguments(calls[k], first=k // 3) if k % 3 == 2 else calls[k])
        for number in seen.twice():
            if made.found[number][0] == RETURNED:
                made.found[number] = [SHARED, "", []]
        return [call for _, call in sorted(zip(order, made.found, strict=True))]

    return harness


class ReturnedMemory:
    """The memory that calls returned, and which call did. number: of the call under way."""

    def __init__(self):
        self.number, self._torch = 0, sys.modules.get("torch")
        self._calls: dict[tuple, tuple[Any, set[int]]] = {}  # what it is, kept alive, and the numbers of the calls

    def watching(self, function: Callable) -> Callable:
        """The function, with what it returns noted, but for what was and is part of its arguments."""
        return _Watched(function, self)

    def of(self, function: Callable, arguments: tuple, named: dict) -> Any:
        """The result of one call."""
        given = [*arguments, *named.values()]
        own = dict(self._parts(given))
        result = function(*arguments, **named)
        own |= self._parts(given)
        for key, part in self._parts(result):
            if key not in own:
                self._calls.setdefault(key, (part, set()))[1].add(self.number)
        return result

    def twice(self) -> set[int]:
        """The numbers of the calls that returned what an earlier one had returned."""
        return {number for _, numbers in self._calls.values() for number in numbers if number > min(numbers)}

    def _parts(self, value: Any) -> Iterator[tuple[tuple, Any]]:
        """All in a value that can be changed in place, each once, by what identifies it: lists, dicts, sets, and the
        memory of tensors and arrays. Of a module its parameters, their gradients and its buffers."""
        stack, met = [value], set()
        while stack and len(met) < _MOST:
            value = stack.pop()
            if id(value) in met:
                continue
            met.add(id(value))
            if isinstance(value, (list, set, bytearray, dict)):
                yield ("object", id(value)), value
            if isinstance(value, dict):
                stack += value.values()
            elif isinstance(value, (list, tuple, set)):
                stack += value
            elif isinstance(value, np.ndarray):
                while isinstance(value.base, np.ndarray):
                    value = value.base
                if value.size:
                    yield ("memory", value.__array_interface__["data"][0]), value
            elif self._torch is not None:
                yield from self._of_torch(value, stack)

    def _of_torch(self, value: Any, stack: list) -> Iterator[tuple[tuple, Any]]:
        if isinstance(value, self._torch.nn.Module):
            stack += [*value.parameters(), *value.buffers()]
        elif isinstance(value, self._torch.Tensor):
            if value.numel() and value.layout == self._torch.strided:
                yield ("memory", value.untyped_storage().data_ptr()), value
            if value.is_leaf and value.grad is not None:
                stack.append(value.grad)


class _Watched:
    """A function whose results are noted. Whatever else is asked of it, the function itself answers."""

    def __init__(self, function: Callable, seen: ReturnedMemory):
        self.__wrapped__, self._seen = function, seen

    def __getattr__(self, name: str):
        return getattr(self.__dict__["__wrapped__"], name)

    def __call__(self, *arguments, **named):
        return self._seen.of(self.__wrapped__, arguments, named)


class Refill:
    """Values put into objects that calls were given before. calls: of the function that shall get them; given: the
    arguments of the earlier calls."""

    def __init__(self, calls: Calls, given: list[list]):
        self.calls, self.torch, self.used = calls, calls.torch, set()
        self.given = [[(one, calls.encoded(one)) for one in arguments] for arguments in given]

    def arguments(self, new: list, first: int = 0) -> list:
        """The arguments of a call: for each value of `new` an object that held another one, of the earlier call number
        `first` or the next one that has such an object; the value itself where none has."""
        return [self._argument(place, value, first) for place, value in enumerate(new)]

    def _argument(self, place: int, value: Any, first: int) -> Any:
        wanted = self.calls.encoded(value)
        if wanted is None:
            return value
        for arguments in self.given[first:] + self.given[:first]:
            old, held = arguments[place] if place < len(arguments) else (None, None)
            if type(old) is not type(value) or held == wanted:
                continue
            self.used.clear()
            try:
                filled = self.filled(old, value)
            except (TypeError, ValueError, RuntimeError):
                continue
            if filled is not value and self.calls.encoded(filled) == wanted:
                return filled
        return value

    def filled(self, old: Any, new: Any) -> Any:
        """`old` with the values of `new`, or `new` where that cannot be."""
        if type(old) is not type(new) or id(old) in self.used or isinstance(old, (bool, int, float, str, type(None))):
            return new
        self.used.add(id(old))
        if isinstance(new, list):
            pairs = [self.filled(one, other) for one, other in zip(old, new, strict=False)]
            old[:] = pairs + new[len(pairs) :]
        elif isinstance(new, dict):
            values = {key: self.filled(old[key], value) if key in old else value for key, value in new.items()}
            old.clear()
            old.update(values)
        elif type(new) is tuple:
            return tuple(self.filled(one, other) for one, other in zip(old, new, strict=False)) + new[len(old) :]
        elif isinstance(new, np.ndarray):
            return self._array(old, new)
        elif self.torch is not None and isinstance(new, self.torch.Tensor):
            return self._tensor(old, new)
        else:
            return new
        return old

    @staticmethod
    def _array(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        if old.shape != new.shape or old.dtype != new.dtype or old.strides != new.strides or not old.flags.writeable:
            return new
        np.copyto(old, new)
        return old

    def _tensor(self, old: Any, new: Any) -> Any:
        alike = old.shape == new.shape and old.dtype == new.dtype and old.stride() == new.stride()
        if not alike or old.requires_grad or new.requires_grad or old.grad is not None:
            return new
        with self.torch.no_grad():
            old.copy_(new)
        return old
