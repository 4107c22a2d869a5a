"""Where everything lies in a space-time diagram: lanes, blocks, arrows, bands and texts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from labkit.diagram.shapes import (
    COLLECTIVE,
    COLOURS,
    LEFT,
    RIGHT,
    RIGHT_WHEN_STUCK,
    SMALL,
    STUCK,
    TEXT,
    WIDTH,
    Diagram,
    Label,
    Line,
    Polygon,
)
from labkit.diagram.words import in_words, matched, time_in_words, time_unit
from labkit.palette import FAINT, GREY, INK, VERMILLION, tint
from labkit.watch.events import POINT_TO_POINT, Event

OPERATIONS_PER_RANK = 40  # more blocks than this on one lane cannot be told apart
TRACKS = 4  # operations of one rank at the same time that get a row of their own
LABELLED_ARROWS = 80


@dataclass(frozen=True)
class _Frame:
    """Where ranks and times lie on the page."""

    world_size: int
    start: float  # seconds at the left edge of the lanes
    stop: float  # seconds at the right edge
    last: float  # the last time anything happened
    top: float
    right: float
    any_time: bool  # False: everything happened at one moment

    @property
    def pitch(self) -> float:
        return min(76.0, max(12.0, 110 / math.sqrt(self.world_size)))

    @property
    def block(self) -> float:
        return 0.55 * self.pitch

    @property
    def bottom(self) -> float:
        return self.top + self.pitch * self.world_size

    def x(self, time: float) -> float:
        share = (time - self.start) / (self.stop - self.start)
        return LEFT + share * (self.right - LEFT)

    def lane(self, rank: int) -> tuple[float, float]:
        """Top and bottom of the blocks of a rank."""
        middle = self.top + self.pitch * (rank + 0.5)
        return middle - self.block / 2, middle + self.block / 2


def layout(events: Iterable[Event], world_size: int | None = None, *, title: str | None = None) -> Diagram:
    """Place lanes, blocks, arrows, bands and texts; see the module's docstring for what they mean."""
    everything = matched(events)
    ranks = _number_of_ranks(everything, world_size)
    shown, note = _readable_part(everything)
    frame = _frame(shown, ranks, bool(title), note != "")
    unit, scale = time_unit(frame.last - frame.start)
    places = _places(shown, frame)
    stuck = {id(e): _waits_for(e, everything, ranks) for e in everything if e.ended is None}

    shapes = [*_lanes(frame), *_bands(shown, places), *_blocks(shown, places, frame)]
    arrows = _arrows(shown, places, frame)
    shapes += [shape for shape in arrows if isinstance(shape, Line)]
    shapes += _over_arrows(_block_labels(shown, places), shapes)
    shapes += [shape for shape in arrows if isinstance(shape, Label)]
    shapes += _stuck_labels(shown, stuck, frame)
    shapes += _axis(frame, unit, scale)
    shapes += _legend(shown, frame)
    if title:
        shapes.append(Label("title", WIDTH / 2, 16, _short(title, 80), TEXT + 1, "middle", bold=True))
    if note:
        shapes.append(Label("note", WIDTH / 2, frame.top - 14, note, SMALL, "middle", GREY))
    if not shown:
        middle = (frame.top + frame.bottom) / 2
        shapes.append(Label("note", (LEFT + frame.right) / 2, middle, "no communication", TEXT, "middle", GREY))
    height = frame.bottom + 44 + (24 if shown else 0)
    description = _describe(everything, ranks, stuck, note)
    name = _short(title or "Space-time diagram", 80)
    return Diagram(WIDTH, height, tuple(shapes), name, description, unit, len(shown), len(everything))


def _number_of_ranks(events: list[Event], world_size: int | None) -> int:
    named = [e.rank for e in events] + [e.peer for e in events if e.peer is not None]
    named += [rank for e in events if e.group for rank in e.group]
    return max([world_size or 1, *(rank + 1 for rank in named)])


