"""The space-time diagram: what it shows, in which unit, and that nothing in it can break a page."""

from __future__ import annotations

import hashlib
import io
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from labkit import timeline
from labkit.diagram import layout, places, words
from labkit.watch.events import Event

STEP = 5e-6


def ring_pass(world_size: int) -> list[Event]:
    """Rank 0 sends 48 bytes to its right neighbour, which passes them on, until they are back."""
    events = []
    for step in range(world_size):
        start, receiver = step * STEP, (step + 1) % world_size
        posted = STEP if receiver == 0 else 0.0
        events.append(Event(step, "send", start, start, start + STEP, peer=receiver, nbytes=48, match=step))
        events.append(Event(receiver, "recv", posted, start, start + STEP, peer=step, nbytes=48, match=step))
    return events


def ring_steps(world_size: int, steps: int) -> list[Event]:
    """In every step each rank sends to the right while it receives from the left."""
    events = []
    for step in range(steps):
        for rank in range(world_size):
            right, match, start = (rank + 1) % world_size, step * world_size + rank, step * STEP
            events.append(Event(rank, "send", start, start, start + STEP, peer=right, nbytes=96, match=match))
            events.append(Event(right, "recv", start, start, start + STEP, peer=rank, nbytes=96, match=match))
    return events


def all_reduce(world_size: int, missing: tuple[int, ...] = ()) -> list[Event]:
    start, end = (None, None) if missing else (2e-3, 3e-3)
    members = [rank for rank in range(world_size) if rank not in missing]
    return [Event(r, "all_reduce", r * 1e-4, start, end, nbytes=4096, match=0, line="cell 7, line 3") for r in members]


def texts(events, role, world_size=None):
    return [label.text for label in layout.layout(events, world_size).of(role)]


