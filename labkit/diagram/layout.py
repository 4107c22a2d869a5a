"""The layout of a space-time diagram: lanes, blocks, arrows, bands and texts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from labkit.diagram.captions import describe, legend
from labkit.diagram.memory import checked, curves, highest
from labkit.diagram.places import (
    Frame,
    Place,
    Scales,
    frame_of,
    number_of_ranks,
    outline,
    places_of,
    readable_part,
)
from labkit.diagram.shapes import (
    COLLECTIVE,
    LEFT,
    SMALL,
    STUCK,
    TEXT,
    WIDTH,
    Diagram,
    Label,
    Line,
    Polygon,
    colour_of,
)
from labkit.diagram.words import in_words, letter, matched, messages, short, time_in_words, time_unit, width_of
from labkit.palette import FAINT, GREY, INK, VERMILLION, tint
from labkit.watch.events import COMPUTE, DEATH, POINT_TO_POINT, Event

LABELLED_ARROWS, LABELLED_BESIDE_COMPUTING = 80, 16  # messages; where there are more, none has its bytes written on it
SMALL_BLOCK = 9  # pixels; beside computing, blocks of this width or height have a thinner border


def layout(
    events: Iterable[Event],
    world_size: int | None = None,
    *,
    title: str | None = None,
    memory: Sequence[Sequence[tuple[float, float]] | None] | None = None,
    scales: Scales | None = None,
) -> Diagram:
    """Place lanes, blocks, arrows, bands, curves and texts; see `labkit.timeline` for what they mean. scales: those of
    several diagrams; a line marks the end of one that ends before the others.

    Raises ValueError where `memory` is not of as many ranks as there are lanes, or not of times and bytes.
    """
    events = list(events)
    deaths = {event.rank: event.posted for event in events if event.kind == DEATH}
    everything = matched(event for event in events if event.kind != DEATH and not event.refused)
    ranks = number_of_ranks(everything, world_size or (None if memory is None else len(memory)))
    curve = checked(memory, ranks)
    shown, note = readable_part(everything)
    top = 12 + (22 if title else 0) + (18 if note else 0)
    frame = frame_of(shown, ranks, top, None if note else curve, memory=curve is not None, scales=scales)
    deaths = {rank: at for rank, at in deaths.items() if frame.start <= at <= frame.stop}
    unit, scale = time_unit((frame.last if scales is None else frame.stop) - frame.start)
    places = places_of(shown, frame)
    stuck = _who_is_waited_for(everything, ranks)

    shapes = [*_lanes(frame), *curves(curve, frame, scales.bytes if scales else 0.0)]
    shapes += [*_bands(shown, places), *_blocks(shown, places)]
    arrows = _arrows(shown, places, frame)
    shapes += [shape for shape in arrows if isinstance(shape, Line)]
    shapes += _over_arrows(_block_labels(shown, places), shapes)
    shapes += [shape for shape in arrows if isinstance(shape, Label)]
    shapes += _stuck_labels(shown, stuck, frame) + _crosses_of(deaths, frame)
    shapes += _axis(frame, unit, scale) + (_end(frame, unit, scale) if scales else [])
    written = {shape.text for shape in shapes if isinstance(shape, Label) and shape.role == "operation"}
    explained, below = legend(shown, frame, curve, any(isinstance(shape, Label) for shape in arrows), written)
    shapes += explained + _words_above(title, note, frame) + ([] if shown else [_nothing(frame)])
    description = " ".join([describe(everything, ranks, stuck, note, curve), *map(_in_a_sentence, deaths.items())])
    name, height = short(title or "Space-time diagram", 80), frame.bottom + 44 + below
    return Diagram(WIDTH, height, tuple(shapes), name, description, unit, len(shown), len(everything))


def _nothing(frame: Frame) -> Label:
    middle = (frame.top + frame.bottom) / 2
    return Label("note", (LEFT + frame.right) / 2, middle, "no communication", TEXT, "middle", GREY)


def _words_above(title: str | None, note: str, frame: Frame) -> list[Label]:
    shapes = []
    if title:
        shapes.append(Label("title", WIDTH / 2, 16, short(title, 80), TEXT + 1, "middle", bold=True))
    if note:
        shapes.append(Label("note", WIDTH / 2, frame.top - 14, note, SMALL, "middle", GREY))
    return shapes


def _crosses_of(deaths: dict[int, float], frame: Frame) -> list[Line | Label]:
    """The end of a rank's process: a cross on its lane, and a word."""
    shapes: list[Line | Label] = []
    for rank, at in deaths.items():
        x, y, size = frame.x(at) + 9, sum(frame.lane(rank)) / 2, min(6.0, frame.lane_height / 3)
        for up in (-size, size):
            shapes.append(Line("death", x - size, y + up, x + size, y - up, VERMILLION, width=2.2))
        if frame.lane_height >= SMALL and x + 40 < frame.right:
            shapes.append(Label("death", x + size + 5, y, "dies", SMALL, colour=STUCK, halo=True))
    return shapes


