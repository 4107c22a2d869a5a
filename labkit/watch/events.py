"""Events, what one rank did or waits for: the vocabulary shared by the relay, the flight recorder, the hang report and
the timeline."""

from __future__ import annotations

from dataclasses import dataclass

POINT_TO_POINT = ("send", "recv")
DEATH = "death"  # of a rank's process: a moment
COMPUTE = "compute"  # what a rank does by itself: it has no partner, moves no bytes, and starts when it is called


@dataclass(frozen=True)
class Event:
    """One operation of one rank, from the moment it was called to the moment it completed.

    Times are in seconds (virtual seconds for the relay, wall-clock seconds since the start of the cell for real ranks).
    """

    rank: int
    kind: str  # "send", "recv", "all_reduce", "broadcast", "barrier", ..., COMPUTE or DEATH
    posted: float  # when the rank called it
    started: float | None  # when the bytes began to move (every partner was there); None: never
    ended: float | None  # when it completed on this rank; None: it never did
    peer: int | None = None  # the other rank of a send or recv; the root of a rooted collective; None: any or all
    tag: int = 0
    nbytes: int = 0  # bytes this rank handed over (send, collectives) or received (recv)
    group: tuple[int, ...] | None = None  # global ranks of the group of a collective
    line: str = ""  # where the call stands: "cell 7, line 3" or "pi.py, line 12"
    match: int | None = None  # the same number on both ends of a message, or on all members of one collective
    label: str = ""  # what is computed: "F3" and "B3", micro-batch 3 forward and backward
    dtype: str = ""  # of what was handed over, for example "float32"; "" where nobody knows
    refused: bool = False  # it never completed, as a rank that it needed had died, and its rank was told so
    squares: float | None = None  # the sum of the squares of the float64 numbers handed over; None: not asked for
    varied: float | None = None  # different values among those handed over (a sample), 0 to 1; None: not asked for


@dataclass(frozen=True)
class RankState:
    """The state of one rank when a program is looked at: the row of a hang report."""

    rank: int
    state: str  # "waiting" (inside a communication call), "running", "returned", "raised", "dead"
    kind: str = ""  # the operation it waits in
    peer: int | None = None  # None with kind "recv": any source
    tag: int = 0
    nbytes: int = 0
    dtype: str = ""  # "float32"
    shape: tuple[int, ...] | None = None
    group: tuple[int, ...] | None = None  # global ranks; None: all ranks
    line: str = ""
    operations: int = 0  # how many operations it has completed
    detail: str = ""  # the exception of a rank that raised, the signal of a dead one
