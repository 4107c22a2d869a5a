"""The calls of a right answer, one after the other in one process, and what passes from one to another: values that it
keeps, memory that it returns twice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from labkit.launch.rank_program import Surroundings
from labkit.relay import wire

RETURNED, RAISED = "returned", "raised"  # how a call ended
CHANGED, SHARED = "changed", "shared"  # what was seen of its result later
_MOST = 100_000  # parts of a result that are looked at


class Calls:
    """A function's calls, each begun with the settings that the process had at first.

    function: the student's. own: the exercise's harness around it, None where it is called directly. found: of each
    call how it ended, what came back or the exception's type, and the arguments afterwards. at_once: the same result as
    it was sent when the call had ended, None where it cannot be sent.
    """

    def __init__(self, function: Callable, own: Callable | None):
        self.torch = sys.modules.get("torch")
        self.surroundings = Surroundings(self.torch)
        self.noted = _Noted(function, self.torch)
        self.one = (lambda *arguments: own(self.noted, *arguments)) if own else self.noted
        self.found: list[list] = []
        self.at_once: list[tuple | None] = []

    def call(self, arguments: list) -> None:
        """Calls the function with these arguments, and notes what came of it. Tells the judge the number of the call:
        it may be one without an end."""
        sys.stdout.write(f"call {len(self.found)}\n")
        self.surroundings.restore_settings()
        for communicator in [given for given in arguments if hasattr(given, "Barrier")]:
            communicator.Barrier()  # a receive from anybody takes no message of the next call
        ranks = getattr(self.torch, "distributed", None)
        if self.found and ranks is not None and ranks.is_available() and ranks.is_initialized():
            ranks.barrier()
        self.noted.begin(len(self.found))
        try:
            value = self.noted.of(self.one, arguments)
            self.found.append([RETURNED, value, list(arguments)])
        except BaseException as error:
            self.found.append([RAISED, type(error).__name__, []])
        self.at_once.append(self.encoded(self.found[-1][1]))

    def encoded(self, value: Any) -> tuple | None:
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
        for call in self.found:
            sent = self.encoded(call[1:])
            if sent is not None:
                call[1:] = wire.decode(*sent)


def in_order(own: Callable | None) -> Callable[[Callable, list[list]], list[list]]:
    """The harness that makes calls one after the other, each with arguments of its own."""

    def harness(function: Callable, calls: list[list]) -> list[list]:
        made = Calls(function, own)
        for arguments in calls:
            made.call(arguments)
        made.look_once_more()
        return made.found

    return harness


def repeated(own: Callable | None) -> Callable[[Callable, list[list]], list[list]]:
    """The harness for triples of arguments: other ones, those of a case, and the case's once more.

    When the first two of all triples are over, the third is called with the *objects* of the first, in which its values
    have been put. A function that knows an object again by its identity returns then what was right for other values,
    and one that knows the values again must not return the object which it has returned before: its caller may have
    changed that."""

    def harness(function: Callable, calls: list[list]) -> list[list]:
        made = Calls(function, own)
        first = [k for k in range(len(calls)) if k % 3 < 2]
        for k in first:
            made.call(calls[k])
        made.look_once_more()
        made.settle()
        for k in range(2, len(calls), 3):
            made.call(Refill(made).arguments(calls[k - 2], calls[k]))
        found = dict(zip([*first, *range(2, len(calls), 3)], made.found, strict=True))
        for k in made.noted.shared():
            call = made.found[k]
            call[:] = [SHARED, "", []] if call[0] == RETURNED else call
        return [found[k] for k in range(len(calls))]

    return harness


class _Noted:
    """The function; what its calls returned stays here, so that memory which comes back twice is seen. Whatever else is
    asked of it, the function itself answers."""

    def __init__(self, function: Callable, torch=None):
        self.__wrapped__ = function
        self._torch, self._number, self._seen = torch, 0, {}

    def __getattr__(self, name: str):
        return getattr(self.__dict__["__wrapped__"], name)

    def __call__(self, *arguments, **named):
        return self.of(self.__wrapped__, arguments, named)

    def begin(self, number: int) -> None:
        """From here on it is the call of that number."""
        self._number = number

    def of(self, function: Callable, arguments: Sequence, named: dict | None = None) -> Any:
        """The result of a function, when its parts are noted that were and are no part of the arguments."""
        given = [*arguments, *(named or {}).values()]
        own = dict(self._parts(given))
        result = function(*arguments, **(named or {}))
        own |= self._parts(given)
        for key, part in self._parts(result):
            if key not in own:
                self._seen.setdefault(key, (part, set()))[1].add(self._number)
        return result

    def shared(self) -> set[int]:
        """The numbers of the calls that returned what an earlier one had returned."""
        return {number for _, numbers in self._seen.values() for number in numbers if number > min(numbers)}

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


class Refill:
    """Values put into objects that were there before. calls: of the function that shall get them."""

    def __init__(self, calls: Calls):
        self.calls, self.torch, self.used = calls, calls.torch, set()

    def arguments(self, old: list, new: list) -> list:
        """The arguments of a call: an object of `old` wherever it can hold what stands in `new`; `new` itself
        otherwise, and where the two would not be the same."""
        wanted = self.calls.encoded(new)
        try:
            filled = [self.filled(one, other) for one, other in zip(old, new, strict=True)]
        except (TypeError, ValueError, RuntimeError):
            return new
        return filled if wanted is not None and self.calls.encoded(filled) == wanted else new

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