def _in_a_sentence(death: tuple[int, float]) -> str:
    return f"Rank {death[0]} dies after {time_in_words(death[1])}."


def _who_is_waited_for(events: list[Event], world_size: int) -> dict[int, str]:
    """id of each unfinished operation -> `_waits_for`."""
    came: dict[object, set[int]] = defaultdict(set)
    for event in events:
        if event.match is not None:
            came[event.match].add(event.rank)
    return {id(e): _waits_for(e, came[e.match], world_size) for e in events if e.ended is None}


def _waits_for(event: Event, came: set[int], world_size: int) -> str:
    """Whom an unfinished operation waits for: "rank 3", "ranks 1, 2", "any rank", or "" when everybody is there.

    came: the ranks that have called the same collective.
    """
    if event.kind == COMPUTE:
        return ""
    if event.kind in POINT_TO_POINT:
        if event.peer is None:
            return "any rank"
        return "" if event.started is not None else f"rank {event.peer}"
    members = event.group or tuple(range(world_size))
    here = {event.rank, *came}
    missing = [rank for rank in members if rank not in here]
    if not missing:
        return ""
    if len(missing) == 1:
        return f"rank {missing[0]}"
    return f"{len(missing)} ranks" if len(missing) > 4 else "ranks " + ", ".join(map(str, missing))


def _lanes(frame: Frame) -> list[Line | Label]:
    every = next(step for step in (1, 2, 4, 8, 16, 1_000_000) if step * frame.pitch >= 15 or step > frame.world_size)
    shapes: list[Line | Label] = []
    for rank in range(frame.world_size):
        middle = sum(frame.lane(rank)) / 2
        shapes.append(Line("lane", LEFT, middle, frame.right, middle, FAINT))
        if rank % every == 0:
            shapes.append(Label("rank", LEFT - 8, middle, f"rank {rank}", min(TEXT, every * frame.pitch), "end"))
    return shapes


def _blocks(events: list[Event], places: dict[int, Place]) -> list[Polygon]:
    shapes = []
    computing = any(e.kind == COMPUTE for e in events)
    for event in events:
        place, colour, torn = places[id(event)], colour_of(event.kind, event.label), event.ended is None
        small = computing and min(place.right - place.left, place.bottom - place.top) < SMALL_BLOCK
        stroke, width = (VERMILLION, 1.8) if torn else (INK, 0.4 if small else 0.8)
        if place.move > place.left + 0.5 or event.started is None:
            corners = outline(place.left, place.move, place, torn and event.started is None)
            shapes.append(Polygon("waiting", corners, tint(colour, 0.75), stroke, hatch=tint(colour, 0.1), width=width))
        if event.started is not None:
            corners = outline(place.move, place.right, place, torn)
            role = "computing" if event.kind == COMPUTE else "moving"
            shapes.append(Polygon(role, corners, colour, stroke, width=width))
    return shapes


def _block_labels(events: list[Event], places: dict[int, Place]) -> list[Label]:
    """The name of the operation, in its shortest form that fits into the block, or none."""
    shapes = _computing_labels(events, places)
    letters = any(e.kind == COMPUTE for e in events)
    for event in events:
        place = places[id(event)]
        size = min(SMALL + 1, 0.8 * (place.bottom - place.top))
        if size < 9 or event.kind == COMPUTE:
            continue
        parts = [(place.left, place.move, True), (place.move, place.right, False)]
        parts.sort(key=lambda part: part[0] - part[1])
        parts.append((place.left, place.right, True))
        wide = [(text, part) for text in _names(event, letters) for part in parts]
        fits = ((text, part) for text, part in wide if width_of(text, size) <= part[1] - part[0] - 6)
        text, (left, right, halo) = next(fits, ("", (0, 0, False)))
        if text:
            y = (place.top + place.bottom) / 2
            shapes.append(Label("operation", (left + right) / 2, y, text, size, "middle", halo=halo))
    return shapes