def _readable_part(events: list[Event]) -> tuple[list[Event], str]:
    """As many operations as one can tell apart: a window of time in which no rank has more than OPERATIONS_PER_RANK of
    them.

    The window lies at the beginning, or at the end when something there never finished: that is where one has to look.
    """
    per_rank: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        per_rank[event.rank].append(event)
    if all(len(of_rank) <= OPERATIONS_PER_RANK for of_rank in per_rank.values()):
        return events, ""
    if any(e.ended is None for e in events):
        since = max(
            of_rank[-OPERATIONS_PER_RANK].posted for of_rank in per_rank.values() if len(of_rank) > OPERATIONS_PER_RANK
        )
        shown = [e for e in events if e.posted >= since or e.ended is None]
        return shown, f"the last {len(shown)} of {len(events)} operations"
    until = min(
        of_rank[OPERATIONS_PER_RANK].posted for of_rank in per_rank.values() if len(of_rank) > OPERATIONS_PER_RANK
    )
    shown = [e for e in events if e.posted < until]
    # Operations posted all at one moment cannot be cut by time.
    shown = shown or [e for of_rank in per_rank.values() for e in of_rank[:OPERATIONS_PER_RANK]]
    return shown, f"the first {len(shown)} of {len(events)} operations"


def _frame(events: list[Event], world_size: int, has_title: bool, has_note: bool) -> _Frame:
    times = [t for e in events for t in (e.posted, e.started, e.ended) if t is not None]
    first, last = min(times, default=0.0), max(times, default=0.0)
    # Ranks often compute long before they talk for the first time: begin where something is to be seen.
    start = 0.0 if 0 <= first <= 0.25 * last else first
    any_time = last > start
    span = last - start if any_time else 1e-6
    stuck = any(e.ended is None for e in events)
    stop = start + span * (1.12 if stuck else 1.0)
    top = 12 + (22 if has_title else 0) + (18 if has_note else 0)
    return _Frame(world_size, start, stop, last, top, WIDTH - (RIGHT_WHEN_STUCK if stuck else RIGHT), any_time)


@dataclass(frozen=True)
class _Place:
    """Where a block lies: from left through move (bytes begin to move) to right, between top and bottom."""

    left: float
    move: float
    right: float
    top: float
    bottom: float


def _places(events: list[Event], frame: _Frame) -> dict[int, _Place]:
    """The place of every event (by id). Operations of one rank that overlap in time share the height of its lane."""
    tracks, counts = _tracks(events)
    places = {}
    for event in events:
        left = frame.x(event.posted)
        right = frame.right if event.ended is None else max(frame.x(event.ended), left + 2.0)
        move = right if event.started is None else min(max(frame.x(event.started), left), right)
        top, bottom = frame.lane(event.rank)
        height = (bottom - top) / counts[id(event)]
        top += height * tracks[id(event)]
        places[id(event)] = _Place(left, move, right, top, top + height)
    return places


def _tracks(events: list[Event]) -> tuple[dict[int, int], dict[int, int]]:
    """By event (its id): its row within the lane, and the number of rows its lane is divided into while it lasts."""
    rows, counts = {}, {}
    per_rank: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        per_rank[event.rank].append(event)
    for of_rank in per_rank.values():
        for together in _at_the_same_time(of_rank):
            busy_until: list[float] = []
            for event in together:
                free = next((row for row, until in enumerate(busy_until) if until <= event.posted), len(busy_until))
                row = min(free, TRACKS - 1)
                busy_until[row : row + 1] = [max([_end(event), *busy_until[row : row + 1]])]
                rows[id(event)] = row
            counts |= {id(event): len(busy_until) for event in together}
    return rows, counts


def _at_the_same_time(events: list[Event]) -> list[list[Event]]:
    """The operations of one rank in runs that overlap in time."""
    runs: list[list[Event]] = []
    until = -math.inf
    for event in events:
        if event.posted >= until:
            runs.append([])
        runs[-1].append(event)
        until = max(until, _end(event))
    return runs


def _end(event: Event) -> float:
    return math.inf if event.ended is None else event.ended


def _waits_for(event: Event, events: list[Event], world_size: int) -> str:
    """Whom an unfinished operation waits for: "rank 3", "ranks 1, 2", "any rank", or "" when everybody is there."""
    if event.kind in POINT_TO_POINT:
        if event.peer is None:
            return "any rank"
        return "" if event.started is not None else f"rank {event.peer}"
    members = event.group or tuple(range(world_size))
    here = {event.rank} | {e.rank for e in events if e.match is not None and e.match == event.match}
    missing = [rank for rank in members if rank not in here]
    if not missing:
        return ""
    if len(missing) == 1:
        return f"rank {missing[0]}"
    return f"{len(missing)} ranks" if len(missing) > 4 else "ranks " + ", ".join(map(str, missing))