def parse(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def classes(text: str, name: str) -> int:
    return sum(element.get("class") == name for element in parse(text).iter())


@pytest.mark.parametrize("world_size", [2, 3, 4, 8, 16, 64])
def test_one_lane_per_rank_and_one_arrow_per_message(world_size):
    diagram = layout.layout(ring_pass(world_size))
    assert len(diagram.of("lane")) == world_size
    assert len(diagram.of("message")) == world_size
    lanes = [lane.y1 for lane in diagram.of("lane")]
    assert lanes == sorted(lanes), "rank 0 is on top"
    assert len(diagram.of("rank")) == (world_size if world_size <= 32 else 32), "labels that would overlap are left out"
    assert all(0 <= x <= diagram.width and 0 <= y <= diagram.height for p in diagram.of("moving") for x, y in p.points)


def test_arrows_point_from_the_sender_to_the_receiver_and_forward_in_time():
    diagram = layout.layout(ring_pass(4))
    middles = {lane.y1: rank for rank, lane in enumerate(diagram.of("lane"))}

    def nearest(y):
        return middles[min(middles, key=lambda middle: abs(middle - y))]

    assert [(nearest(a.y1), nearest(a.y2)) for a in diagram.of("message")] == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert all(a.arrow and a.x2 > a.x1 for a in diagram.of("message"))


def test_bytes_are_written_on_the_arrows():
    assert texts(ring_pass(4), "bytes") == ["48 B"] * 4


def test_every_rank_that_waited_has_a_hatched_part_before_the_solid_one():
    diagram = layout.layout(ring_pass(4))
    # Ranks 2, 3 and 0 wait to receive; rank 1 gets its bytes at once and nobody waits to send.
    assert len(diagram.of("waiting")) == 3
    assert all(polygon.hatch for polygon in diagram.of("waiting"))
    assert len(diagram.of("moving")) == 8


@pytest.mark.parametrize(
    ("seconds", "unit", "ticks"),
    [
        (4e-5, "µs", ["0", "10", "20", "30", "40"]),
        (2.5e-2, "ms", ["0", "5", "10", "15", "20", "25"]),
        (3.0, "s", ["0", "1", "2", "3"]),
    ],
)
def test_the_unit_of_the_time_axis_fits_its_length(seconds, unit, ticks):
    events = [Event(0, "barrier", 0.0, 0.0, seconds, match=0), Event(1, "barrier", 0.0, 0.0, seconds, match=0)]
    assert layout.layout(events).unit == unit
    assert texts(events, "unit") == [f"time ({unit})"]
    assert texts(events, "tick") == ticks


def test_time_spent_before_the_first_operation_is_cut_off_and_said():
    events = [replace(e, posted=e.posted + 0.5, started=e.started + 0.5, ended=e.ended + 0.5) for e in ring_pass(4)]
    assert texts(events, "unit") == ["time (µs) since the first operation, which came after 500 ms"]
    assert texts(events, "tick") == ["0", "5", "10", "15", "20"]


def test_a_collective_is_a_band_between_the_lanes_of_its_members():
    assert len(layout.layout(all_reduce(4)).of("band")) == 3
    pair = [Event(r, "broadcast", 0.0, 0.0, 1e-3, group=(0, 2), match=1) for r in (0, 2)]
    diagram = layout.layout(pair, 4)
    (band,) = diagram.of("band")
    top, bottom = min(y for _, y in band.points), max(y for _, y in band.points)
    assert [top < lane.y1 < bottom for lane in diagram.of("lane")] == [False, True, False, False]


@pytest.mark.parametrize(
    ("missing", "says"),
    [((3,), "waits for rank 3"), ((1, 3), "waits for ranks 1, 3"), (tuple(range(1, 7)), "waits for 6 ranks")],
)
def test_an_unfinished_collective_names_the_missing_ranks(missing, says):
    events = all_reduce(8, missing)
    assert texts(events, "stuck", 8) == [says] * (8 - len(missing))
    assert set(texts(events, "line", 8)) == {"cell 7, line 3"}


def test_a_deadlock_runs_to_the_right_edge_and_says_who_waits_for_whom():
    events = [Event(r, "recv", 0.0, None, None, peer=(r - 1) % 4, line="cell 7, line 3") for r in range(4)]
    diagram = layout.layout(events)
    assert [label.text for label in diagram.of("stuck")] == [f"waits for rank {r}" for r in (3, 0, 1, 2)]
    edge = diagram.of("axis")[0].x2
    assert all(max(x for x, _ in p.points) == edge and len(p.points) > 4 for p in diagram.of("waiting")), (
        "torn off at the edge"
    )
    assert not diagram.of("message") and not diagram.of("moving")
    assert texts(events, "tick") == ["0"], "no time passed, so none is shown"
    assert "Rank 0 waits for rank 3 in recv (cell 7, line 3)." in diagram.description
    assert texts([replace(events[0], peer=None)], "stuck", 4) == ["waits for any rank"]


def test_what_a_recording_cannot_know_is_filled_in():
    """Real ranks record when a call begins and ends: who talked to whom follows from the order, the waiting from the
    partners.
    """
    events = [
        Event(0, "send", 0.0, None, 9.0, peer=1, tag=5),
        Event(0, "send", 9.0, None, 9.5, peer=1, tag=6),
        Event(1, "recv", 4.0, None, 9.0, peer=0, tag=5),
        Event(1, "recv", 20.0, None, 21.0, peer=0, tag=6),
        *(Event(r, "barrier", 30.0 + r, None, 40.0) for r in range(2)),
        *(Event(r, "barrier", 41.0 + r, None, 50.0) for r in range(2)),
    ]
    full = words.matched(events)
    of = {(e.rank, e.kind, e.tag, e.posted): e for e in full}
    assert (
        of[0, "send", 5, 0.0].match
        == of[1, "recv", 5, 4.0].match
        != of[0, "send", 6, 9.0].match
        == of[1, "recv", 6, 20.0].match
    )
    assert of[0, "send", 5, 0.0].started == of[1, "recv", 5, 4.0].started == 4.0
    assert of[0, "send", 6, 9.0].started == 9.0, "a buffered send does not wait for its recv"
    assert of[0, "barrier", 0, 30.0].match == of[1, "barrier", 0, 31.0].match != of[0, "barrier", 0, 41.0].match
    assert of[0, "barrier", 0, 30.0].started == 31.0
    assert words.matched(full) == full


def test_different_collectives_are_not_joined():
    events = [Event(0, "all_reduce", 0.0, None, None), Event(1, "broadcast", 0.0, None, None)]
    assert not layout.layout(events).of("band")
    assert texts(events, "stuck") == ["waits for rank 1", "waits for rank 0"]


def test_operations_at_the_same_time_share_the_height_of_their_lane():
    diagram = layout.layout(ring_steps(4, 3))
    assert len(diagram.of("moving")) == 24
    boxes = [
        (min(x for x, _ in p.points), max(x for x, _ in p.points), min(y for _, y in p.points))
        for p in diagram.of("moving")
    ]
    assert len({(round(left), round(top)) for left, _, top in boxes}) == 24, "no block covers another"


@pytest.mark.parametrize("stuck", [False, True])
def test_of_thousands_of_operations_a_part_is_drawn_and_the_picture_says_so(stuck):
    events = ring_steps(4, 1000)
    if stuck:
        events += [Event(r, "recv", 1000 * STEP, None, None, peer=(r + 1) % 4) for r in range(4)]
    diagram = layout.layout(events)
    assert diagram.total == len(events) and 100 <= diagram.shown <= 4 * places.OPERATIONS_PER_RANK + 4
    part = "last" if stuck else "first"
    assert [label.text for label in diagram.of("note")] == [f"the {part} {diagram.shown} of {diagram.total} operations"]
    assert len(diagram.of("stuck")) == (4 if stuck else 0), "what never finished is never left out"
    assert f"the {part} {diagram.shown} of" in diagram.description
    assert len(timeline.svg(events)) < 200_000


def test_a_flood_at_one_moment_is_cut_too():
    events = [Event(0, "send", 0.0, 0.0, 0.0, peer=1, match=i) for i in range(500)]
    assert layout.layout(events).shown == places.OPERATIONS_PER_RANK


def test_operations_without_length_and_no_operations_at_all():
    diagram = layout.layout(
        [Event(0, "send", 0.0, 0.0, 0.0, peer=1, match=0), Event(1, "recv", 0.0, 0.0, 0.0, peer=0, match=0)]
    )
    assert len(diagram.of("moving")) == 2 and len(diagram.of("message")) == 1
    assert all(max(x for x, _ in p.points) - min(x for x, _ in p.points) >= 2 for p in diagram.of("moving")), (
        "still visible"
    )
    empty = layout.layout([], 4)
    assert len(empty.of("lane")) == 4 and [label.text for label in empty.of("note")] == ["no communication"]
    assert classes(timeline.svg([], 4), "lane") == 4


@pytest.mark.parametrize(
    ("nbytes", "says"),
    [
        (0, "0 B"),
        (4096, "4096 B"),
        (65536, "65.5 kB"),
        (1 << 20, "1.05 MB"),
        (64 << 20, "67.1 MB"),
        (5 * 10**12, "5e+03 GB"),
    ],
)
def test_bytes_in_words(nbytes, says):
    assert words.in_words(nbytes) == says


def test_svg_is_one_self_contained_element_with_a_text_for_those_who_cannot_see_it():
    text = timeline.svg(ring_pass(4), title="A ring")
    root = parse(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("role") == "img" and root.get("viewBox")
    assert root.find("{*}title").text == "A ring"
    assert root.find("{*}desc").text == "4 ranks, 4 messages (192 B), 0 collectives, 20 µs."
    assert classes(text, "message") == 4 and classes(text, "bytes") == 4
    outside = [
        value
        for e in root.iter()
        for name, value in e.attrib.items()
        if name.endswith(("href", "src")) or "http" in value
    ]
    assert outside == [] and "@import" not in text and "<script" not in text and "<style" not in text


def test_labels_cannot_break_out_of_the_svg():
    evil = "</text><script>alert('1')</script>\x00\x1b[31m&\"<"
    events = [Event(0, evil, 0.0, None, None, line=evil), Event(1, "recv", 0.0, None, None, peer=0, line=evil)]
    text = timeline.svg(events, title=evil)
    root = parse(text)  # control characters would make this fail
    assert {e.tag.rpartition("}")[2] for e in root.iter()} <= {
        "svg", "title", "desc", "defs", "pattern", "marker", "path", "rect", "polygon", "line", "text"
    }  # fmt: skip
    assert root.find("{*}title").text.startswith("</text><script>")


def test_the_same_events_in_any_order_give_the_same_text_and_others_other_ids():
    events = ring_pass(4) + [Event(r, "all_reduce", 2e-5, None, None, match=50) for r in range(3)]
    first = timeline.svg(events)
    assert first == timeline.svg(list(reversed(events)))
    ids = {e.get("id") for e in parse(first).iter() if e.get("id")}
    other = {e.get("id") for e in parse(timeline.svg(all_reduce(4, (3,)))).iter() if e.get("id")}
    assert ids and other and not ids & other, "two diagrams on one page do not share ids"
    for name in ids - {i for i in ids if i.startswith("head")}:
        assert f"url(#{name})" in first


def test_the_figure_shows_what_the_svg_shows():
    events = ring_pass(4) + all_reduce(4, (3,))
    diagram = layout.layout(events)
    figure = timeline.draw(events)
    (ax,) = figure.axes
    drawn = [artist.get_gid() for artist in ax.get_children()]
    for role in ("message", "waiting", "moving", "bytes", "stuck", "lane", "rank"):
        assert drawn.count(role) == len(diagram.of(role)) > 0
    assert [t.get_text() for t in ax.texts if t.get_gid() == "stuck"] == ["waits for rank 3"] * 3
    figure.savefig(io.BytesIO(), format="png", dpi=40)


def test_the_figure_can_be_part_of_another_one_and_dollars_are_dollars():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    ax = figure.add_subplot()
    events = [Event(0, "recv", 0.0, None, None, peer=1, line="cost $1$ $")]
    assert timeline.draw(events, 2, ax=ax) is figure
    figure.savefig(io.BytesIO(), format="png", dpi=40)


def test_the_legend_has_the_colours_of_the_picture():
    """Not a grey that stands for blue and orange."""
    diagram = layout.layout(ring_pass(4), 4)
    used = {shape.fill for shape in diagram.of("moving")}
    assert len(used) == 2 and used <= {shape.fill for shape in diagram.of("legend") if hasattr(shape, "fill")}


def test_what_an_arrow_crosses_stays_readable():
    diagram = layout.layout(ring_pass(4), 4)
    order = [shape.role for shape in diagram.shapes]
    assert max(k for k, role in enumerate(order) if role == "message") < min(
        k for k, role in enumerate(order) if role == "operation"
    )
    for label in diagram.of("operation"):
        half = words.width_of(label.text, label.size) / 2
        box = (label.x - half, label.y - label.size / 2, label.x + half, label.y + label.size / 2)
        assert label.halo or not any(layout._crosses(arrow, box) for arrow in diagram.of("message"))


# Of the SVG, as it was before there were computing and memory: a picture without them has not changed.
UNCHANGED = {
    "ring": "2733c6b084f626aa",
    "many lanes": "438e40ced058c6a4",
    "two tracks": "9df8864c8f643e60",
    "cut": "22334548cccc0578",
    "cut and stuck": "e3c1178f73b328d4",
    "collective": "70eb2429187852bc",
    "missing": "e44c9b83e999ab50",
    "late": "45aa882217e47346",
    "nothing": "db1f4be3c018832c",
    "all kinds": "53753a63938a66a9",
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_pictures_without_computing_and_memory_stay_as_they_are(name):
    stuck = [Event(r, "recv", 1000 * STEP, None, None, peer=(r + 1) % 4) for r in range(4)]
    late = [replace(e, posted=e.posted + 0.5, started=e.started + 0.5, ended=e.ended + 0.5) for e in ring_pass(4)]
    events, world_size, title = {
        "ring": (ring_pass(4), None, "A ring"),
        "many lanes": (ring_pass(64), None, None),
        "two tracks": (ring_steps(4, 3), None, None),
        "cut": (ring_steps(4, 1000), None, None),
        "cut and stuck": (ring_steps(4, 1000) + stuck, None, "<&>"),
        "collective": (all_reduce(4), None, None),
        "missing": (all_reduce(8, (1, 3)), 8, None),
        "late": (late, None, None),
        "nothing": ([], 4, None),
        "all kinds": (ring_pass(4) + all_reduce(4, (3,)), None, "All kinds"),
    }[name]
    text = timeline.svg(events, world_size, title=title)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == UNCHANGED[name]


@pytest.mark.timeout(60)
def test_thousands_of_unfinished_operations_are_a_picture_of_some():
    """All collectives wait for rank 3; counting who is there once for each would take half an hour."""
    stuck = [Event(r, "barrier", 0.0, None, None, match=k, group=(0, 1, 2, 3)) for k in range(20_000) for r in range(3)]
    drawn = layout.layout(stuck, 4)
    assert drawn.shown <= 2 * 3 * places.OPERATIONS_PER_RANK and drawn.total == len(stuck)
    assert "Rank 0 waits for rank 3 in barrier." in drawn.description