def _computing_labels(events: list[Event], places: dict[int, Place]) -> list[Label]:
    """The labels of computing in the blocks into which they fit, all in one size."""
    wide = []
    for event in events:
        text, place = short(event.label, 24), places[id(event)]
        if event.kind == COMPUTE and text:
            size = min(SMALL + 1, 0.8 * (place.bottom - place.top), (place.right - place.left - 3) / width_of(text, 1))
            wide += [(text, place, size)] if size >= 9 else []
    size = min((size for _, _, size in wide), default=0)
    middles = [(text, (place.left + place.right) / 2, (place.top + place.bottom) / 2) for text, place, _ in wide]
    return [Label("computed", x, y, text, size, "middle") for text, x, y in middles]


def _over_arrows(labels: list[Label], shapes: list[Polygon | Line | Label]) -> list[Label]:
    """The labels of blocks, readable where an arrow passes below them."""
    arrows = [shape for shape in shapes if shape.role == "message"]
    shown = []
    for label in labels:
        half, height = width_of(label.text, label.size) / 2, label.size / 2
        box = (label.x - half, label.y - height, label.x + half, label.y + height)
        shown.append(replace(label, halo=True) if any(_crosses(arrow, box) for arrow in arrows) else label)
    return shown


def _names(event: Event, letters: bool) -> list[str]:
    """The name of an operation from long to short. letters: a gather or reduce-scatter may be a letter."""
    if event.kind == "send":
        return [f"send → {event.peer}", f"→ {event.peer}"]
    if event.kind == "recv":
        source = "any" if event.peer is None else str(event.peer)
        return [f"recv ← {source}", f"← {source}"]
    kind = short(event.kind, 24)
    names = [f"{kind} {in_words(event.nbytes)}", kind] if event.nbytes else [kind]
    return names + [letter(event.kind)] * (letters and letter(event.kind) != "")


def _bands(events: list[Event], places: dict[int, Place]) -> list[Polygon]:
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


def _arrows(events: list[Event], places: dict[int, Place], frame: Frame) -> list[Line | Label]:
    """From the lane of the sender, when the bytes begin to move, to the lane of the receiver, when they are there."""
    pairs = messages(events)
    arrows, labels = [], []
    computing = any(e.kind == COMPUTE for e in events)
    labelled = len(pairs) <= (LABELLED_BESIDE_COMPUTING if computing else LABELLED_ARROWS)
    width = 1.3 if frame.lane_height >= 24 else 0.7
    if computing and not labelled:
        width = min(1.0, frame.lane_height / 40)
    for send, recv in pairs:
        a, b = places[id(send)], places[id(recv)]
        down = recv.rank > send.rank
        y1, y2 = frame.lane(send.rank)[1 if down else 0], frame.lane(recv.rank)[0 if down else 1]
        arrows.append(Line("message", a.move, y1, max(b.right, a.move), y2, arrow=True, width=width))
    taken: list[tuple[float, float, float, float]] = []
    # Those between neighbouring lanes have the fewest places: they choose first.
    for (send, _), arrow in sorted(zip(pairs, arrows, strict=True), key=lambda pair: abs(pair[1].y2 - pair[1].y1)):
        if labelled and abs(arrow.y2 - arrow.y1) >= SMALL + 2:
            labels += _bytes_label(arrow, in_words(send.nbytes), taken, arrows)
    return arrows + labels