def _lanes(frame: _Frame) -> list[Line | Label]:
    every = next(step for step in (1, 2, 4, 8, 16, 1_000_000) if step * frame.pitch >= 15 or step > frame.world_size)
    shapes: list[Line | Label] = []
    for rank in range(frame.world_size):
        middle = sum(frame.lane(rank)) / 2
        shapes.append(Line("lane", LEFT, middle, frame.right, middle, FAINT))
        if rank % every == 0:
            shapes.append(Label("rank", LEFT - 8, middle, f"rank {rank}", min(TEXT, every * frame.pitch), "end"))
    return shapes


def _colour(event: Event) -> str:
    return COLOURS.get(event.kind, COLLECTIVE)


def _blocks(events: list[Event], places: dict[int, _Place], frame: _Frame) -> list[Polygon]:
    shapes = []
    for event in events:
        place, colour, torn = places[id(event)], _colour(event), event.ended is None
        stroke, width = (VERMILLION, 1.8) if torn else (INK, 0.8)
        if place.move > place.left + 0.5 or event.started is None:
            outline = _outline(place.left, place.move, place, torn and event.started is None)
            shapes.append(Polygon("waiting", outline, tint(colour, 0.75), stroke, hatch=tint(colour, 0.1), width=width))
        if event.started is not None:
            outline = _outline(place.move, place.right, place, torn)
            shapes.append(Polygon("moving", outline, colour, stroke, width=width))
    return shapes


def _outline(left: float, right: float, place: _Place, torn: bool) -> tuple[tuple[float, float], ...]:
    """A rectangle; torn off at its right end when the operation never finished."""
    if not torn:
        return ((left, place.top), (right, place.top), (right, place.bottom), (left, place.bottom))
    step = (place.bottom - place.top) / 6
    depth = min(5.0, (right - left) / 2)
    edge = [(right - (depth if i % 2 else 0), place.top + i * step) for i in range(7)]
    return ((left, place.top), *edge, (left, place.bottom))


def _block_labels(events: list[Event], places: dict[int, _Place]) -> list[Label]:
    """The name of the operation, in its shortest form that fits into the block, or none."""
    shapes = []
    for event in events:
        place = places[id(event)]
        size = min(SMALL + 1, 0.8 * (place.bottom - place.top))
        if size < 9:
            continue
        parts = [(place.left, place.move, True), (place.move, place.right, False)]
        parts.sort(key=lambda part: part[0] - part[1])
        parts.append((place.left, place.right, True))
        fits = ((text, part) for text in _names(event) for part in parts if _width(text, size) <= part[1] - part[0] - 6)
        text, (left, right, halo) = next(fits, ("", (0, 0, False)))
        if text:
            y = (place.top + place.bottom) / 2
            shapes.append(Label("operation", (left + right) / 2, y, text, size, "middle", halo=halo))
    return shapes


def _over_arrows(labels: list[Label], shapes: list[Polygon | Line | Label]) -> list[Label]:
    """The labels of blocks, readable where an arrow passes below them."""
    arrows = [shape for shape in shapes if shape.role == "message"]
    shown = []
    for label in labels:
        half, height = _width(label.text, label.size) / 2, label.size / 2
        box = (label.x - half, label.y - height, label.x + half, label.y + height)
        shown.append(replace(label, halo=True) if any(_crosses(arrow, box) for arrow in arrows) else label)
    return shown


def _names(event: Event) -> list[str]:
    """The name of an operation from long to short."""
    if event.kind == "send":
        return [f"send → {event.peer}", f"→ {event.peer}"]
    if event.kind == "recv":
        source = "any" if event.peer is None else str(event.peer)
        return [f"recv ← {source}", f"← {source}"]
    kind = _short(event.kind, 24)
    return [f"{kind} {in_words(event.nbytes)}", kind] if event.nbytes else [kind]


def _bands(events: list[Event], places: dict[int, _Place]) -> list[Polygon]:
    """Light bands between the blocks of neighbouring members of a collective."""
    calls: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind not in POINT_TO_POINT and event.match is not None:
            calls[event.match].append(event)
    shapes = []
    for members in calls.values():
        members.sort(key=lambda e: e.rank)
        for upper, lower in zip(members, members[1:], strict=False):
            a, b = places[id(upper)], places[id(lower)]
            outline = ((a.move, a.bottom), (a.right, a.bottom), (b.right, b.top), (b.move, b.top))
            shapes.append(Polygon("band", outline, COLLECTIVE, opacity=0.35))
    return shapes


