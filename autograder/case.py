"""Cases and what came of them, as data: what goes in, what each rank did, and the values that stand for the special
ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labkit.interconnect.topology import Topology, flat
from labkit.relay.wire import COMM, Opaque, Tensor

__all__ = ["ANYTHING", "Answer", "COMM", "Case", "Finding", "Opaque", "RankRun", "Run", "Tensor", "Typed", "name_of"]


class _Sentinel:
    def __init__(self, name: str):
        self._name = name

    def __repr__(self) -> str:
        return self._name


# An expected value that is not looked at (for example on the ranks that are not the root).
ANYTHING = _Sentinel("anything")  # as a card shows it


@dataclass(frozen=True)
class Typed:
    """An expected numpy array whose dtype counts as well as its values, because the text asks for it. (A `Tensor`'s
    always counts.)
    """

    values: np.ndarray


@dataclass(frozen=True)
class Answer:
    """The answer to what the ranks of a case may ask for (`labkit.relay.charging.ask`), one question at a time.

    tell: from what is asked for to (virtual seconds that it costs the rank, a label for the timeline, the answer).
    form: of the question, a list: for each of its members the range that a whole number lies in, or the shape and dtype
        of an array. A list in place of a number would ask for much at the price of one.
    """

    tell: Callable[..., tuple[float, str, Any]]
    form: tuple[range | tuple[tuple[int, ...], str], ...]

    def __call__(self, question: Any) -> tuple[float, str, Any]:
        """Raises ValueError for a question of another form."""
        if type(question) is not list or len(question) != len(self.form):
            raise ValueError(f"a question has {len(self.form)} parts")
        for part, form in zip(question, self.form, strict=True):
            if isinstance(form, range):
                if type(part) is not int or part not in form:
                    raise ValueError(f"a part of a question is a whole number in {form}")
            elif type(part) is not np.ndarray or (part.shape, part.dtype) != (form[0], np.dtype(form[1])):
                raise ValueError(f"a part of a question is an array of {form[1]}, of shape {form[0]}")
        return self.tell(*question)


@dataclass(frozen=True)
class Case:
    """One run of the student's function on `world_size` ranks.

    arguments: one tuple of positional arguments per rank, or a single tuple that every rank gets. An argument is None,
        a bool, a number, a string, a list, tuple or dict of such, a numpy array (the rank gets a numpy array), a
        `Tensor` (the rank gets a torch tensor), or `COMM` (the rank gets its mpi4py communicator; runtime "mpi4py").
    says: what the card tells about the case, for example "n = 10, float64".
    known: anything `expected` and the diagnoses need to remember; never sent to the ranks.
    late: ranks that start only when all others wait or have returned. Makes "it worked because it happened to be first"
        fail.
    rtol, atol: tolerance of floating-point comparisons; integers are compared exactly. None: what the type of the
        expected value promises (`autograder.compare.TOLERANCES`), so that float64 is not mistaken for float32. Sums in
        another order pass.
    network: the relay's, in virtual time (`labkit.interconnect.topology`).
    kills: rank -> the operation, counted from 0, in place of which its process dies (`labkit.relay.progress`); what is
        expected of it is not looked at.
    answers: name -> what the ranks may ask for (`labkit.relay.charging.ask`) and none of them holds. Where a rank would
        have to hold what others compute, it could compute it itself and not be charged. The name, from `name_of`, is an
        argument of the case.
    ranks_per_node: runtime "horovod": `hvd.local_rank()` counts within nodes of so many ranks; 0: all ranks on one
        node.
    """

    level: str
    world_size: int
    arguments: Any
    says: str = ""
    known: dict[str, Any] = field(default_factory=dict)
    late: tuple[int, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    network: Topology = flat()
    kills: dict[int, int] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    ranks_per_node: int = 0

    def arguments_of(self, rank: int) -> tuple:
        return self.arguments[rank] if isinstance(self.arguments, list) else self.arguments


def name_of(*data: Any) -> str:
    """A name for a case's answers, as its data decides: another case's cannot be guessed."""
    plain = [one.tolist() if isinstance(one, np.ndarray) else one for one in data]
    return hashlib.sha256(repr(plain).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Finding:
    """A diagnosis reached from facts rather than from the returned values; `detail` is shown before its `why`."""

    diagnosis: str
    detail: str = ""


@dataclass(frozen=True)
class RankRun:
    """The record of one rank. value: what it returned, as plain data (`Tensor`, numpy array, number, list, dict ...).

    after: its positional arguments as they were when the function had returned (same plain data). changed: those that
        the student's function has changed, as its process saw it (`labkit.launch.arguments.Change`).
    printed: what it printed. sends, sent_bytes: point-to-point messages it sent. recvs, received_bytes: those it
        received.
    collectives: names of the collectives it called, in order ("all_reduce", "broadcast", ...).
    collective_bytes: bytes it handed to them. finish: virtual time at which it returned, seconds.
    unwaited: isend/irecv and asynchronous collectives it never waited for. carried: bytes it handed to Horovod's
        collectives; infinite where it called MPI more often than can be recorded.
    busy: virtual seconds of computing that the harness has charged. memory: what it has counted, as (virtual seconds,
        bytes alive from then on). gone: whether its process was killed (`Case.kills`).
    """

    value: Any
    after: tuple = ()
    changed: tuple[dict[str, str], ...] = ()
    printed: str = ""
    sends: int = 0
    sent_bytes: int = 0
    recvs: int = 0
    received_bytes: int = 0
    collectives: tuple[str, ...] = ()
    collective_bytes: int = 0
    finish: float = 0.0
    unwaited: int = 0
    carried: float = 0.0
    busy: float = 0.0
    memory: tuple[tuple[float, int], ...] = ()
    gone: bool = False

    @property
    def peak(self) -> int:
        """The most bytes that were alive at a time."""
        return max((nbytes for _, nbytes in self.memory), default=0)


@dataclass(frozen=True)
class Run:
    """The record of a case that ran: one `RankRun` per rank, all printed lines in their causal order, and the virtual
    time it took.

    printed: [(rank, line), ...]. elapsed: virtual seconds until the last rank returned. events:
        `labkit.watch.events.Event` list. link_bytes: that went over links "inside" nodes and "between" them; of a
        collective, what the library's algorithm sends.
    """

    ranks: tuple[RankRun, ...]
    printed: tuple[tuple[int, str], ...] = ()
    elapsed: float = 0.0
    events: tuple = ()
    link_bytes: dict[str, float] = field(default_factory=dict)

    def uncharged(self, each: float = 0.0, together: float = 0.0) -> str:
        """A sentence if ranks say that they computed for less virtual time than their work takes; "" if they do not.

        each: s that every rank alive has to compute. together: s that all ranks have to compute, the dead included.
        """
        busy = [rank.busy for rank in self.ranks]
        for r, rank in enumerate(self.ranks):
            if rank.busy < each - 1e-9 and not rank.gone:
                return f"rank {r} says that it computed for {rank.busy * 1e3:g} ms; its work takes {each * 1e3:g} ms"
        if sum(busy) < together - 1e-9:
            return f"the ranks say that they computed for {sum(busy) * 1e3:g} ms; the work takes {together * 1e3:g} ms"
        return ""