def _bytes_label(
    arrow: Line, text: str, taken: list[tuple[float, float, float, float]], arrows: list[Line]
) -> list[Label]:
    """The number of bytes beside an arrow: where no other label stands and no other arrow passes, and if there is such
    a place not this one. Where there is none, the arrow has no label: nobody could read it."""
    width, height = width_of(text, SMALL), SMALL
    others = [other for other in arrows if other is not arrow]
    places = []
    for anchor, left, y in (*_beside(arrow, width, height), *_between_lanes(arrow, width, height)):
        box = (left, y - height / 2, left + width, y + height / 2)
        free = not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
        if LEFT < left and left + width < WIDTH and free and not any(_crosses(other, box) for other in others):
            places.append((_crosses(arrow, box), len(places), anchor, left, y, box))
    if not places:
        return []
    _, _, anchor, left, y, box = min(places)
    taken.append(box)
    return [Label("bytes", left if anchor == "start" else left + width, y, text, SMALL, anchor, halo=True)]


def _beside(arrow: Line, width: float, height: float) -> Iterator[tuple[str, float, float]]:
    """Places for a text on both sides of an arrow: (anchor, left end, middle)."""
    # Near the sender first: an arrow that crosses other lanes passes over their blocks later on.
    across, down = arrow.x2 - arrow.x1, arrow.y2 - arrow.y1
    near = 14 / max(28.0, abs(down))
    away = min(4 + height / 2 * abs(across / down), 16.0)  # so that the text's corners are free
    for share in (near, 0.5, 1 - near):
        x, y = arrow.x1 + share * across, arrow.y1 + share * down
        yield "start", x + away, y
        yield "end", x - away - width, y


def _between_lanes(arrow: Line, width: float, height: float) -> Iterator[tuple[str, float, float]]:
    """Places above and below an arrow that is too flat for a text beside it, where they lie between its two lanes."""
    length, (top, bottom) = arrow.x2 - arrow.x1, sorted((arrow.y1, arrow.y2))
    if length < 2 * width + 24:
        return
    slope, gap = (arrow.y2 - arrow.y1) / length, height / 2 + 1
    for left in (arrow.x1 + 8, arrow.x2 - width - 16):
        ends = [arrow.y1 + slope * (x - arrow.x1) for x in (left, left + width)]
        for y in (max(ends) + gap, min(ends) - gap):
            if top - 1 <= y - height / 2 and y + height / 2 <= bottom + 1:
                yield "start", left, y


def _crosses(line: Line, box: tuple[float, float, float, float]) -> bool:
    """True if a line passes through a box (left, top, right, bottom)."""
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


def _stuck_labels(events: list[Event], stuck: dict[int, str], frame: Frame) -> list[Label]:
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
        line = short(of_rank[0].line, 22)
        two = bool(line) and frame.pitch >= 2.4 * size
        shapes.append(
            Label("stuck", frame.right + 6, middle - (size * 0.62 if two else 0), text, size, colour=STUCK, bold=True)
        )
        if two:
            shapes.append(Label("line", frame.right + 6, middle + size * 0.62, line, SMALL, colour=GREY))
    return shapes


def _axis(frame: Frame, unit: str, scale: float) -> list[Line | Label]:
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


def _end(frame: Frame, unit: str, scale: float) -> list[Line | Label]:
    """The line at which the program ends, and its time above the lanes. None of it at the right edge, where there is no
    room for it and nothing to compare."""
    x = frame.x(frame.last)
    if not frame.any_time or x > frame.right - 40:
        return []
    says = f"ends after {(frame.last - frame.start) * scale:.3g} {unit}"
    return [
        Line("end", x, frame.top, x, frame.bottom, GREY, width=1.2),
        Label("end", x + 5, frame.top + 8, says, SMALL, colour=GREY, halo=True),
    ]


def common_scales(
    runs: Iterable[tuple[Iterable[Event], Sequence[Sequence[tuple[float, float]] | None] | None]], ranks: int
) -> Scales:
    """The scales that fit the diagrams of all these (events, memory), each of `ranks` lanes."""
    frames, most = [], 0.0
    for events, memory in runs:
        everything = matched(event for event in events if event.kind != DEATH and not event.refused)
        curve = checked(memory, number_of_ranks(everything, ranks))
        shown, note = readable_part(everything)
        frames.append(frame_of(shown, ranks, 0, None if note else curve))
        most = max(most, highest(curve))
    return Scales(min(frame.start for frame in frames), max(frame.stop for frame in frames), most)


def _nice_step(about: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50 ... (and tenths of these) that is at least `about`."""
    power = 10.0 ** math.floor(math.log10(about))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= about * (1 - 1e-9))