def _messages(events: list[Event]) -> list[tuple[Event, Event]]:
    """Pairs of a send and the recv that got its bytes."""
    sends = {e.match: e for e in events if e.kind == "send" and e.match is not None}
    received = [e for e in events if e.kind == "recv" and e.match in sends and e.ended is not None]
    return [(sends[e.match], e) for e in received]


def _arrows(events: list[Event], places: dict[int, _Place], frame: _Frame) -> list[Line | Label]:
    """From the lane of the sender, when the bytes begin to move, to the lane of the receiver, when they are there."""
    messages = _messages(events)
    arrows, labels = [], []
    width = 1.3 if frame.pitch >= 24 else 0.7
    for send, recv in messages:
        a, b = places[id(send)], places[id(recv)]
        down = recv.rank > send.rank
        y1, y2 = frame.lane(send.rank)[1 if down else 0], frame.lane(recv.rank)[0 if down else 1]
        arrows.append(Line("message", a.move, y1, max(b.right, a.move), y2, arrow=True, width=width))
    taken: list[tuple[float, float, float, float]] = []
    for (send, _), arrow in zip(messages, arrows, strict=True):
        if len(messages) <= LABELLED_ARROWS and abs(arrow.y2 - arrow.y1) >= SMALL + 2:
            labels += _bytes_label(arrow, in_words(send.nbytes), taken, arrows)
    return arrows + labels


def _bytes_label(
    arrow: Line, text: str, taken: list[tuple[float, float, float, float]], arrows: list[Line]
) -> list[Label]:
    """The number of bytes beside an arrow: where no other label stands, and if there is such a place where no other
    arrow passes."""
    width, height = _width(text, SMALL), SMALL
    others = [other for other in arrows if other is not arrow]
    # Near the sender first: an arrow that crosses other lanes passes over their blocks later on.
    near = 14 / max(28.0, abs(arrow.y2 - arrow.y1))
    places = []
    for share in (near, 0.5, 1 - near):
        for anchor in ("start", "end"):
            x = arrow.x1 + share * (arrow.x2 - arrow.x1) + (4 if anchor == "start" else -4)
            y = arrow.y1 + share * (arrow.y2 - arrow.y1)
            left = x if anchor == "start" else x - width
            box = (left, y - height / 2, left + width, y + height / 2)
            free = not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
            if LEFT < left and left + width < WIDTH and free:
                places.append((any(_crosses(other, box) for other in others), len(places), anchor, x, y, box))
    if not places:
        return []
    _, _, anchor, x, y, box = min(places)
    taken.append(box)
    return [Label("bytes", x, y, text, SMALL, anchor, halo=True)]


def _crosses(line: Line, box: tuple[float, float, float, float]) -> bool:
    """Whether a line passes through a box (left, top, right, bottom)."""
    begin, end = 0.0, 1.0  # the stretch of the line that lies between the box's sides so far
    for start, by, low, high in (
        (line.x1, line.x2 - line.x1, box[0], box[2]),
        (line.y1, line.y2 - line.y1, box[1], box[3]),
    ):
        if by == 0:
            if not low < start < high:
                return False
            continue
        first, last = sorted(((low - start) / by, (high - start) / by))
        begin, end = max(begin, first), min(end, last)
    return begin < end


def _stuck_labels(events: list[Event], stuck: dict[int, str], frame: _Frame) -> list[Label]:
    """To the right of a lane: what its unfinished operation waits for, and below it the line where it stands."""
    per_rank: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.ended is None:
            per_rank[event.rank].append(event)
    shapes = []
    for rank, of_rank in per_rank.items():
        middle = sum(frame.lane(rank)) / 2
        size = min(SMALL + 1, frame.pitch)
        partners = list(dict.fromkeys(stuck[id(e)] for e in of_rank))
        text = f"waits for {partners[0]}" if partners[0] else "never finished"
        text += f" (+{len(of_rank) - 1})" if len(of_rank) > 1 else ""
        line = _short(of_rank[0].line, 22)
        two = bool(line) and frame.pitch >= 2.4 * size
        shapes.append(
            Label("stuck", frame.right + 6, middle - (size * 0.62 if two else 0), text, size, colour=STUCK, bold=True)
        )
        if two:
            shapes.append(Label("line", frame.right + 6, middle + size * 0.62, line, SMALL, colour=GREY))
    return shapes


