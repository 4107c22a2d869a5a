"""The words of a space-time diagram about itself: its legend, and its description for those who cannot see it."""

from __future__ import annotations

from collections import defaultdict

from labkit.diagram.memory import EDGE, FILL, peaks
from labkit.diagram.places import Frame, Memory, Place, outline
from labkit.diagram.shapes import COLLECTIVE, LEFT, PARTS, SMALL, WIDTH, Label, Line, Polygon, colour_of
from labkit.diagram.words import LETTERS, count, in_words, messages, per_rank, short, time_in_words, width_of
from labkit.palette import INK, VERMILLION, tint
from labkit.watch.events import COMPUTE, POINT_TO_POINT, Event

ROW = 18  # pixels from one row of the legend to the next


def legend(
    events: list[Event], frame: Frame, memory: Memory | None, labelled: bool, written: set[str]
) -> tuple[list[Polygon | Line | Label], float]:
    """Only what is in the picture; and the height that it takes, in pixels. labelled: whether bytes stand on arrows;
    written: the texts in blocks."""
    shapes: list[Polygon | Line | Label] = []
    y, x = frame.bottom + 54, float(LEFT)
    for name, colours in _entries(events, memory, labelled, written):
        width = width_of(name, SMALL)
        if x + 30 + width > WIDTH:
            x, y = float(LEFT), y + ROW
        if name.startswith("message"):
            shapes.append(Line("legend", x, y, x + 24, y, arrow=True, width=1.3))
        elif name == "memory":
            corners = ((x, y), (x + 12, y), (x + 12, y - 6), (x + 24, y - 6), (x + 24, y + 6), (x, y + 6))
            shapes.append(Polygon("legend", corners, FILL, EDGE))
        else:
            shapes += _swatch(name, colours, x, y)
        shapes.append(Label("legend", x + 30, y, name, SMALL))
        x += 30 + width + 16
    return shapes, y - frame.bottom - 30 if shapes else 0


def _entries(
    events: list[Event], memory: Memory | None, labelled: bool, written: set[str]
) -> list[tuple[str, list[str]]]:
    """The entries of the legend, with the colours in which they are drawn."""
    talking = [e for e in events if e.kind != COMPUTE]
    computing = [e for e in events if e.kind == COMPUTE]
    parts = [part for part in PARTS if any(e.label[:1] == part for e in computing)]
    sends = [send for send, _ in messages(events)]
    sizes = {send.nbytes for send in sends}
    one_size = bool(computing) and not labelled and len(sizes) == 1
    letters = ", ".join(f"{one} {name}" for one, name in LETTERS.values() if one in written)
    entries = [
        ("computing" + (f" ({', '.join(parts)})" if parts else ""), sorted(computing, key=_part)),
        ("waiting", [e for e in talking if e.started is None or e.started > e.posted]),
        ("bytes move", [e for e in talking if e.started is not None]),
        ("message" + (f" ({in_words(sizes.pop())})" if one_size else ""), sends),
        ("collective" + (f" ({letters})" if letters else ""), [e for e in talking if e.kind not in POINT_TO_POINT]),
        ("never finished", [e for e in events if e.ended is None]),
    ]
    found = [(name, list(dict.fromkeys(colour_of(e.kind, e.label) for e in those))) for name, those in entries if those]
    found = [(name, [COLLECTIVE] if name.startswith("collective") else colours) for name, colours in found]
    return found + ([("memory", [FILL])] if any(memory or ()) else [])


def _part(event: Event) -> int:
    """The place in the legend of the colour of a block of computing: in the order of PARTS, the plain one last."""
    return list(PARTS).index(event.label[:1]) if event.label[:1] in PARTS else len(PARTS)


def _swatch(name: str, colours: list[str], x: float, y: float) -> list[Polygon]:
    """A small block as it looks in the picture, in all colours that it has there side by side."""
    step = 24 / len(colours)
    shapes = []
    for k, colour in enumerate(colours):
        left, right, torn = x + k * step, x + (k + 1) * step, name == "never finished"
        corners = outline(left, right, Place(left, left, right, y - 6, y + 6), torn and k == len(colours) - 1)
        if name in ("waiting", "never finished"):
            stroke, width = (VERMILLION, 1.8) if torn else (INK, 0.8)
            shapes.append(Polygon("legend", corners, tint(colour, 0.75), stroke, hatch=tint(colour, 0.1), width=width))
        else:
            shapes.append(Polygon("legend", corners, colour, INK))
    return shapes


def describe(
    events: list[Event], world_size: int, stuck: dict[int, str], note: str = "", memory: Memory | None = None
) -> str:
    """The diagram in sentences. stuck: by event (its id), whom it waits for; note: which part is shown."""
    talking = [e for e in events if e.kind != COMPUTE]
    collectives = {e.match if e.match is not None else id(e) for e in talking if e.kind not in POINT_TO_POINT}
    pairs = messages(events)
    times = [t for e in events for t in (e.posted, e.started, e.ended) if t is not None]
    nbytes = in_words(sum(send.nbytes for send, _ in pairs))
    counts = [
        count(world_size, "rank"),
        f"{count(len(pairs), 'message')} ({nbytes})",
        count(len(collectives), "collective"),
    ]
    if times:
        counts.append(time_in_words(max(times) - min(*times, 0.0)))
    parts = [", ".join(counts) + "."]
    if note:
        parts.append(f"Shown: {note}.")
    if len(talking) < len(events):
        parts.append(_computing(events))
    if any(memory or ()):
        parts.append(f"Peak of memory: {per_rank(peaks(memory), world_size)}.")
    for event in [e for e in events if e.ended is None][:16]:
        where = f" ({short(event.line, 40)})" if event.line else ""
        partner = f"waits for {stuck[id(event)]}" if stuck[id(event)] else "never finished"
        parts.append(f"Rank {event.rank} {partner} in {short(event.kind, 24)}{where}.")
    return " ".join(parts)


def _computing(events: list[Event]) -> str:
    """The time that every rank computes, and the number of blocks of each kind."""
    blocks: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind == COMPUTE:
            blocks[event.rank].append(event)
    says = {}
    for rank, of_rank in sorted(blocks.items()):
        seconds = sum(e.ended - e.posted for e in of_rank if e.ended is not None)
        kinds = [(part, sum(e.label[:1] == part for e in of_rank)) for part in PARTS]
        named = ", ".join(f"{n} {part}" for part, n in kinds if n)
        says[rank] = f"{time_in_words(seconds)} in {count(len(of_rank), 'block')}" + (f" ({named})" if named else "")
    ranks = max(max(e.rank for e in events) + 1, len(says))
    return f"Computing: {per_rank(says, ranks)}."
