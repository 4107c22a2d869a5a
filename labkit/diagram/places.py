"""The places of ranks, times and operations on the page of a space-time diagram."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from labkit.diagram.shapes import LEFT, RIGHT, RIGHT_WHEN_STUCK, RIGHT_WITH_MEMORY, WIDTH
from labkit.watch.events import COMPUTE, Event

OPERATIONS_PER_RANK = 40  # more blocks than this on one lane cannot be told apart
# Blocks of computing give a lane its order: some messages beside each can be told apart, too, up to a limit.
OPERATIONS_PER_BLOCK, OPERATIONS_BESIDE_COMPUTING = 4, 240
OPERATIONS = 8000  # beside computing, on all lanes together: a page of more than 2 MB opens slowly
ROUNDING = 1e-9  # of the length of a picture: by so little does no block of computing overlap another
TRACKS = 4  # operations of one rank at the same time that get a row of their own

Memory = list[list[tuple[float, float]]]  # one step function per rank: (seconds, bytes from then on), in order of time


@dataclass(frozen=True)
class Scales:
    """The scales that several diagrams have in common, so that they can be compared: seconds at the left and at the
    right edge of the lanes, and the bytes of the highest curve."""

    start: float
    stop: float
    bytes: float = 0.0


@dataclass(frozen=True)
class Frame:
    """The places of ranks and times on the page."""

    world_size: int
    start: float  # seconds at the left edge of the lanes
    stop: float  # seconds at the right edge
    last: float  # the last time anything happened
    top: float
    right: float
    any_time: bool  # False: everything happened at one moment
    two_rows: bool = False  # computing lies above what is communicated meanwhile
    memory: bool = False  # below each lane lies a curve

    @property
    def lane_height(self) -> float:
        return min(76.0, max(12.0, 110 / math.sqrt(self.world_size)))

    @property
    def curve_height(self) -> float:
        return max(10.0, 0.6 * self.lane_height) if self.memory else 0.0

    @property
    def pitch(self) -> float:
        """From one rank to the next."""
        return self.lane_height + self.curve_height

    @property
    def block(self) -> float:
        return (0.72 if self.two_rows else 0.55) * self.lane_height

    @property
    def bottom(self) -> float:
        return self.top + self.pitch * self.world_size

    def x(self, time: float) -> float:
        share = (time - self.start) / (self.stop - self.start)
        return LEFT + share * (self.right - LEFT)

    def lane(self, rank: int) -> tuple[float, float]:
        """Top and bottom of the blocks of a rank."""
        middle = self.top + self.lane_height * (rank + 0.5) + self.curve_height * rank
        return middle - self.block / 2, middle + self.block / 2

    def row(self, event: Event) -> tuple[float, float]:
        """Top and bottom of the part of the lane that is for operations like this one."""
        top, bottom = self.lane(event.rank)
        if not self.two_rows:
            return top, bottom
        border = top + 0.55 * (bottom - top)
        return (top, border) if event.kind == COMPUTE else (border, bottom)

    def curve(self, rank: int) -> tuple[float, float]:
        """Top and bottom of the curve of a rank."""
        bottom = self.top + self.pitch * (rank + 1)
        return bottom - self.curve_height + 1, bottom - 3


def number_of_ranks(events: list[Event], world_size: int | None) -> int:
    """At least `world_size`, and as many as the events name."""
    named = [e.rank for e in events] + [e.peer for e in events if e.peer is not None]
    named += [rank for e in events if e.group for rank in e.group]
    return max([world_size or 1, *(rank + 1 for rank in named)])


def readable_part(events: list[Event]) -> tuple[list[Event], str]:
    """As many operations as one can tell apart, and a note when these are not all: a window of time in which no rank
    has more of them than `_limit` allows.

    The window lies at the beginning, or at the end when something there never finished: that is where one has to look.
    """
    per_rank = _per_rank(events)
    limits = {rank: _limit(of_rank, len(per_rank)) for rank, of_rank in per_rank.items()}
    crowded = {rank: of_rank for rank, of_rank in per_rank.items() if len(of_rank) > limits[rank]}
    if not crowded:
        return events, ""
    if any(e.ended is None for e in events):
        since = max(of_rank[-limits[rank]].posted for rank, of_rank in crowded.items())
        unfinished = {
            id(e) for rank, of_rank in per_rank.items() for e in [e for e in of_rank if e.ended is None][: limits[rank]]
        }
        shown = [e for e in events if e.posted >= since or id(e) in unfinished]
        if len(shown) > 2 * sum(limits.values()):  # posted all at one moment
            shown = [e for e in events if id(e) in unfinished]
        return shown, f"the last {len(shown)} of {len(events)} operations"
    until = min(of_rank[limits[rank]].posted for rank, of_rank in crowded.items())
    shown = [e for e in events if e.posted < until]
    # Operations posted all at one moment cannot be cut by time.
    shown = shown or [e for rank, of_rank in per_rank.items() for e in of_rank[: limits[rank]]]
    return shown, f"the first {len(shown)} of {len(events)} operations"


def _limit(of_rank: list[Event], lanes: int) -> int:
    """The number of operations of this rank that can be told apart."""
    blocks = sum(e.kind == COMPUTE for e in of_rank)
    most = min(OPERATIONS_BESIDE_COMPUTING, max(OPERATIONS_PER_RANK, OPERATIONS // lanes))
    return min(OPERATIONS_PER_RANK + OPERATIONS_PER_BLOCK * blocks, most)


def frame_of(
    events: list[Event],
    world_size: int,
    top: float,
    curves: Memory | None = None,
    *,
    memory: bool = False,
    scales: Scales | None = None,
) -> Frame:
    """The frame of these events. top: of the lanes, in pixels; curves: what else has to fit into the frame; memory:
    whether there is room for curves; scales: of several diagrams."""
    times = [t for e in events for t in (e.posted, e.started, e.ended) if t is not None]
    # What a rank holds from the beginning is no reason to begin there.
    times += [t for points in curves or () for t, _ in (points[-1:] if events else points)]
    first, last = min(times, default=0.0), max(times, default=0.0)
    # Ranks often compute long before they talk for the first time: begin where something is to be seen.
    start = 0.0 if 0 <= first <= 0.25 * last else first
    any_time = last > start
    span = last - start if any_time else 1e-6
    stuck = any(e.ended is None for e in events)
    stop = start + span * (1.12 if stuck else 1.0)
    if scales is not None:
        start, stop = min(start, scales.start), max(stop, scales.stop)
    right = WIDTH - (RIGHT_WHEN_STUCK if stuck else RIGHT_WITH_MEMORY if memory else RIGHT)
    two_rows = any(_computes_meanwhile(of_rank, ROUNDING * span) for of_rank in _per_rank(events).values())
    return Frame(world_size, start, stop, last, top, right, any_time, two_rows, memory)


def _per_rank(events: list[Event]) -> dict[int, list[Event]]:
    per_rank: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        per_rank[event.rank].append(event)
    return per_rank


def _computes_meanwhile(of_rank: list[Event], slack: float) -> bool:
    """True if one rank computes during its communication. of_rank: in order of time; slack: seconds of overlap that do
    not count."""
    until = {True: -math.inf, False: -math.inf}
    for event in of_rank:
        computing = event.kind == COMPUTE
        if event.posted + slack < until[not computing]:
            return True
        until[computing] = max(until[computing], _end(event))
    return False


@dataclass(frozen=True)
class Place:
    """The place of a block: from left through move (bytes begin to move) to right, between top and bottom."""

    left: float
    move: float
    right: float
    top: float
    bottom: float


def places_of(events: list[Event], frame: Frame) -> dict[int, Place]:
    """The place of every event (by id). Operations of one rank that overlap in time share the height of its lane, or of
    their row in it."""
    places = {}
    computing = any(e.kind == COMPUTE for e in events)
    slack = ROUNDING * (frame.stop - frame.start) if computing else 0.0
    for part in _parts(events, frame):
        tracks, counts = _tracks(part, slack)
        for event in part:
            left = frame.x(event.posted)
            right = frame.right if event.ended is None else max(frame.x(event.ended), left + 2.0)
            move = right if event.started is None else min(max(frame.x(event.started), left), right)
            top, bottom = frame.row(event)
            height = (bottom - top) / counts[id(event)]
            top += height * tracks[id(event)]
            places[id(event)] = Place(left, move, right, top, top + height)
    return places


def _parts(events: list[Event], frame: Frame) -> list[list[Event]]:
    """Events that compete for the same height."""
    if not frame.two_rows:
        return [events]
    return [[e for e in events if e.kind == COMPUTE], [e for e in events if e.kind != COMPUTE]]


def _tracks(events: list[Event], slack: float) -> tuple[dict[int, int], dict[int, int]]:
    """By event (its id): its row within the lane, and the number of rows its lane is divided into while it lasts.

    slack: seconds of overlap that do not count.
    """
    rows, counts = {}, {}
    for of_rank in _per_rank(events).values():
        for together in _at_the_same_time(of_rank, slack):
            busy_until: list[float] = []
            for event in together:
                free = next(
                    (row for row, until in enumerate(busy_until) if until <= event.posted + slack), len(busy_until)
                )
                row = min(free, TRACKS - 1)
                busy_until[row : row + 1] = [max([_end(event), *busy_until[row : row + 1]])]
                rows[id(event)] = row
            counts |= {id(event): len(busy_until) for event in together}
    return rows, counts


def _at_the_same_time(events: list[Event], slack: float) -> list[list[Event]]:
    """The operations of one rank in runs that overlap in time."""
    runs: list[list[Event]] = []
    until = -math.inf
    for event in events:
        if event.posted + slack >= until:
            runs.append([])
        runs[-1].append(event)
        until = max(until, _end(event))
    return runs


def _end(event: Event) -> float:
    return math.inf if event.ended is None else event.ended


def outline(left: float, right: float, place: Place, torn: bool) -> tuple[tuple[float, float], ...]:
    """A rectangle; torn off at its right end when the operation never finished."""
    if not torn:
        return ((left, place.top), (right, place.top), (right, place.bottom), (left, place.bottom))
    step = (place.bottom - place.top) / 6
    depth = min(5.0, (right - left) / 2)
    edge = [(right - (depth if i % 2 else 0), place.top + i * step) for i in range(7)]
    return ((left, place.top), *edge, (left, place.bottom))