def _axis(frame: _Frame, unit: str, scale: float) -> list[Line | Label]:
    y = frame.bottom + 2
    shapes: list[Line | Label] = [Line("axis", LEFT, y, frame.right, y, GREY)]
    span = (frame.stop - frame.start) * scale
    step = _nice_step(span / 5)
    begin = frame.start  # times count from the first operation when the diagram does not begin at zero
    for i in range(int(span / step * (1 + 1e-9)) + 1 if frame.any_time else 1):
        x = frame.x(begin + i * step / scale)
        shapes.append(Line("mark", x, y, x, y + 5, GREY))
        shapes.append(Label("tick", x, y + 14, f"{round(i * step, 12):g}", SMALL, "middle", GREY))
    since = f" since the first operation, which came after {time_in_words(begin)}" if begin > 0 else ""
    shapes.append(Label("unit", (LEFT + frame.right) / 2, y + 31, f"time ({unit}){since}", SMALL + 1, "middle", INK))
    return shapes


def _nice_step(about: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50 ... (and tenths of these) that is at least `about`."""
    power = 10.0 ** math.floor(math.log10(about))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= about * (1 - 1e-9))


def _legend(events: list[Event], frame: _Frame) -> list[Polygon | Line | Label]:
    """Only what is in the picture."""
    if not events:
        return []
    y, x = frame.bottom + 54, float(LEFT)
    messages = [e for e in events if e.kind in POINT_TO_POINT]
    waiting = [e for e in events if e.started is None or e.started > e.posted]
    moving = [e for e in events if e.started is not None]
    entries = [
        ("waiting", waiting),
        ("bytes move", moving),
        ("message", _messages(events)),
        ("collective", [e for e in events if e not in messages]),
        ("never finished", [e for e in events if e.ended is None]),
    ]
    shapes: list[Polygon | Line | Label] = []
    for name, those in entries:
        if not those:
            continue
        if name == "message":
            shapes.append(Line("legend", x, y, x + 24, y, arrow=True, width=1.3))
        else:
            colours = [COLLECTIVE] if name == "collective" else list(dict.fromkeys(_colour(e) for e in those))
            shapes += _swatch(name, colours, x, y)
        shapes.append(Label("legend", x + 30, y, name, SMALL))
        x += 30 + _width(name, SMALL) + 16
    return shapes


def _swatch(name: str, colours: list[str], x: float, y: float) -> list[Polygon]:
    """A small block as it looks in the picture, in all colours that it has there side by side."""
    step = 24 / len(colours)
    shapes = []
    for k, colour in enumerate(colours):
        left, right, torn = x + k * step, x + (k + 1) * step, name == "never finished"
        outline = _outline(left, right, _Place(left, left, right, y - 6, y + 6), torn and k == len(colours) - 1)
        if name in ("waiting", "never finished"):
            stroke, width = (VERMILLION, 1.8) if torn else (INK, 0.8)
            shapes.append(Polygon("legend", outline, tint(colour, 0.75), stroke, hatch=tint(colour, 0.1), width=width))
        else:
            shapes.append(Polygon("legend", outline, colour, INK))
    return shapes


def _describe(events: list[Event], world_size: int, stuck: dict[int, str], note: str) -> str:
    collectives = {e.match if e.match is not None else id(e) for e in events if e.kind not in POINT_TO_POINT}
    messages = _messages(events)
    times = [t for e in events for t in (e.posted, e.started, e.ended) if t is not None]
    nbytes = in_words(sum(send.nbytes for send, _ in messages))
    counts = [
        _count(world_size, "rank"),
        f"{_count(len(messages), 'message')} ({nbytes})",
        _count(len(collectives), "collective"),
    ]
    if times:
        counts.append(time_in_words(max(times) - min(*times, 0.0)))
    parts = [", ".join(counts) + "."]
    if note:
        parts.append(f"Shown: {note}.")
    for event in [e for e in events if e.ended is None][:16]:
        where = f" ({_short(event.line, 40)})" if event.line else ""
        partner = f"waits for {stuck[id(event)]}" if stuck[id(event)] else "never finished"
        parts.append(f"Rank {event.rank} {partner} in {_short(event.kind, 24)}{where}.")
    return " ".join(parts)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _short(text: str, length: int) -> str:
    """Printable characters only (XML has no others), cut to `length`."""
    text = "".join(c if c.isprintable() else " " for c in str(text))
    return text if len(text) <= length else text[: length - 1] + "…"


def _width(text: str, size: float) -> float:
    """About the width of a text in DejaVu Sans."""
    return 0.61 * size * len(text)
